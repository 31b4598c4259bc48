"""What owners of one mapped file have in common: letting go of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.transport.resource import Resource

if TYPE_CHECKING:
    from aerolog.transport.memory.mapped_file import MappedFile


class HeldMapping(Resource):
    """Holds a mapping until it is closed: the file is unmapped when the last view of it goes.

    Args:
        mapped: the file.
    """

    def __init__(self, mapped: MappedFile) -> None:
        self._mapped = mapped

    def close(self) -> None:
        """Let go of the file; a second call does nothing."""
        self.__dict__.pop("_mapped", None)
