"""A recording's segment files: which exist, what they begin with, where they are cut.

A name is either made from a recording's id and a position, or comes from the folder's own listing,
so that no request can refer to a file outside the folder.
"""

from __future__ import annotations

import os
import struct
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aerolog.archive.format.frame_walk import first_frame
from aerolog.archive.format.layout import SEGMENT_SUFFIX
from aerolog.archive.format.segment import parse_segment_name, segment_file_name, term_id_at
from aerolog.archive.protocol.enums import NULL_POSITION
from aerolog.transport.errors import ArchiveError, ArchiveErrorCode, FileFormatError
from aerolog.transport.protocol.fixed_layout import offsets
from aerolog.transport.protocol.frame_header import FRAME_HEADER
from aerolog.transport.protocol.frames import DATA_HEADER_LENGTH

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.transport.memory.data_file import DataFile
    from aerolog.transport.memory.filesystem import FileSystem

DELETED_SUFFIX: Final = ".del"
SCAN_LENGTH: Final = 1024 * 1024
_OFFSET: Final = offsets(FRAME_HEADER)
_I32: Final = struct.Struct("<i")


class SegmentNames:
    """Consecutive names of a recording's segments, whether the files exist or not.

    Args:
        recording_id: id in the names.
        first: start position of the first segment.
        stop: position at or before which every segment starts.
        length: length of a segment, bytes.
    """

    def __init__(self, recording_id: int, first: int, stop: int, length: int) -> None:
        self._recording_id = recording_id
        self._positions = range(first, stop + 1, length)

    def __len__(self) -> int:
        return len(self._positions)

    def __iter__(self) -> Iterator[str]:
        return (segment_file_name(self._recording_id, at) for at in self._positions)

    @property
    def highest(self) -> int:
        """Start position of the last segment, -1 when there is none."""
        return self._positions[-1] if self._positions else NULL_POSITION


class FoundNames:
    """Names of a recording's files, as a listing of the folder shows them.

    Attributes:
        lowest: start position of the first segment, -1 when no name has one.
        highest: start position of the last segment, -1 when no name has one.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names: list[str] = []
        self.lowest = NULL_POSITION
        self.highest = NULL_POSITION
        for name in names:
            self.add(name)

    def add(self, name: str) -> None:
        """Add a name."""
        self._names.append(name)
        position = position_of(name)
        if position != NULL_POSITION:
            self.highest = max(self.highest, position)
            self.lowest = position if self.lowest < 0 else min(self.lowest, position)

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)


class NameScan:
    """A stepwise search for all files of a recording in a folder of up to a million files.

    It also finds files that older versions of the reference renamed before their deletion.

    Args:
        files: the file system to use.
        folder: the archive's folder.
        recording_id: the recording whose files are wanted.

    Attributes:
        found: the names found so far.
        is_done: whether the whole folder was listed.

    Raises:
        OSError: the folder cannot be listed.
    """

    def __init__(self, files: FileSystem, folder: str, recording_id: int) -> None:
        self._prefix = f"{recording_id}-"
        self._names = files.scan_dir(folder)
        self.found = FoundNames()
        self.is_done = False

    def go_on(self, count: int) -> int:
        """List up to ``count`` further names; returns how many there were."""
        looked_at = 0
        for name in islice(self._names, count):
            looked_at += 1
            if name.startswith(self._prefix) and name.endswith((SEGMENT_SUFFIX, DELETED_SUFFIX)):
                self.found.add(name)
        self.is_done = looked_at < count
        return looked_at


Names = SegmentNames | FoundNames


def position_of(name: str) -> int:
    """Return the start position in a file's name, with or without ``.del``; -1 without one."""
    plain = name.removesuffix(DELETED_SUFFIX)
    if not plain.endswith(SEGMENT_SUFFIX):
        return NULL_POSITION
    try:
        return parse_segment_name(plain).base_position
    except FileFormatError:
        return NULL_POSITION


def detached_names(descriptor: RecordingDescriptor, found: FoundNames) -> SegmentNames:
    """Return the names from a recording's lowest file to the one before its first segment."""
    first = descriptor.segment_base(descriptor.start_position)
    lowest = first if found.lowest == NULL_POSITION else found.lowest
    length = descriptor.segment_file_length
    return SegmentNames(descriptor.recording_id, lowest, first - length, length)


def path_of(folder: str, recording_id: int, base_position: int) -> str:
    """Return the path of a segment file."""
    return str(Path(folder) / segment_file_name(recording_id, base_position))


def check_frame_at(
    files: FileSystem, folder: str, descriptor: RecordingDescriptor, position: int
) -> None:
    """Check that a frame of the recording starts at a position inside a segment.

    Raises:
        ArchiveError: there is no frame, or the file cannot be read.
    """
    base = descriptor.segment_base(position)
    path = path_of(folder, descriptor.recording_id, base)
    _check_plain(files, path)
    with files.open_data_file(path) as file:
        header = file.read_at(DATA_HEADER_LENGTH, position - base)
    term_length = descriptor.term_buffer_length
    expected = (
        position & (term_length - 1),
        term_id_at(position, descriptor.initial_term_id, term_length),
        descriptor.stream_id,
    )
    names = ("term_offset", "term_id", "stream_id")
    if (
        len(header) < DATA_HEADER_LENGTH
        or tuple(_I32.unpack_from(header, _OFFSET[name])[0] for name in names) != expected
    ):
        raise ArchiveError(
            ArchiveErrorCode.GENERIC, f"{position} position not aligned to a data header"
        )


def cut_segment(
    files: FileSystem, folder: str, descriptor: RecordingDescriptor, position: int, sync_level: int
) -> None:
    """Fill a segment file with zeros after a position; its length stays."""
    base = descriptor.segment_base(position)
    path = path_of(folder, descriptor.recording_id, base)
    _check_plain(files, path)
    with files.open_data_file(path, writable=True) as file:
        file.clear_behind(position - base)
        file.set_length(descriptor.segment_file_length)
        if sync_level > 0:
            file.flush(sync_level)


def first_position(
    files: FileSystem, folder: str, descriptor: RecordingDescriptor, base: int
) -> int | None:
    """Return the position of the first frame in a segment file that is to be attached.

    Returns:
        The position, None when the file does not exist.

    Raises:
        ArchiveError: the file is not a segment of this recording.
    """
    path = path_of(folder, descriptor.recording_id, base)
    if not files.exists(path):
        return None
    length = files.size(path)
    if length != descriptor.segment_file_length:
        raise ArchiveError(
            ArchiveErrorCode.GENERIC,
            f"fileLength={length} not equal to segmentLength={descriptor.segment_file_length}",
        )
    _check_plain(files, path)
    term_length = descriptor.term_buffer_length
    with files.open_data_file(path) as file:
        header = file.read_at(DATA_HEADER_LENGTH, 0)
        offset = 0
        if _I32.unpack_from(header)[0] <= 0:
            offset = _first_frame(file, term_length)
            if offset < 0:
                raise ArchiveError(
                    ArchiveErrorCode.GENERIC,
                    f"fragment not found in first term of segment {path}",
                )
            header = file.read_at(DATA_HEADER_LENGTH, offset)
    _check_same(
        "term id",
        _I32.unpack_from(header, _OFFSET["term_id"])[0],
        term_id_at(base, descriptor.initial_term_id, term_length),
    )
    _check_same(
        "stream id",
        _I32.unpack_from(header, _OFFSET["stream_id"])[0],
        descriptor.stream_id,
    )
    return base + offset


def _first_frame(file: DataFile, limit: int) -> int:
    """Return the offset of the first frame within a limit, -1 when there is none."""
    for at in range(0, limit, SCAN_LENGTH):
        found = first_frame(file.read_at(min(SCAN_LENGTH, limit - at), at))
        if found >= 0:
            return at + found
    return -1


def _check_same(what: str, actual: int, expected: int) -> None:
    if actual != expected:
        raise ArchiveError(
            ArchiveErrorCode.GENERIC,
            f"{what} does not match: actual={actual} expected={expected}",
        )


def _check_plain(files: FileSystem, path: str) -> None:
    """Check that a segment is a regular file: the archive does not follow links."""
    if not files.is_regular(path):
        name = os.path.basename(path)  # noqa: PTH119 - text only
        what = "is a link or a folder" if files.exists(path) else "does not exist"
        raise ArchiveError(ArchiveErrorCode.GENERIC, f"segment file {name} {what}")
