"""Checks of what verification has found: segments that are not what they were."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from aerolog.archive.format.segment import segment_file_name
from aerolog.archive.protocol.enums import RecordingState
from aerolog.tools.doctor.figure_text import names
from aerolog.tools.doctor.findings import Area, FindingKind, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aerolog.tools.doctor.findings import Finding
    from aerolog.tools.doctor.system_snapshot import Case, RecordingSnapshot

_SAVE: Final = (
    "aerolog verify {id} --repair-plan says what can be saved, and does nothing; copy the segments"
    " from a replica or a backup where there is one"
)

_kind: Final = partial(FindingKind, Area.HEALTH)

DAMAGED = _kind(
    "health-damaged",
    Severity.CRITICAL,
    "verification found damage in {count} segments: {files}: {text}",
    "the disk or something that writes to the folder has damaged them; a replay that comes there"
    " ends with an error",
    _SAVE,
)
CHANGED = _kind(
    "health-changed",
    Severity.CRITICAL,
    "{count} closed segments are not what they were when they were verified: {files}: {text}",
    "closed segments are never written to again: somebody has replaced or changed them, or the disk"
    " has; their frames may look right and hold other data",
    _SAVE,
)
MISSING = _kind(
    "health-missing",
    Severity.CRITICAL,
    "{count} segments that were verified are gone: {files}",
    "somebody has deleted or moved them behind the archive's back; a replay that comes there ends"
    " with an error",
    _SAVE,
)
UNREAD = _kind(
    "health-segments-unreadable",
    Severity.WARNING,
    "{count} segments could not be read when they were to be verified: {files}: {text}",
    "permission was wanting, the disk failed or was busy, or a link led to what is not mounted:"
    " nothing tells whether they are sound or damaged",
    "look at who may read them, at the disk (smartctl -a, dmesg) and the mounts (findmnt), then run"
    " aerolog verify {id}",
)
UNREADABLE = _kind(
    "health-unreadable",
    Severity.NOTICE,
    "what is known of its segments cannot be read: {text}",
    "the file was cut off, damaged, belongs to another recording, or may not be read; no data is"
    " lost, but what had been verified is verified anew",
    "aerolog verify {id} --note writes it anew, but for one that may be sound and cannot be read:"
    " look at who may read it, and at the disk",
)
UNVERIFIED = _kind(
    "never-verified",
    Severity.NOTICE,
    "{count} recordings have closed segments that were never verified: {ids}",
    "verification has not come to them yet, or is switched off again; damage in them is found when"
    " somebody replays them",
    "let the archive verify (aerolog.archive.verify.rate), or run aerolog verify",
)


_STATES: Final = {
    "damaged": DAMAGED,
    "changed": CHANGED,
    "missing": MISSING,
    "unreadable": UNREAD,
}


def verified_segments_are_sound(case: Case) -> Iterator[Finding]:
    """Are closed segments still what they were?"""
    archive = case.now.archive
    if archive is None:
        return
    for one in archive.recordings:
        if one.state != RecordingState.VALID or one.health is None:
            continue
        yield from _faults(one)
        if one.health.problems:
            yield UNREADABLE.found(
                one.subject,
                id=one.descriptor.recording_id,
                text="; ".join(one.health.problems),
            )


def _faults(one: RecordingSnapshot) -> Iterator[Finding]:
    assert one.health is not None
    for state, kind in _STATES.items():
        faults = [fault for fault in one.health.faults if fault.state == state]
        if faults:
            recording_id = one.descriptor.recording_id
            yield kind.found(
                one.subject,
                id=recording_id,
                count=len(faults),
                files=names([segment_file_name(recording_id, f.base_position) for f in faults]),
                position=faults[0].base_position,
                text=faults[0].text,
            )


def recordings_are_verified(case: Case) -> Iterator[Finding]:
    """Was every closed segment verified, where somebody verifies?"""
    archive = case.now.archive
    if archive is None or not archive.is_verified:
        return
    waiting = [
        one.descriptor.recording_id
        for one in archive.recordings
        if one.state == RecordingState.VALID and _is_waiting(one)
    ]
    if waiting:
        yield UNVERIFIED.found(
            f"archive {archive.archive_dir}",
            count=len(waiting),
            ids=names([str(recording_id) for recording_id in waiting]),
        )


def _is_waiting(one: RecordingSnapshot) -> bool:
    if one.health is not None:
        return one.health.segments.get("unchecked", 0) > 0
    return one.end - one.descriptor.start_position >= one.descriptor.segment_file_length


CHECKS: Final = (verified_segments_are_sound, recordings_are_verified)
