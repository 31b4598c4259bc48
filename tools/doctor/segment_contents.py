"""What is in segment files and catalog entries: frames and checksums, as far as there is time."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aerolog.archive.format.archive_folder import ArchiveFolder, Recording, ScanTotals
from aerolog.archive.format.checksum import CRC32_NAME, CRC32C_NAME, checksum_for
from aerolog.archive.format.layout import CATALOG_NAME
from aerolog.archive.format.read_errors import is_unreadable
from aerolog.archive.format.segment import parse_segment_name, segment_file_name, term_id_at
from aerolog.tools.doctor.system_snapshot import UNREADABLE, Damage
from aerolog.transport.concurrent.deadline import Deadline
from aerolog.transport.errors import (
    ArchiveError,
    FileFormatError,
    RecordingChangedError,
    RecordingDamagedError,
)
from aerolog.transport.protocol.fixed_layout import align
from aerolog.transport.protocol.frame_header import FRAME_HEADER_STRUCT
from aerolog.transport.protocol.frames import (
    DATA_HEADER_LENGTH,
    FRAME_ALIGNMENT,
    FRAME_DATA,
    FRAME_PAD,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from aerolog.archive.format.descriptor import RecordingDescriptor

#: Time for looking into segments when not every frame is asked for.
SHALLOW_S: Final = 5.0
#: The scan looks at a checksum where somebody asks for the session that it stands in place of.
_COLUMNS: Final = ("position", "session_id")
_ROWS: Final = 65_536
_PAYLOAD: Final = 64


@dataclass(slots=True)
class Contents:
    """What was found in the files of recordings, kept from look to look.

    Attributes:
        is_deep: every frame; otherwise the last term of each recording, and the first frame of
            each segment, as far as SHALLOW_S lasts.
        damages: by recording id.
        frames: looked at.
        bytes_read: bytes of segments that were read.
        unread: recordings that were not come to in time.
    """

    is_deep: bool = False
    damages: dict[int, tuple[Damage, ...]] = field(default_factory=dict)
    frames: int = 0
    bytes_read: int = 0
    unread: int = 0


def look_inside(
    archive_dir: str,
    *,
    deep: bool = False,
    shallow_s: float = SHALLOW_S,
    on_bytes: Callable[[int], None] | None = None,
) -> Contents:
    """Reads segments and catalog entries of all valid recordings.

    Args:
        archive_dir: the folder; a running archive may go on writing.
        deep: look at every frame, however long it takes.
        shallow_s: seconds after which no further recording is begun, unless deep.
        on_bytes: told how many bytes have been read so far.

    Raises:
        FileNotFoundError: there is no catalog.
        FileFormatError: it is damaged.
    """
    found = Contents(is_deep=deep)
    deadline = Deadline(shallow_s)
    with ArchiveFolder(archive_dir) as folder:
        bases = _bases_by_recording(folder)
        for recording_id in folder.catalog.ids():
            if not deep and deadline.is_over:
                found.unread += 1
                continue
            damages = list(_entry(folder, recording_id))
            try:
                recording = folder.recording(recording_id)
            except ArchiveError:
                continue  # purged meanwhile
            except OSError as error:
                damages += _unread(error, folder)
            except FileFormatError:
                pass  # its entry: there are checks for it
            else:
                reading = _Reading(recording, bases.get(recording_id, ()), found, on_bytes)
                damages += reading.damages()
            if damages:
                found.damages[recording_id] = tuple(damages)
    return found


def _bases_by_recording(folder: ArchiveFolder) -> dict[int, list[int]]:
    """Base positions of all segment files; one listing for all recordings."""
    found: dict[int, list[int]] = {}
    for name in folder.files.list_dir(folder.path):
        try:
            segment = parse_segment_name(name)
        except FileFormatError:
            continue  # another file
        found.setdefault(segment.recording_id, []).append(segment.base_position)
    return found


def _entry(folder: ArchiveFolder, recording_id: int) -> Iterator[Damage]:
    """The checksum of a catalog entry, by either algorithm; 0 where there is none."""
    try:
        entry = folder.catalog.entry(recording_id)
        tail = folder.catalog.descriptor_tail(recording_id)
    except (ArchiveError, FileFormatError):
        return
    one = entry.descriptor
    ids = one.control_session_id.to_bytes(8, "little", signed=True) + one.correlation_id.to_bytes(
        8, "little", signed=True
    )
    sums = {
        checksum.compute(ids + tail)
        for name in (CRC32_NAME, CRC32C_NAME)
        if (checksum := checksum_for(name)) is not None
    }
    if entry.checksum and entry.checksum not in sums:
        text = f"0x{entry.checksum & 0xFFFFFFFF:08x}"
        yield Damage("descriptor", text, CATALOG_NAME, entry.offset)


def _unread(error: OSError, folder: ArchiveFolder) -> Iterator[Damage]:
    """What cannot be read of a recording without an end, where its segments have to tell it."""
    path = str(error.filename or folder.path)
    if is_unreadable(error, path, folder.files):
        yield Damage(UNREADABLE, error.strerror or str(error), Path(path).name)


class _Reading:
    """Looks into the segments of one recording."""

    def __init__(
        self,
        recording: Recording,
        bases: Sequence[int],
        found: Contents,
        on_bytes: Callable[[int], None] | None,
    ) -> None:
        self._recording = recording
        self._there = frozenset(bases)
        self._descriptor: RecordingDescriptor = recording.descriptor
        self._found = found
        self._on_bytes = on_bytes

    def damages(self) -> Iterator[Damage]:
        """What cannot be right."""
        recording, descriptor = self._recording, self._descriptor
        start, end = recording.start_position, recording.end_position
        if start >= end:
            return
        if self._found.is_deep:
            for base in self._bases(start, end):
                until = min(base + descriptor.segment_file_length, end)
                yield from self._scan(max(base, start), until)
            return
        last_term = max((end - 1) // descriptor.term_buffer_length, 0)
        scanned = max(last_term * descriptor.term_buffer_length, start)
        for base in self._bases(start, end):
            if max(base, start) < scanned:
                yield from self._first_frame(max(base, start), base)
        if descriptor.segment_base(scanned) in self._there:
            yield from self._scan(scanned, end)

    def _bases(self, start: int, end: int) -> Iterator[int]:
        """Bases of the segments that are there and hold data."""
        descriptor = self._descriptor
        first = descriptor.segment_base(start)
        for base in sorted(self._there):
            if first <= base < end and (base - first) % descriptor.segment_file_length == 0:
                yield base

    def _name(self, base: int) -> str:
        return segment_file_name(self._descriptor.recording_id, base)

    def _scan(self, start: int, until: int) -> Iterator[Damage]:
        """Walks every frame between two positions of one segment."""
        totals = ScanTotals(start)
        try:
            for _ in self._recording.batches(
                assemble=False,
                from_position=start,
                until_position=until,
                rows_max=_ROWS,
                payload_capacity=_PAYLOAD,
                columns=_COLUMNS,
                totals=totals,
            ):
                self._tell(totals.position - start)
        except RecordingChangedError:
            return  # purged or truncated meanwhile
        except RecordingDamagedError as error:
            cause = error.__cause__
            if not isinstance(cause, OSError) or not self._is_unreadable(cause, error.position):
                yield self._damage("frame", str(error), error.position)
            else:
                text = cause.strerror or os.strerror(cause.errno or 0)
                yield self._damage(UNREADABLE, text, error.position)
        finally:
            self._found.frames += totals.frames + totals.padding_frames
            self._found.bytes_read += totals.position - start
        if totals.checksum_mismatches:
            text = f"{totals.checksum_mismatches} frames from position {start} on"
            yield self._damage("checksum", text, start)

    def _first_frame(self, position: int, base: int) -> Iterator[Damage]:
        """Judges one header, at the beginning of a segment."""
        descriptor = self._descriptor
        term = descriptor.term_buffer_length
        try:
            with self._recording.files.open_data_file(self._path(base)) as file:
                data = file.read_at(DATA_HEADER_LENGTH, position - base)
        except OSError as error:
            kind = UNREADABLE if self._is_unreadable(error, position) else "frame"
            yield self._damage(kind, error.strerror or str(error), position)
            return
        if len(data) < DATA_HEADER_LENGTH:
            return  # cut off: found by its length
        self._found.frames += 1
        self._found.bytes_read += len(data)
        length, _, _, kind, term_offset, _, stream_id, term_id, _ = FRAME_HEADER_STRUCT.unpack(data)
        expected = term_id_at(position, descriptor.initial_term_id, term)
        for name, value, is_sound in (
            ("frame length", length, 0 < align(length, FRAME_ALIGNMENT) <= term - position % term),
            ("frame type", kind, kind in {FRAME_DATA, FRAME_PAD}),
            ("term offset", term_offset, term_offset == position % term),
            ("term id", term_id, term_id == expected),
            ("stream id", stream_id, stream_id == descriptor.stream_id),
        ):
            if not is_sound:
                yield self._damage("frame", f"impossible {name}: {value}", position)
                return

    def _path(self, base: int) -> str:
        return f"{self._recording.folder.path}/{self._name(base)}"

    def _is_unreadable(self, error: OSError, position: int) -> bool:
        path = self._path(self._descriptor.segment_base(position))
        return is_unreadable(error, path, self._recording.files)

    def _damage(self, kind: str, text: str, position: int) -> Damage:
        base = self._descriptor.segment_base(position)
        return Damage(kind, text, self._name(base), position - base, position)

    def _tell(self, more: int) -> None:
        if self._on_bytes is not None:
            self._on_bytes(self._found.bytes_read + more)
