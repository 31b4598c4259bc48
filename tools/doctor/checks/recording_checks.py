"""Checks of an archive's recordings: who writes them, and whether their files are whole."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from aerolog.archive.protocol.enums import RecordingState
from aerolog.tools.doctor.figure_text import names
from aerolog.tools.doctor.findings import Area, FindingKind, Severity
from aerolog.tools.doctor.system_snapshot import UNREADABLE
from aerolog.transport.errors import FileFormatError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aerolog.tools.doctor.findings import Figure, Finding
    from aerolog.tools.doctor.system_snapshot import (
        ArchiveSnapshot,
        Case,
        Damage,
        RecordingSnapshot,
    )

_kind: Final = partial(FindingKind, Area.RECORDINGS)

UNWRITTEN = _kind(
    "recording-without-writer",
    Severity.CRITICAL,
    "the catalog says that it is being recorded, and the running archive does not write it: it has"
    " no recording position",
    "its recorder ended without a stop position; data of the stream that comes now is lost",
    "stop it (aerolog recordings stop), then extend it or start another; see the archive's error"
    " log for why",
)
UNFINISHED = _kind(
    "recording-unfinished",
    Severity.WARNING,
    "it has no stop position and no archive is running: its data ends at position {end!n}",
    "the archive was killed, or lost its driver, while it recorded; nobody writes it now",
    "start the archive: it finds the stop position by itself; or, without one, aerolog verify"
    " --repair",
)
SEGMENT_MISSING = _kind(
    "segment-missing",
    Severity.CRITICAL,
    "{count!n} of {expected!n} segment files are missing, the first one is {file}: positions"
    " {first!n} to {last!n}",
    "they were deleted or moved by somebody else than the archive; a replay that comes there ends"
    " with an error",
    "put them back from a copy or a replica (aerolog recordings replicate); or purge what is before"
    " them, and mark the recording invalid if nothing of use is left",
)
SEGMENT_CUT = _kind(
    "segment-cut",
    Severity.CRITICAL,
    "the segment file {file} has {length!b}, its data needs {needed!b} ({expected!b} is a whole"
    " one)",
    "it was cut off: copied while it was written, or the disk was full; what is missing is lost"
    " here",
    "put it back from a copy or a replica; or truncate the recording to the position where it ends",
)
SEGMENT_LENGTH = _kind(
    "segment-length",
    Severity.WARNING,
    "the segment file {file} has {length!b} instead of {expected!b}, its data is whole",
    "the archive makes each file as long as a segment; another program has changed it",
    "make it whole (truncate -s {expected} {file}) while no archive runs; find out who changed it",
)
SEGMENT_UNREADABLE = _kind(
    "segment-unreadable",
    Severity.WARNING,
    "{count!n} of its files cannot be read: {files}: {text}",
    "permission is wanting, the disk fails or is busy, or what a link leads to is not mounted:"
    " nothing tells whether they are sound or damaged",
    "look as the user that owns them; look at the disk (smartctl -a, dmesg) and the mounts"
    " (findmnt); change nothing in the archive until they can be read",
)
SEGMENT_DAMAGED = _kind(
    "segment-damaged",
    Severity.CRITICAL,
    "the file {file} is damaged at offset {offset!n} (position {position!n}): {text}",
    "what stands there cannot be a frame of this recording; a replay ends there with an error",
    "stop the archive and run aerolog verify --repair-plan; put the file back from a copy or a"
    " replica; look at the disk (smartctl -a, dmesg)",
)
CHECKSUM_WRONG = _kind(
    "checksum-wrong",
    Severity.CRITICAL,
    "frames of {file} do not match their checksums: {text}",
    "bytes have changed since they were recorded; a replay with checksums ends there",
    "put the file back from a copy or a replica; look at the disk and the memory (smartctl -a,"
    " edac-util); aerolog recordings checksum only where you know the data to be right",
)
DESCRIPTOR_CHECKSUM = _kind(
    "descriptor-checksum-wrong",
    Severity.WARNING,
    "its catalog entry does not match the checksum {checksum} stored with it",
    "the entry was changed: by an archive that ran without checksums (harmless), or it is damaged",
    "compare what aerolog recordings list --archive-dir DIR says with what you know; aerolog"
    " recordings checksum writes it anew",
)
CATALOG_DAMAGED = _kind(
    "catalog-damaged",
    Severity.CRITICAL,
    "the catalog is damaged: {text}",
    "an archive refuses to start with it, or does not find the recordings behind the damage",
    "stop the archive, keep a copy of the folder, put the catalog back from a copy; the segments"
    " are not touched by this",
)
INVALID = _kind(
    "recording-invalid",
    Severity.NOTICE,
    "{count!n} recordings are marked invalid: {ids}",
    "somebody put them aside with a tool; clients do not see them, their files take {bytes!b}",
    "aerolog recordings mark-valid brings one back, compact removes them for good",
)
ORPHANS = _kind(
    "segments-orphaned",
    Severity.NOTICE,
    "{count!n} segment files belong to no recording of the catalog: {files}",
    "an archive died between deleting a recording and its files, or they were copied here; they"
    " only take room",
    "aerolog recordings delete-orphaned, when you know that no program needs them",
)
BESIDE = _kind(
    "segments-beside",
    Severity.NOTICE,
    "{count!n} segment files lie outside of its positions {start!n} to {end!n}: {files}",
    "they were detached (before the start), or left by a truncation (behind the end); they are not"
    " replayed and take room",
    "aerolog recordings attach takes back what was detached, delete-detached deletes it",
)
LEFTOVERS = _kind(
    "deletions-left",
    Severity.NOTICE,
    "{count!n} files of an unfinished deletion are left: {files}",
    "an archive ended while it deleted; they only take room",
    "the next deletion of the same recording removes them; or remove them by hand",
)
MISNAMED = _kind(
    "segment-misnamed",
    Severity.WARNING,
    "{count!n} files end in .rec and are no segments: {files}",
    "the reference's archive refuses to start when it meets such a name",
    "move them out of the archive's folder",
)


def recordings_are_written(case: Case) -> Iterator[Finding]:
    """Is every recording that is said to be active written by somebody?"""
    archive = case.now.archive
    if archive is None:
        return
    alive = archive.is_alive(case.now.now_ms)
    for one in _valid(archive):
        if not one.descriptor.is_active:
            continue
        if not alive:
            end = one.recovered_end
            end = one.descriptor.start_position if end is None else end
            yield UNFINISHED.found(one.subject, end=end)
        elif archive.sees_counters and one.counter_position is None and _was_unwritten(one, case):
            yield UNWRITTEN.found(one.subject)


def _was_unwritten(one: RecordingSnapshot, case: Case) -> bool:
    """Whether the look before says the same: a recording that just starts or stops is none."""
    before = case.before.archive if case.before is not None else None
    if before is None:
        return case.before is None
    return any(
        was.descriptor.recording_id == one.descriptor.recording_id
        and was.descriptor.is_active
        and was.counter_position is None
        for was in before.recordings
    )


def segments_are_there(case: Case) -> Iterator[Finding]:
    """Is every segment there, and as long as it has to be?"""
    archive = case.now.archive
    if archive is None:
        return
    for one in _valid(archive):
        try:
            one.descriptor.check()
        except FileFormatError as error:
            yield CATALOG_DAMAGED.found(one.subject, text=str(error))
            continue
        yield from _missing(one)
        yield from _lengths(one)
        yield from _unreadable(one)


def _missing(one: RecordingSnapshot) -> Iterator[Finding]:
    descriptor, end = one.descriptor, one.end
    length = descriptor.segment_file_length
    first = descriptor.segment_base(descriptor.start_position)
    expected = max(-(-(end - first) // length), 0)
    there = sorted({s.base_position for s in one.segments if first <= s.base_position < end})
    there = [base for base in there if (base - first) % length == 0]
    if len(there) < expected:
        base = first
        for have in there:
            if have != base:
                break
            base += length
        beyond = next((have for have in there if have > base), end)
        yield SEGMENT_MISSING.found(
            one.subject,
            count=expected - len(there),
            expected=expected,
            file=f"{descriptor.recording_id}-{base}.rec",
            first=max(base, descriptor.start_position),
            last=min(beyond, end),
        )
    outside = [s for s in one.segments if not first <= s.base_position <= end]
    if outside:
        yield BESIDE.found(
            one.subject,
            count=len(outside),
            start=descriptor.start_position,
            end=end,
            files=names([segment.name for segment in outside]),
        )


def _lengths(one: RecordingSnapshot) -> Iterator[Finding]:
    whole = one.descriptor.segment_file_length
    for segment in one.segments:
        if not segment.is_readable:
            continue
        needed = max(min(one.end - segment.base_position, whole), 0)
        figures: dict[str, Figure] = {
            "file": segment.name,
            "length": segment.length,
            "expected": whole,
        }
        if segment.length < needed:
            yield SEGMENT_CUT.found(one.subject, needed=needed, **figures)
        elif segment.length != whole and one.counter_position is None:
            # A file that is just being made has its length in a moment.
            yield SEGMENT_LENGTH.found(one.subject, **figures)


def contents_are_sound(case: Case) -> Iterator[Finding]:
    """Are frames and catalog entries what they have to be, as far as they were looked at?"""
    archive = case.now.archive
    if archive is None:
        return
    for damage in archive.catalog_damages:
        yield CATALOG_DAMAGED.found(f"archive {archive.archive_dir}", text=damage.text)
    for one in _valid(archive):
        for damage in one.damages:
            if damage.kind != UNREADABLE:
                yield _damage(one, damage)


def _unreadable(one: RecordingSnapshot) -> Iterator[Finding]:
    unread = {
        segment.name: "a link to nothing" for segment in one.segments if not segment.is_readable
    }
    unread |= {damage.file: damage.text for damage in one.damages if damage.kind == UNREADABLE}
    if unread:
        yield SEGMENT_UNREADABLE.found(
            one.subject, count=len(unread), files=names(list(unread)), text=min(unread.values())
        )


def _damage(one: RecordingSnapshot, damage: Damage) -> Finding:
    kinds = {"checksum": CHECKSUM_WRONG, "descriptor": DESCRIPTOR_CHECKSUM}
    return kinds.get(damage.kind, SEGMENT_DAMAGED).found(
        one.subject,
        file=damage.file,
        offset=damage.offset,
        position=damage.position,
        text=damage.text,
        checksum=damage.text,
    )


def nothing_is_left_over(case: Case) -> Iterator[Finding]:
    """What lies in the folder and is of no use?"""
    archive = case.now.archive
    if archive is None:
        return
    subject = f"archive {archive.archive_dir}"
    invalid = [one for one in archive.recordings if one.state == RecordingState.INVALID]
    if invalid:
        yield INVALID.found(
            subject,
            count=len(invalid),
            ids=names([str(one.descriptor.recording_id) for one in invalid]),
            bytes=sum(s.disk_length for one in invalid for s in one.segments),
        )
    for kind, found in (
        (ORPHANS, archive.strays),
        (LEFTOVERS, archive.leftovers),
        (MISNAMED, archive.misnamed),
    ):
        if found:
            yield kind.found(subject, count=len(found), files=names(list(found)))


def _valid(archive: ArchiveSnapshot) -> Iterator[RecordingSnapshot]:
    return (one for one in archive.recordings if one.state == RecordingState.VALID)


CHECKS: Final = (
    recordings_are_written,
    segments_are_there,
    contents_are_sound,
    nothing_is_left_over,
)
