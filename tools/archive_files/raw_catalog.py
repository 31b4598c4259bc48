"""A catalog as the reference's tool opens it: no recovery, any state, its words for what is wrong.

Rules: spec archive-tool 3. The mapping is read-only whatever the command; what changes fields opens
the file on its own.
"""

from __future__ import annotations

import errno
import os
import stat
import struct
from functools import cached_property
from pathlib import Path
from typing import Final

from aerolog.archive.format.layout import (
    CATALOG_HEADER_LENGTH,
    CATALOG_NAME,
    ENTRY_HEADER_LENGTH,
    SEMANTIC_VERSION,
    VERSION_MAJOR,
)
from aerolog.tools.archive_files.entry_texts import walk_entries
from aerolog.tools.command_line.java_error import (
    ARCHIVE_ERROR,
    ILLEGAL_ARGUMENT,
    IO_ERROR,
    JavaError,
    out_of_bounds,
    unknown_recording,
)
from aerolog.transport.memory.filesystem import RealFileSystem
from aerolog.transport.memory.mapped_file import MappedFile
from aerolog.transport.protocol.sbe import semantic_version_text

#: Before version 3 all entries took as much, and so did the header.
LEGACY_ENTRY_LENGTH: Final = 1024
VALID: Final = 1

_HEADER = struct.Struct("<iiqi")
_ENTRY = struct.Struct("<ii40xq")
_I32 = struct.Struct("<i")
_ID_OFFSET = 48


class RawCatalog:
    """A catalog's bytes and where its entries are.

    Attributes:
        path: the path of the file, relative where the folder was given so.
        data: all of it; what is read of it counts only when `check` passes afterwards.
        version: semantic version.
        next_recording_id: the id in the header.
        alignment: the alignment of entries, 0 in the legacy layout.
        offsets: the offsets of all entries, in file order.
        lengths: bytes of each entry, header and fill included.
        valid_count: number of VALID entries.
    """

    def __init__(self, path: str, data: memoryview) -> None:
        self.path = path
        self.data = data
        self.offsets: list[int] = []
        self.lengths: list[int] = []
        self.valid_count = 0
        self._last_id = -1
        self._last_valid = -1
        self.version, _, self.next_recording_id, self.alignment = _HEADER.unpack_from(data)

    @classmethod
    def open(cls, folder: str, *, writable: bool = False, check_version: bool = True) -> RawCatalog:
        """Open the catalog of a folder.

        Args:
            folder: the archive's folder, as it was given.
            writable: check what the reference checks where it opens for writing: the next id; a
                file without a whole header is one without entries.
            check_version: refuse other major versions than this one.

        Raises:
            OSError: it cannot be opened.
            FileFormatError: it became shorter meanwhile.
            JavaError: it is damaged, or of another version.
        """
        path = file_in(folder, CATALOG_NAME)
        size = _size(path, writable=writable)
        if size < CATALOG_HEADER_LENGTH and not writable:
            raise JavaError(
                IO_ERROR, "Channel not open for writing - cannot extend file to required size"
            )
        if size < CATALOG_HEADER_LENGTH:
            data = memoryview(RealFileSystem().read_bytes(path).ljust(CATALOG_HEADER_LENGTH, b"\0"))
        else:
            data = MappedFile.open(path, writable=False, min_length=CATALOG_HEADER_LENGTH).view()
        catalog = cls(path, data)
        if check_version and major(catalog.version) != VERSION_MAJOR:
            raise JavaError(
                ARCHIVE_ERROR,
                "ERROR - incompatible catalog file version"
                f" {semantic_version_text(catalog.version)}, archive software is"
                f" {semantic_version_text(SEMANTIC_VERSION)}",
            )
        try:
            catalog._walk()
        finally:
            catalog.check()  # before what the walk says of zeros that nobody wrote
        if writable:
            catalog._check_next_id()
        return catalog

    @property
    def capacity(self) -> int:
        """Length of the file, at least that of its header."""
        return len(self.data)

    @cached_property
    def valid(self) -> dict[int, int]:
        """Offsets of the VALID entries by id."""
        entries = ((_ENTRY.unpack_from(self.data, at), at) for at in self.offsets)
        found = {entry[2]: at for entry, at in entries if entry[1] == VALID}
        self.check()
        return found

    def check(self) -> None:
        """Check that all that was read until now was in the file.

        Raises:
            FileFormatError: the file became shorter than it was when it was opened.
        """
        if isinstance(self.data.obj, MappedFile):
            self.data.obj.check()

    def frame(self, offset: int, length: int) -> bytes:
        """The bytes of an entry, its header included.

        Raises:
            FileFormatError: the file does not have them any more.
        """
        entry = bytes(self.data[offset : offset + length])
        self.check()
        return entry

    def find(self, recording_id: int) -> tuple[int, int]:
        """Offset and length of the first entry with an id, in whatever state.

        Raises:
            FileFormatError: the file became shorter.
            JavaError: there is none.
        """
        for offset, length in zip(self.offsets, self.lengths, strict=True):
            if _ENTRY.unpack_from(self.data, offset)[2] == recording_id:
                return offset, length
        self.check()
        raise unknown_recording(recording_id)

    def _walk(self) -> None:
        at = CATALOG_HEADER_LENGTH if self.alignment else LEGACY_ENTRY_LENGTH
        alignment = self.alignment or LEGACY_ENTRY_LENGTH
        last_valid, walking = -1, True
        while walking:
            at, valid, last_valid, last_id = walk_entries(
                self.data, at, alignment, last_valid, self.offsets, self.lengths
            )
            self.valid_count += valid
            self._last_id = last_id if last_id >= 0 else self._last_id
            walking = at < len(self.data) and self._step(at, alignment, last_valid)
            if walking:
                at += self.lengths[-1]
                last_valid = max(last_valid, self._last_valid)

    def _step(self, at: int, alignment: int, last_valid: int) -> bool:
        """One entry that is out of the ordinary; whether there is one."""
        data, capacity = self.data, len(self.data)
        if at + 4 > capacity:
            raise out_of_bounds(at, 4, capacity)
        length = _I32.unpack_from(data, at)[0]
        if length <= 0:
            return False
        frame_length = (length + ENTRY_HEADER_LENGTH + alignment - 1) & -alignment
        if not 0 <= frame_length <= capacity - at:
            wrapped = (frame_length + 2**31) % 2**32 - 2**31
            raise out_of_bounds(at, wrapped, capacity)
        if frame_length < _ENTRY.size:
            raise out_of_bounds(_ID_OFFSET, 8, frame_length)
        _, state, recording_id = _ENTRY.unpack_from(data, at)
        if state == VALID:
            if recording_id <= last_valid:
                raise JavaError(
                    ILLEGAL_ARGUMENT,
                    f"recordingId {recording_id} is less than or equal to the last"
                    f" recordingId {last_valid}",
                )
            self.valid_count += 1
            self._last_valid = recording_id
        self.offsets.append(at)
        self.lengths.append(frame_length)
        self._last_id = recording_id
        return True

    def _check_next_id(self) -> None:
        expected = self._last_id + 1
        if self.next_recording_id != 0 and self.next_recording_id < expected:
            raise JavaError(
                ARCHIVE_ERROR,
                "ERROR - invalid nextRecordingId: expected value greater or equal to"
                f" {expected}, was {self.next_recording_id}",
            )


def file_in(folder: str, name: str) -> str:
    """A file's path as the reference prints it: relative where the folder is."""
    return f"{folder.rstrip('/')}/{name}"


def _size(path: str, *, writable: bool) -> int:
    try:
        return size_of_file(path)
    except IsADirectoryError as error:
        if writable:
            raise
        raise JavaError(IO_ERROR, "No such device") from error


def size_of_file(path: str) -> int:
    """Bytes of a regular file.

    Raises:
        OSError: there is none, or it is a folder.
    """
    found = Path(path).stat()
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    return found.st_size


def major(version: int) -> int:
    """Major part of a semantic version."""
    return (version >> 16) & 0xFF
