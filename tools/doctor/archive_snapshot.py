"""Takes snapshots of an archive's folder: catalog, mark file, segment files and their content."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from aerolog.archive.format.layout import CATALOG_NAME, ENTRY_HEADER_LENGTH
from aerolog.archive.format.salvage import salvage_entries
from aerolog.archive.format.segment import parse_segment_name, recording_id_of
from aerolog.archive.format.stop_recovery import recover_stop_position
from aerolog.tools.doctor.segment_contents import Contents
from aerolog.tools.doctor.system_snapshot import (
    ArchiveSnapshot,
    Damage,
    OwnerMark,
    RecordingSnapshot,
)
from aerolog.tools.views import machine
from aerolog.tools.views.archive_view import segment_files
from aerolog.transport.errors import FileFormatError
from aerolog.transport.memory.filesystem import RealFileSystem

if TYPE_CHECKING:
    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.tools.views.archive_view import ArchiveView, RecordingView, SegmentFile
    from aerolog.tools.views.counters_snapshot import CountersSnapshot


def archive_snapshot(
    view: ArchiveView,
    found: list[RecordingView],
    now_ms: int,
    snapshots: tuple[CountersSnapshot, ...] = (),
    contents: Contents | None = None,
) -> ArchiveSnapshot:
    """Reads everything that checks want to know of an archive, alive or not.

    Args:
        view: the archive's folder, open for looking.
        found: what the view found in the catalog.
        now_ms: the time.
        snapshots: counters of its driver from before and behind the view's look at the catalog.
        contents: what is known of the files' contents.
    """
    contents = contents or Contents()
    mark = _mark(view)
    if mark is None or not mark.is_alive(now_ms):
        snapshots = ()  # what counters were left with is of no use
    positions: dict[int, int] = {}
    for snapshot in snapshots:
        for recording_id, one in view.recording_counters(snapshot).recordings.items():
            positions[recording_id] = one.position
    indexes = view.companions.indexes(found, deep=contents.is_deep)
    health = view.companions.health(found)
    recordings = [
        replace(
            _recording(view, one, positions, contents),
            index=indexes.get(one.recording_id),
            health=health.get(one.recording_id),
        )
        for one in found
    ]
    strays, leftovers, misnamed = _other_files(
        view.archive_dir, {one.descriptor.recording_id for one in recordings}
    )
    return ArchiveSnapshot(
        archive_dir=view.archive_dir,
        mark=mark,
        mark_fault=view.mark_fault or "",
        recordings=recordings,
        catalog_damages=[Damage("catalog", text, CATALOG_NAME) for text in view.damages],
        catalog_used=sum(_entry_length(one) for one in recordings),
        strays=strays,
        leftovers=leftovers,
        misnamed=misnamed,
        errors=view.errors(),
        disk=machine.disk(view.archive_dir),
        sees_counters=bool(snapshots),
        keeps_times=view.companions.keeps_times,
        is_verified=view.companions.is_verified,
        retention=view.companions.retention(),
    )


def damaged_snapshot(archive_dir: str) -> ArchiveSnapshot:
    """What can be told of a folder whose catalog is damaged in parts.

    Raises:
        FileNotFoundError: there is no catalog.
        FileFormatError: nothing in it can be read.
    """
    entries, damages = salvage_entries(archive_dir)
    segments = segment_files(archive_dir)
    recordings = []
    for entry in entries:
        descriptor = entry.descriptor
        files = tuple(segments.get(descriptor.recording_id, ()))
        end = _recovered_end(archive_dir, descriptor, files) if descriptor.is_active else None
        recordings.append(RecordingSnapshot(descriptor, entry.state, files, recovered_end=end))
    return ArchiveSnapshot(
        archive_dir=archive_dir,
        recordings=recordings,
        catalog_damages=[Damage("catalog", str(one), CATALOG_NAME) for one in damages],
        disk=machine.disk(archive_dir),
    )


def _recording(
    view: ArchiveView,
    one: RecordingView,
    positions: dict[int, int],
    contents: Contents,
) -> RecordingSnapshot:
    descriptor, end = one.descriptor, None
    if one.is_valid and descriptor.is_active and descriptor.recording_id not in positions:
        end = _recovered_end(view.archive_dir, descriptor, one.segments)
    return RecordingSnapshot(
        descriptor=descriptor,
        state=one.state,
        segments=one.segments,
        damages=contents.damages.get(descriptor.recording_id, ()),
        counter_position=positions.get(descriptor.recording_id),
        recovered_end=end,
    )


def _recovered_end(
    archive_dir: str, descriptor: RecordingDescriptor, segments: tuple[SegmentFile, ...]
) -> int | None:
    """Where the data of a recording ends that nobody stopped; None when that cannot be told.

    Where the last segment cannot be read, that is at least the position at which it begins.
    """
    names = [segment.name for segment in segments]
    try:
        descriptor.check()
        return recover_stop_position(RealFileSystem(), archive_dir, descriptor, names).position
    except FileFormatError:
        return None
    except OSError:
        return max(descriptor.start_position, *(segment.base_position for segment in segments))


def _mark(view: ArchiveView) -> OwnerMark | None:
    header, activity_ms = view.mark, view.activity_ms()
    if header is None or activity_ms is None:
        return None
    return OwnerMark(
        process=machine.process(header.pid),
        activity_ms=activity_ms,
        aeron_dir=header.aeron_directory,
        start_ms=header.start_timestamp,
        error_log_capacity=header.error_buffer_length,
    )


def _other_files(archive_dir: str, known: set[int]) -> tuple[list[str], list[str], list[str]]:
    """Files of no recording, of unfinished deletions, and names that look like segments only."""
    strays, leftovers, misnamed = [], [], []
    for name in sorted(os.listdir(archive_dir)):  # noqa: PTH208
        if name.endswith(".rec.del"):
            leftovers.append(name)
        if not name.endswith(".rec"):
            continue
        recording_id = recording_id_of(name)
        try:
            parse_segment_name(name)
        except FileFormatError:
            if "-" in name.lstrip("-"):
                misnamed.append(name)
            continue
        if recording_id not in known:
            strays.append(name)
    return strays, leftovers, misnamed


def _entry_length(one: RecordingSnapshot) -> int:
    return ENTRY_HEADER_LENGTH + len(one.descriptor.encode())
