"""Checks of time indexes: whether recordings can be found by time."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from aerolog.archive.protocol.counter_types import ArchiveCounterType
from aerolog.archive.protocol.enums import RecordingState
from aerolog.archive.time_index import SOURCE_CLOCK, SOURCE_DESCRIPTOR
from aerolog.tools.doctor.figure_text import names
from aerolog.tools.doctor.findings import Area, FindingKind, Severity
from aerolog.transport.time_units import NS_PER_MS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aerolog.tools.doctor.findings import Finding
    from aerolog.tools.doctor.system_snapshot import ArchiveSnapshot, Case, RecordingSnapshot

#: An index is written at the latest a few times a second while its recording grows.
_BEHIND_MS: Final = 5_000
#: Type of the archive's counter.

_kind: Final = partial(FindingKind, Area.TIMES)

MISSING = _kind(
    "index-missing",
    Severity.NOTICE,
    "{count} recordings have no time index: {ids}",
    "they came from another archive, or were made without one (aerolog.archive.time.index=false),"
    " or its file was removed; a time in them is known by the start and the end of the recording"
    " alone",
    "aerolog recordings times ID --archive-dir DIR --rebuild makes one, as far as the recording"
    " tells its times",
)
DAMAGED = _kind(
    "index-damaged",
    Severity.WARNING,
    "the time index is damaged: {text}",
    "the disk, or something that writes to the folder, has damaged it; no data is lost, but what"
    " is found by time is found less exactly",
    "aerolog recordings times {id} --archive-dir DIR --rebuild makes it anew",
)
UNREADABLE = _kind(
    "index-unreadable",
    Severity.WARNING,
    "the time index cannot be read: {text}",
    "permission is wanting, or the disk fails or is busy; until it can be read, a time in the"
    " recording is known by its start and its end alone",
    "look as the user that owns it, and at the disk (smartctl -a, dmesg); one made anew would have"
    " lost its times",
)
STALE = _kind(
    "index-stale",
    Severity.WARNING,
    "the time index beside it is not used: {text}",
    "it is of another recording that had this id, of what the recording was before, or of another"
    " version; a time in it is known by the start and the end of the recording alone",
    "aerolog recordings times {id} --archive-dir DIR --rebuild makes it anew",
)
BEHIND = _kind(
    "index-behind",
    Severity.WARNING,
    "the time index ends at position {end!n}, the recording was at {position!n} a look ago: no"
    " entry for {age!m}",
    "the thread that writes it does not get its turn, or its disk is slow or full; what comes now"
    " is found by time less exactly, the recording itself goes on",
    "see the archive's error log (aerolog errors), the disk and the load of the machine",
)
NOTES_LOST = _kind(
    "index-notes-lost",
    Severity.NOTICE,
    "{count!n} times found no room on their way to the indexes ({new!n} of them while we looked)",
    "the thread that writes the indexes did not take them in time; what was recorded then is found"
    " by time less exactly, the recordings themselves are whole",
    "see the disk and the load of the machine, if it goes on",
)


def recordings_have_indexes(case: Case) -> Iterator[Finding]:
    """Has every recording a time index, where the archive keeps them?"""
    archive = case.now.archive
    if archive is None or not archive.keeps_times:
        return
    without = [
        one.descriptor.recording_id
        for one in archive.recordings
        if one.state == RecordingState.VALID and one.index is None and _has_data(one)
    ]
    if without:
        yield MISSING.found(
            f"archive {archive.archive_dir}",
            count=len(without),
            ids=names([str(recording_id) for recording_id in without]),
        )


def indexes_can_be_used(case: Case) -> Iterator[Finding]:
    """Are the indexes whole, and those of the recordings beside which they lie?"""
    archive = case.now.archive
    if archive is None:
        return
    for one in archive.recordings:
        if one.state == RecordingState.VALID and one.index is not None and one.index.problems:
            text = "; ".join(one.index.problems)
            kind = STALE if one.index.source == SOURCE_DESCRIPTOR else DAMAGED
            kind = UNREADABLE if one.index.is_unreadable else kind
            yield kind.found(one.subject, id=one.descriptor.recording_id, text=text)


def indexes_keep_up(case: Case) -> Iterator[Finding]:
    """Does the index of a recording that grows grow with it?"""
    archive = case.now.archive
    before = case.before.archive if case.before is not None else None
    if archive is None or before is None or not archive.is_alive(case.now.now_ms):
        return
    positions = _positions(before)
    for one in archive.recordings:
        was_at = positions.get(one.descriptor.recording_id)
        if was_at is None or one.counter_position is None or one.index is None:
            continue
        end, last_ns = one.index.end_position, one.index.last_time_ns
        if end is None or last_ns is None or end >= was_at:
            continue
        age_ms = case.now.now_ms - last_ns // NS_PER_MS
        if one.index.source == SOURCE_CLOCK and age_ms >= _BEHIND_MS:
            yield BEHIND.found(one.subject, end=end, position=was_at, age=age_ms)


def no_times_are_lost(case: Case) -> Iterator[Finding]:
    """Do all times come to the index?"""
    driver = case.driver
    if driver is None:
        return
    for counter in driver.of_type(ArchiveCounterType.TIME_NOTES_LOST):
        if counter.value > 0:
            new = case.growth_of(counter)
            severity = Severity.WARNING if new else None
            yield NOTES_LOST.found(counter.label, severity, count=counter.value, new=new)


def _positions(archive: ArchiveSnapshot) -> dict[int, int]:
    return {
        one.descriptor.recording_id: one.counter_position
        for one in archive.recordings
        if one.counter_position is not None
    }


def _has_data(one: RecordingSnapshot) -> bool:
    return one.end > one.descriptor.start_position


CHECKS: Final = (
    recordings_have_indexes,
    indexes_can_be_used,
    indexes_keep_up,
    no_times_are_lost,
)
