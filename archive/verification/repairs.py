"""Repairs carried out: in the files of an archive that is down, or by requests to a running one.

The catalog is changed first and the files after it, as an archive does. As much as possible is
kept: what a repair takes out of a recording stays in files beside it whose names end in
``.damaged``, and an INVALID recording keeps all its files.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Protocol

from aerolog.archive.format.archive_folder import ArchiveFolder
from aerolog.archive.format.catalog_file import CatalogFile
from aerolog.archive.format.catalog_map import CatalogReader
from aerolog.archive.format.checksum import checksum_for
from aerolog.archive.format.layout import CATALOG_NAME, SEGMENT_SUFFIX
from aerolog.archive.format.mark_claim import borrowed_folder
from aerolog.archive.format.segment import (
    parse_segment_name,
    recording_id_of,
    segment_file_name,
    term_id_at,
)
from aerolog.archive.protocol.enums import RecordingState
from aerolog.archive.verification.closed_spans import closed_spans
from aerolog.archive.verification.damage_survey import survey
from aerolog.archive.verification.health_file import HealthWriter
from aerolog.archive.verification.recording_check import RecordingChecker
from aerolog.archive.verification.recording_verification import verify_opened
from aerolog.archive.verification.repair_plan import BY_REQUEST, DELETED_SUFFIX, StepKind
from aerolog.transport.concurrent.clock import SystemClock
from aerolog.transport.errors import AerologError
from aerolog.transport.protocol.frame_header import FRAME_HEADER_STRUCT
from aerolog.transport.protocol.frames import FLAGS_UNFRAGMENTED, FRAME_ALIGNMENT, FRAME_PAD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from aerolog.archive.client import AeronArchive
    from aerolog.archive.format.catalog_map import CatalogMap
    from aerolog.archive.format.checksum import Checksum
    from aerolog.archive.format.descriptor import CatalogEntry, RecordingDescriptor
    from aerolog.archive.verification.repair_plan import RepairStep
    from aerolog.transport.concurrent.clock import Clock
    from aerolog.transport.memory.filesystem import FileSystem

#: Behind the name of a segment that a recording does not begin with any more: nobody's file.
DAMAGED_SUFFIX: Final = ".damaged"
_SYNC_ALL: Final = 2
_CHUNK: Final = 1024 * 1024
_CHECKSUMS: Final = ("CRC-32C", "CRC-32")


class RepairRefusedError(AerologError):
    """A step was refused because the recording has changed since, or because an archive runs."""


class Repairs(Protocol):
    """Carries out the steps of a repair."""

    def apply(self, step: RepairStep) -> None:
        """Carry out a step.

        Raises:
            RepairRefusedError: the step cannot be done; nothing has changed.
            ArchiveError: the archive refuses the step; nothing has changed.
        """


class RequestedRepairs:
    """Repairs a running archive by requests to it.

    Args:
        client: a session with the archive.
    """

    def __init__(self, client: AeronArchive) -> None:
        self._client = client

    def apply(self, step: RepairStep) -> None:
        """Carry out a step by a request to the archive; see ``Repairs``."""
        if step.kind not in BY_REQUEST:
            raise RepairRefusedError(
                f"an archive that runs cannot do this, stop it first: {step.text}"
            )
        if step.kind == StepKind.TRUNCATE:
            self._client.truncate_recording(step.recording_id, step.position)
        else:
            self._client.detach_segments(step.recording_id, step.position)


class FolderRepairs:
    """Repairs the files of an archive that does not run; made by ``borrow``.

    Args:
        folder: the archive's folder.
        files: the file system to use.
        beat: a function that renews the claim on the folder, which keeps archives out.
        clock: gives the stop times and verification times that repairs write.
    """

    def __init__(
        self, folder: str, files: FileSystem, beat: Callable[[], None], clock: Clock
    ) -> None:
        self._folder = folder
        self._files = files
        self._beat = beat
        self._clock = clock

    @classmethod
    @contextmanager
    def borrow(
        cls, folder: str | Path, files: FileSystem, clock: Clock | None = None
    ) -> Iterator[FolderRepairs]:
        """Claim a folder, which keeps archives out, and give its repairs for a ``with`` block.

        Raises:
            ActiveArchiveError: an archive runs in the folder.
        """
        clock = clock or SystemClock()
        with borrowed_folder(folder, files, clock) as beat:
            yield cls(str(folder), files, beat, clock)

    def apply(self, step: RepairStep) -> None:
        """Carry out a step in the files; see ``Repairs``."""
        self._beat()
        {
            StepKind.RESTORE: self._restore,
            StepKind.ACCEPT: self._accept,
            StepKind.PAD: self._pad,
            StepKind.COPY: self._copy,
            StepKind.TRUNCATE: self._truncate,
            StepKind.CUT_HEAD: self._cut_head,
            StepKind.INVALIDATE: self._invalidate,
        }[step.kind](step)
        self._files.sync_dir(self._folder)

    def _path(self, recording_id: int, base: int) -> str:
        return f"{self._folder}/{segment_file_name(recording_id, base)}"

    def _restore(self, step: RepairStep) -> None:
        path = self._path(step.recording_id, step.position)
        if self._files.exists(path) or not self._files.exists(path + DELETED_SUFFIX):
            raise RepairRefusedError(f"{path} is not what it was: verify again")
        self._files.rename(path + DELETED_SUFFIX, path)

    def _accept(self, step: RepairStep) -> None:
        with CatalogReader.open(self._folder, self._files) as catalog:
            descriptor = catalog.checked_entry(step.recording_id).descriptor
        end = step.position + descriptor.segment_file_length
        if not descriptor.is_active:
            end = descriptor.stop_position
        spans = {span.base: span for span in closed_spans(descriptor, end)}
        if step.position not in spans:
            raise RepairRefusedError(
                f"recording {step.recording_id} has no closed segment at {step.position} any more"
            )
        checker = RecordingChecker(self._files, self._folder, descriptor)
        pieces = checker.verify(spans[step.position], None, self._clock.now_epoch_ms())
        while True:
            try:
                next(pieces)
            except StopIteration as done:
                result = done.value
                break
        if result.finding is not None:
            raise RepairRefusedError(f"not taken as it is: {result.finding.text}")
        HealthWriter(self._files, self._folder, descriptor).note(result.record)

    def _pad(self, step: RepairStep) -> None:
        descriptor = self._descriptor(step.recording_id)
        if not descriptor.start_position <= step.position < step.until:
            raise RepairRefusedError(
                f"recording {step.recording_id} has nothing at {step.position} to {step.until} any"
                " more: verify again"
            )
        self._pad_between(descriptor, step.recording_id, step.position, step.until, keep=True)

    def _pad_between(
        self,
        descriptor: RecordingDescriptor,
        recording_id: int,
        position: int,
        until: int,
        *,
        keep: bool,
    ) -> None:
        """Make padding of a range of positions, in the files that have a recording's name."""
        term_length = descriptor.term_buffer_length
        while position < until:
            self._beat()
            end = min((position // term_length + 1) * term_length, until)
            base = descriptor.segment_base(position)
            path = self._path(recording_id, base)
            if keep and self._files.exists(path):
                self._keep(path, position - base, end - base)
            with self._files.open_data_file(path, writable=True, create=True) as file:
                if file.file_size() < descriptor.segment_file_length:
                    file.set_length(descriptor.segment_file_length)
                header = FRAME_HEADER_STRUCT.pack(
                    end - position,
                    0,
                    FLAGS_UNFRAGMENTED,
                    FRAME_PAD,
                    position & (term_length - 1),
                    descriptor.session_id,
                    descriptor.stream_id,
                    term_id_at(position, descriptor.initial_term_id, term_length),
                    0,
                )
                # With its header the padding is there for every reader; its body comes after it.
                file.write_at(header, position - base)
                at = position - base + len(header)
                while at < end - base:
                    length = min(_CHUNK, end - base - at)
                    file.write_at(bytes(length), at)
                    at += length
                file.flush(_SYNC_ALL)
            position = end

    def _keep(self, path: str, begin: int, end: int) -> None:
        """Keep a part of a file at its place in another; what was kept before stays."""
        with self._files.open_data_file(path) as file:
            for at in range(begin, min(end, file.file_size()), _CHUNK):
                data = file.read_at(min(_CHUNK, end - at), at)
                if any(data):
                    self._keep_bytes(path + DAMAGED_SUFFIX, data, at)

    def _keep_bytes(self, kept: str, data: bytes, at: int) -> None:
        with self._files.open_data_file(kept, writable=True, create=True) as copy:
            before = copy.read_at(len(data), at) if at < copy.file_size() else b""
            if not any(before):
                copy.write_at(data, at)
                copy.flush(_SYNC_ALL)

    def _copy(self, step: RepairStep) -> None:
        with ArchiveFolder(self._folder, self._files) as folder:
            recording = folder.recording(step.recording_id)
            descriptor, end = recording.descriptor, recording.end_position
            found = survey(recording, verify_opened(recording))
        bases = range(
            descriptor.segment_base(descriptor.start_position), end, descriptor.segment_file_length
        )
        with self._changing(step.recording_id) as (catalog, before):
            # Without an entry in the catalog, a copy that a crash cuts short is nobody's file.
            new_id = catalog.next_recording_id
            for base in bases:
                source = self._path(step.recording_id, base)
                if self._files.exists(source):
                    self._copy_file(source, self._path(new_id, base))
            for gap in found.gaps:
                begin, until = gap.from_position, gap.until_position
                self._pad_between(descriptor, new_id, begin, until, keep=False)
            self._files.sync_dir(self._folder)
            stop = {"stop_position": end}
            if before.is_active:
                stop["stop_timestamp"] = self._clock.now_epoch_ms()
            catalog.add_recording(before.with_changes(**stop))
            catalog.change_state(step.recording_id, RecordingState.INVALID)

    def _copy_file(self, source: str, target: str) -> None:
        with (
            self._files.open_data_file(source) as file,
            self._files.open_data_file(target, writable=True, create=True) as copy,
        ):
            size = file.file_size()
            copy.set_length(size)
            for at in range(0, size, _CHUNK):
                self._beat()
                data = file.read_at(min(_CHUNK, size - at), at)
                if any(data):
                    copy.write_at(data, at)
            copy.flush(_SYNC_ALL)

    def _descriptor(self, recording_id: int) -> RecordingDescriptor:
        with CatalogReader.open(self._folder, self._files) as catalog:
            return catalog.checked_entry(recording_id).descriptor

    def _truncate(self, step: RepairStep) -> None:
        recording_id, position = step.recording_id, step.position
        with self._changing(recording_id) as (catalog, before):
            if not before.start_position <= position or position % FRAME_ALIGNMENT:
                raise RepairRefusedError(
                    f"recording {recording_id} cannot end at {position}: it begins at"
                    f" {before.start_position}"
                )
            if before.is_active:
                catalog.recording_stopped(recording_id, position, self._clock.now_epoch_ms())
            else:
                catalog.update_stop_position(recording_id, position)
        base = before.segment_base(position)
        for name in list(self._files.list_dir(self._folder)):
            if recording_id_of(name) != recording_id:
                continue
            at = parse_segment_name(name).base_position
            if at > base or (at == base == position):
                self._beat()
                self._keep_file(f"{self._folder}/{name}")
        path = self._path(recording_id, base)
        if position > base and self._files.exists(path):
            self._keep(path, position - base, before.segment_file_length)
            with self._files.open_data_file(path, writable=True) as file:
                file.clear_behind(position - base)
                file.set_length(before.segment_file_length)
                file.flush(_SYNC_ALL)

    def _cut_head(self, step: RepairStep) -> None:
        with self._changing(step.recording_id) as (catalog, before):
            lowest = before.segment_base(before.start_position)
            is_base = (step.position - lowest) % before.segment_file_length == 0
            if step.position <= before.start_position or not is_base:
                raise RepairRefusedError(
                    f"recording {step.recording_id} cannot begin at {step.position}: it begins at"
                    f" {before.start_position}"
                )
            catalog.update_start_position(step.recording_id, step.position)
        # With their names unchanged, the reference's tool would still find these files damaged.
        for base in range(lowest, step.position, before.segment_file_length):
            path = self._path(step.recording_id, base)
            if self._files.exists(path):
                self._keep_file(path)

    def _keep_file(self, path: str) -> None:
        """Give a file a name that belongs to no recording, and no file that was kept before."""
        if not path.endswith(SEGMENT_SUFFIX):
            return
        kept, number = path + DAMAGED_SUFFIX, 1
        while self._files.exists(kept):
            kept, number = f"{path}{DAMAGED_SUFFIX}.{number}", number + 1
        self._files.rename(path, kept)

    def _invalidate(self, step: RepairStep) -> None:
        with self._changing(step.recording_id) as (catalog, _):
            catalog.change_state(step.recording_id, RecordingState.INVALID)

    @contextmanager
    def _changing(self, recording_id: int) -> Iterator[tuple[CatalogFile, RecordingDescriptor]]:
        """Open the catalog for a change of a recording, which is durable after the block."""
        size = self._files.size(f"{self._folder}/{CATALOG_NAME}")
        with CatalogReader.open(self._folder, self._files) as seen:
            entry = seen.checked_entry(recording_id)
            checksum = _checksum_of(seen, entry)
        with CatalogFile.open(
            self._folder,
            files=self._files,
            capacity=size,
            sync_level=_SYNC_ALL,
            checksum=checksum,
        ) as catalog:
            yield catalog, entry.descriptor


def _checksum_of(catalog: CatalogMap, entry: CatalogEntry) -> Checksum | None:
    """Return the kind of an entry's checksum, None when there is none or its kind is unknown."""
    found = (checksum_for(name) for name in _CHECKSUMS)
    recording_id = entry.descriptor.recording_id
    for checksum in found if entry.checksum else ():
        if checksum is not None and catalog.checksum_of(recording_id, checksum) == entry.checksum:
            return checksum
    return None
