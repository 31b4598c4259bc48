"""Steps from one version of an archive's folder to the next one (spec archive-files 15).

Each leaves an empty file that says that it was begun, does its work, and stores its version in the
mark file last. A step that is found begun is not done again by itself: names of segments cannot be
told old from new.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aerolog.archive.format.layout import (
    CATALOG_HEADER,
    CATALOG_HEADER_LENGTH,
    CATALOG_NAME,
    DESCRIPTOR_BLOCK_LENGTH,
    DESCRIPTOR_STRINGS,
    ENTRY_ALIGNMENT,
    ENTRY_HEADER,
    ENTRY_HEADER_LENGTH,
    MARK_BLOCK,
    SEGMENT_SUFFIX,
)
from aerolog.archive.protocol.enums import RecordingState
from aerolog.tools.archive_files.catalog_editor import EditableCatalog
from aerolog.tools.archive_files.raw_catalog import file_in
from aerolog.tools.archive_files.segment_names import check_term_length, parse_int, parse_number
from aerolog.tools.command_line.java_error import (
    JavaError,
    java_error_of,
    out_of_bounds,
)
from aerolog.transport.memory.filesystem import RealFileSystem
from aerolog.transport.protocol.fixed_layout import align, offsets, packer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aerolog.tools.archive_files.catalog_editor import Entry
    from aerolog.tools.archive_files.raw_mark import RawMark

    #: Gives the new names of a recording's segments, None where they stay, and tells of it.
    Renames = Callable[[str, Entry, Callable[[str], None]], Iterator["SegmentRename"] | None]

_VERSION_AT: Final = offsets(MARK_BLOCK)["version"]
UPDATED_NAME: Final = f"{CATALOG_NAME}.updated"
_VERSION_1, _VERSION_2, _VERSION_3 = 1 << 16, 2 << 16, 3 << 16
_HEADER = packer(CATALOG_HEADER, CATALOG_HEADER_LENGTH)
_ENTRY_HEADER = packer(ENTRY_HEADER, ENTRY_HEADER_LENGTH)


class MigrationError(JavaError):
    """A step cannot go on; its lines are told before the error.

    Attributes:
        lines: what the reference prints before the exception.
        remark: what it prints as an error.
    """

    def __init__(
        self, cause: JavaError, lines: list[str] | None = None, remark: str | None = None
    ) -> None:
        super().__init__(cause.java_class, cause.message)
        self.lines = lines or []
        self.remark = remark


@dataclass(frozen=True, slots=True)
class SegmentRename:
    """A segment file that gets another name.

    Attributes:
        old: path as it is.
        new: path as it is to be.
    """

    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Step:
    """A step from one version of the folder to the next.

    Attributes:
        version: the version that the folder has afterwards.
        what: what is done, in words.
        renames: gives new names of segments; None where the catalog is written anew.
    """

    version: int
    what: str
    renames: Renames | None = None

    def run(self, folder: str, catalog: EditableCatalog, say: Callable[[str], None]) -> None:
        """Do it as the reference does, and tell of it.

        Raises:
            MigrationError: it cannot go on.
        """
        if self.renames is None:
            write_aligned(folder, catalog)
        else:
            _rename_all(folder, catalog, say, self.renames)


def steps_from(version: int) -> list[Step]:
    """The steps that a folder of some version needs, first to last."""
    return [step for step in _STEPS if step.version > version]


def stamp_name(before: int, after: int) -> str:
    """Name of the file that says that a step was begun."""
    return f"migration-{before}-to-{after}.dat"


def stamp(folder: str, before: int, after: int) -> None:
    """Say that a step is begun.

    Raises:
        MigrationError: it was begun before.
    """
    path = file_in(folder, stamp_name(before, after))
    try:
        with RealFileSystem().open_data_file(path, writable=True, create=True, exclusive=True):
            pass
    except OSError as error:
        raise MigrationError(
            java_error_of(error), remark=f"Could not create migration timestamp file:{path}"
        ) from error


def positions_of_indexes(
    folder: str, entry: Entry, say: Callable[[str], None]
) -> Iterator[SegmentRename]:
    """New names of a recording's segments, which were counted, with positions."""
    length = entry.segment_length
    check_term_length(length)
    base = entry.start_position - (entry.start_position & (length - 1))
    shift = length.bit_length() - 1
    say(
        f"(recordingId={entry.recording_id}) segmentBasePosition={base} segmentLength={length}"
        f"({shift})"
    )
    return _renamings(_names(folder), folder, entry, parse_int, lambda at: (at << shift) + base)


def positions_in_terms(
    folder: str, entry: Entry, say: Callable[[str], None]
) -> Iterator[SegmentRename] | None:
    """New names of a recording's segments, whose positions counted from its first term.

    None when they stay.
    """
    base = entry.start_position - (entry.start_position & (entry.term_length - 1))
    if base == 0 or entry.term_length == entry.segment_length:
        say(f"(recordingId={entry.recording_id}) OK - skipped.")
        return None
    say(f"(recordingId={entry.recording_id}) startTermBasePosition={base})")
    return _renamings(sorted(_names(folder)), folder, entry, parse_number, lambda at: at + base)


def _names(folder: str) -> list[str]:
    return [path.name for path in Path(folder).iterdir()]


def _renamings(
    names: list[str],
    folder: str,
    entry: Entry,
    parse: Callable[[str], int],
    move: Callable[[int], int],
) -> Iterator[SegmentRename]:
    prefix = f"{entry.recording_id}-"
    for name in names:
        text = name[len(prefix) : -len(SEGMENT_SUFFIX)]
        if not (name.startswith(prefix) and name.endswith(SEGMENT_SUFFIX) and text):
            continue
        try:
            number = parse(text)
        except JavaError as error:
            at = f"(recordingId={entry.recording_id}) ERR: malformed recording filename:{name}"
            raise MigrationError(error, [at]) from error
        yield SegmentRename(file_in(folder, name), file_in(folder, f"{prefix}{move(number)}.rec"))


def _rename_all(
    folder: str,
    catalog: EditableCatalog,
    say: Callable[[str], None],
    plan: Renames,
) -> None:
    for entry in catalog.entries():
        if entry.state == RecordingState.INVALID:
            continue
        renamings = plan(folder, entry, say)
        if renamings is None:
            continue
        for one in renamings:
            _rename(entry, one, say)
        say(f"(recordingId={entry.recording_id}) OK")
    RealFileSystem().sync_dir(folder)


def _rename(entry: Entry, one: SegmentRename, say: Callable[[str], None]) -> None:
    at = f"(recordingId={entry.recording_id})"
    say(f"{at} renaming {one.old} -> {one.new}")
    if one.old == one.new:
        return
    try:
        if os.path.lexists(one.new):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), one.new)
        Path(one.old).rename(one.new)
    except OSError as error:
        lines = [f"{at} ERR: could not rename filename: {one.old} -> {one.new}"]
        raise MigrationError(java_error_of(error), lines) from error


def write_aligned(folder: str, catalog: EditableCatalog) -> None:
    """Entries of variable length take the place of those of equal length, at once."""
    files = RealFileSystem()
    path = file_in(folder, UPDATED_NAME)
    content = aligned_content(catalog)
    with files.open_data_file(path, writable=True, create=True) as file:
        file.set_length(0)
        file.write_at(content, 0)
        file.flush(2)
    files.rename(path, catalog.path)
    files.sync_dir(folder)


def aligned_content(catalog: EditableCatalog) -> bytes:
    """A whole catalog of version 3 with the entries of an older one.

    Raises:
        JavaError: an entry's strings do not fit in it.
    """
    parts = []
    next_id = 0
    for entry in catalog.entries():
        body = descriptor_bytes(catalog, entry)
        length = align(ENTRY_HEADER_LENGTH + len(body), ENTRY_ALIGNMENT) - ENTRY_HEADER_LENGTH
        parts += [
            _ENTRY_HEADER.pack(length, entry.state, entry.checksum),
            body.ljust(length, b"\0"),
        ]
        next_id = entry.recording_id + 1
    header = _HEADER.pack(_VERSION_3, CATALOG_HEADER_LENGTH, next_id, ENTRY_ALIGNMENT)
    return header + b"".join(parts)


def descriptor_bytes(catalog: EditableCatalog, entry: Entry) -> bytes:
    """A descriptor without the fill behind it.

    Raises:
        JavaError: the descriptor's strings do not fit in the entry.
    """
    frame = catalog.raw.frame(entry.offset, entry.frame_length)
    at = ENTRY_HEADER_LENGTH + DESCRIPTOR_BLOCK_LENGTH
    for _ in DESCRIPTOR_STRINGS:
        if not 0 <= at <= len(frame) - 4:
            raise out_of_bounds(at, 4, len(frame))
        at += 4 + int.from_bytes(frame[at : at + 4], "little", signed=True)
    if not 0 <= at <= len(frame):
        raise out_of_bounds(at, 0, len(frame))
    return bytes(frame[ENTRY_HEADER_LENGTH:at])


_STEPS: Final = (
    Step(_VERSION_1, "segments are named by position, not by number", positions_of_indexes),
    Step(_VERSION_2, "segments are named from the first term on", positions_in_terms),
    Step(_VERSION_3, "the catalog's entries get the length that they need"),
)


def store_version(folder: str, mark: RawMark, version: int) -> None:
    """Store the version that a folder has now, the mark file's last."""
    with EditableCatalog.open(folder, check_version=False) as catalog:
        if catalog.version != version:
            catalog.store_version(version)
            catalog.sync()
    mapped = RealFileSystem().open_mapped(mark.path)
    mapped.store_i32(mark.base + _VERSION_AT, version)
    mapped.flush()
