"""What owners of one mapped file have in common: letting go of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from aerolog.transport.memory.mapped_file import MappedFile


class HeldMapping:
    """Holds a mapping until it is closed: the file is unmapped when the last view of it goes.

    Args:
        mapped: the file.
    """

    def __init__(self, mapped: MappedFile) -> None:
        self._mapped = mapped

    def close(self) -> None:
        """Let go of the file; a second call does nothing."""
        self.__dict__.pop("_mapped", None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
