"""The base class of resources that are one mapped file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.transport.resource import Resource

if TYPE_CHECKING:
    from aerolog.transport.memory.mapped_file import MappedFile


class MappedResource(Resource):
    """Holds a mapping until it is closed; the file is unmapped when its last view is gone.

    Args:
        mapped: the file to hold.
    """

    def __init__(self, mapped: MappedFile) -> None:
        self._mapped = mapped

    def close(self) -> None:
        """Release the mapping; a second call does nothing."""
        self.__dict__.pop("_mapped", None)
