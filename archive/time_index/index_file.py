"""The index file of a recording that begins, goes on, loses its start or is indexed afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from aerolog.archive.format.layout import MAX_I64
from aerolog.archive.format.side_folder import make_side_folder
from aerolog.archive.time_index.blocks import TimeBlocks, encode_blocks
from aerolog.archive.time_index.known_part import RecordedFrames, known_part
from aerolog.archive.time_index.layout import (
    BLOCK_LENGTH,
    HEADER_COPIES,
    INDEX_SUFFIX,
    SOURCE_CHANNEL,
    SOURCE_CLOCK,
    IndexHeader,
    index_path,
    times_dir,
)
from aerolog.archive.time_index.notes import TIME_OF_CLOCK, TimeNotes, let_go_of_blocks
from aerolog.archive.time_index.search import TimeCursor
from aerolog.transport.errors import FileFormatError
from aerolog.transport.time_units import NS_PER_MS

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Buffer

    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.transport.memory.data_file import DataFile
    from aerolog.transport.memory.filesystem import FileSystem

_NEW_SUFFIX = ".new"
_SYNC_ALL = 2


def begin_notes(
    archive_dir: str,
    descriptor: RecordingDescriptor,
    files: FileSystem,
    *,
    position: int | None = None,
    time_offset: int = TIME_OF_CLOCK,
) -> TimeNotes:
    """Begin the index of a recording and return the notes that fill it.

    Readers of an index that is replaced keep its file.

    Args:
        archive_dir: the archive's folder.
        descriptor: the descriptor of the recording.
        files: the file system to use.
        position: the position from which on is recorded; by default the recording's start.
        time_offset: the place of times in messages, see TimeNotes.

    Raises:
        OSError: the file cannot be made.
    """
    position = descriptor.start_position if position is None else position
    path = index_path(archive_dir, descriptor.recording_id)
    make_side_folder(Path(path).parent, files)
    if files.exists(path):
        files.remove(path)
    header = IndexHeader.of(descriptor, source=source_of(time_offset), start_position=position)
    file = files.open_data_file(path, writable=True, create=True, exclusive=True)
    try:
        file.write_at(header.encode_block(), 0)
        return _notes(file, blocks_of(file, header), position, descriptor, time_offset)
    except BaseException:
        file.close()
        raise


def resume_notes(
    archive_dir: str,
    before: RecordingDescriptor,
    after: RecordingDescriptor,
    files: FileSystem,
    *,
    position: int,
    time_offset: int = TIME_OF_CLOCK,
) -> TimeNotes:
    """Continue the index of an extended recording; a foreign or damaged one begins anew.

    Args:
        archive_dir: the archive's folder.
        before: the descriptor before the extension, which the index has to match.
        after: the descriptor of the extension.
        files: the file system to use.
        position: the position from which the extension records.
        time_offset: the place of times in messages, see TimeNotes.

    Raises:
        OSError: the file can be neither read nor made.
    """
    try:
        file = files.open_data_file(index_path(archive_dir, before.recording_id), writable=True)
    except FileNotFoundError:
        return begin_notes(archive_dir, after, files, position=position, time_offset=time_offset)
    try:
        try:
            header = IndexHeader.decode(file.read_at(BLOCK_LENGTH, 0))
        except FileFormatError:
            header = None
        source = source_of(time_offset)
        if header is None or header.why_foreign(before) is not None or header.source != source:
            file.close()
            return begin_notes(
                archive_dir, after, files, position=position, time_offset=time_offset
            )
        blocks = blocks_of(file, header)
        frames = RecordedFrames(archive_dir, before, files)
        begin, end = known_part(blocks, header, frames, before.start_position, position)
        header = header.with_changes(
            start_position=begin if end > begin else position,
            control_session_id=after.control_session_id,
            correlation_id=after.correlation_id,
        )
        is_kept = end > begin or position == before.start_position
        keep = end if is_kept else before.start_position - 1
        end_ns = _end_ns(blocks, header, before)
        notes = _notes(file, blocks, keep, after, time_offset)
        if keep < position and end > begin:
            notes.unknown_from(keep)
        elif end > begin and end_ns is not None:
            notes.end_at(end_ns, position)
        elif end > begin:
            notes.repeat_last()
        _write_header(file, header)
    except BaseException:
        file.close()
        raise
    return notes


def _end_ns(blocks: TimeBlocks, header: IndexHeader, descriptor: RecordingDescriptor) -> int | None:
    """When a stopped recording had come to its end; None where only bounds are known of it.

    Entries after the end, which a truncation has left, give it closely. They are removed next.
    """
    stop = descriptor.stop_position
    cursor = TimeCursor(
        blocks,
        head_time=descriptor.start_timestamp * NS_PER_MS,
        head_position=descriptor.start_position,
        tail_time=(descriptor.stop_timestamp + 1) * NS_PER_MS if header.is_bounded else MAX_I64,
        tail_position=stop,
    )
    return cursor.find_time(stop) if cursor.knows(stop - 1) else None


def _notes(
    file: DataFile,
    blocks: TimeBlocks,
    position: int,
    descriptor: RecordingDescriptor,
    time_offset: int,
) -> TimeNotes:
    return TimeNotes(
        file,
        blocks,
        position,
        time_offset=time_offset,
        segment_length=descriptor.segment_file_length,
        origin=segment_origin(descriptor),
    )


def segment_origin(descriptor: RecordingDescriptor) -> int:
    """The lowest position at which a segment of a recording may begin."""
    return descriptor.segment_base(descriptor.start_position) % descriptor.segment_file_length


def source_of(time_offset: int) -> str:
    """The origin of times, as an index's header names it."""
    return SOURCE_CLOCK if time_offset == TIME_OF_CLOCK else SOURCE_CHANNEL


def blocks_of(file: DataFile, header: IndexHeader) -> TimeBlocks:
    """The blocks that follow the header in a file."""
    return TimeBlocks(file, header.recording_id, header.identity, first=header.first_block)


def _write_header(file: DataFile, header: IndexHeader) -> None:
    """Write one copy of the header; the copy that was valid so far stays."""
    file.write_at(header.encode(), HEADER_COPIES[header.generation % len(HEADER_COPIES)])


def forget_before(archive_dir: str, descriptor: RecordingDescriptor, files: FileSystem) -> None:
    """Free the blocks whose entries all lie before the start of a recording.

    The recorder may be writing to the file. Without an index nothing happens.

    Args:
        archive_dir: the archive's folder.
        descriptor: the recording's descriptor with its present start position.
        files: the file system to use.

    Raises:
        OSError: the file cannot be read or written.
    """
    path = index_path(archive_dir, descriptor.recording_id)
    if not files.exists(path):
        return
    with files.open_data_file(path, writable=True) as file:
        try:
            header = IndexHeader.decode(file.read_at(BLOCK_LENGTH, 0))
        except FileFormatError:
            return
        if header.why_foreign(descriptor) is not None:
            return
        first = blocks_of(file, header).block_of(descriptor.start_position)
        if first > header.first_block:
            _write_header(file, header.with_changes(first_block=first))
            let_go_of_blocks(file, header.first_block, first)


def seal_index(archive_dir: str, descriptor: RecordingDescriptor, files: FileSystem) -> None:
    """Note where a recording ended whose archive could not, and that it ended by its stop time.

    Args:
        archive_dir: the archive's folder.
        descriptor: the recording's descriptor with the stop position that was found.
        files: the file system to use.

    Raises:
        OSError: the file cannot be read or written.
    """
    path = index_path(archive_dir, descriptor.recording_id)
    if not files.exists(path):
        return
    with files.open_data_file(path, writable=True) as file:
        try:
            header = IndexHeader.decode(file.read_at(BLOCK_LENGTH, 0))
        except FileFormatError:
            return
        if header.why_foreign(descriptor) is not None or header.source != SOURCE_CLOCK:
            return
        blocks, stop = blocks_of(file, header), descriptor.stop_position
        ends = blocks.ends()
        if ends is None or ends[1] < stop:
            notes = _notes(file, blocks, stop, descriptor, TIME_OF_CLOCK)
            if ends is None:
                notes.end_at(descriptor.start_timestamp * NS_PER_MS, descriptor.start_position)
            notes.repeat_last()
            notes.end_at((descriptor.stop_timestamp + 1) * NS_PER_MS, stop)
            notes.write_out()


def remove_index(archive_dir: str, recording_id: int, files: FileSystem) -> None:
    """Remove the index of a deleted recording, if there is one.

    Raises:
        OSError: the file cannot be removed.
    """
    path = index_path(archive_dir, recording_id)
    try:
        files.remove(path)
    except FileNotFoundError:
        return


def remove_orphans(
    archive_dir: str, is_recording: Callable[[int], bool], files: FileSystem
) -> list[str]:
    """Remove index files of deleted recordings and remains of crashes; returns their names.

    Raises:
        OSError: the folder cannot be listed, or a file cannot be removed.
    """
    folder = times_dir(archive_dir)
    if not files.is_dir(folder):
        return []
    removed = []
    for name in files.list_dir(folder):
        stem = name.removesuffix(INDEX_SUFFIX)
        if stem == name and not name.endswith(INDEX_SUFFIX + _NEW_SUFFIX):
            continue
        if stem == name or (stem.isascii() and stem.isdigit() and not is_recording(int(stem))):
            files.remove(str(Path(folder) / name))
            removed.append(name)
    return removed


def write_index(
    archive_dir: str | Path,
    header: IndexHeader,
    times: Buffer,
    positions: Buffer,
    files: FileSystem,
    frames: RecordedFrames | None = None,
) -> str:
    """Write the index of a recording, replacing one that exists; returns its path.

    Args:
        archive_dir: the archive's folder.
        header: the header of the index.
        times: int64, the entries' times in epoch nanoseconds.
        positions: int64, the entries' positions, never descending.
        files: the file system to use.
        frames: the recording's frames, of which the index has samples; None to do without.

    Raises:
        ValueError: the positions descend.
        OSError: the index cannot be written; an index that was there is unchanged.
    """
    path = index_path(archive_dir, header.recording_id)
    recording_id, identity = header.recording_id, header.identity
    if frames is None:
        blocks = encode_blocks(times, positions, recording_id, identity)
    else:
        descriptor = frames.descriptor
        blocks = encode_blocks(
            times,
            positions,
            recording_id,
            identity,
            frames.sample_at,
            descriptor.segment_file_length,
            segment_origin(descriptor),
        )
    make_side_folder(Path(path).parent, files)
    new = path + _NEW_SUFFIX
    try:
        with files.open_data_file(new, writable=True, create=True) as file:
            file.set_length(0)
            file.write_at(header.encode_block() + bytes(blocks), 0)
            file.flush(_SYNC_ALL)  # the one that it replaces may be on the disk for long
        files.rename(new, path)
    except OSError:
        if files.exists(new):
            files.remove(new)
        raise
    return path
