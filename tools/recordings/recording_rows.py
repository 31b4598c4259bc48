"""Recordings as commands show them: the catalog's fields by name, and how far each one is."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from aerolog.archive.format.descriptor import RecordingDescriptor
from aerolog.transport.errors import ArchiveError, ArchiveErrorCode
from aerolog.transport.time_units import NS_PER_MS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aerolog.archive.client import AeronArchive, RecordingSubscription
    from aerolog.archive.format.archive_folder import Recording

_PAGE = 256
_OF_THE_SESSION = {"control_session_id", "correlation_id"}
_NAMES = tuple(f.name for f in fields(RecordingDescriptor) if f.name not in _OF_THE_SESSION)

#: Columns of the list; JSON has the rest as well.
LIST_COLUMNS = (
    "recording_id",
    "stream_id",
    "session_id",
    "start_position",
    "position",
    "active",
    "start_timestamp",
    "stop_timestamp",
    "original_channel",
)
RIGHT_COLUMNS = ("recording_id", "stream_id", "session_id", "start_position", "position")


def row(
    descriptor: RecordingDescriptor,
    position: int | None,
    *,
    active: bool,
    unfinished: bool = False,
) -> dict[str, Any]:
    """The fields of a recording.

    Args:
        descriptor: the descriptor of the recording.
        position: the position up to which it is recorded now.
        active: whether it is being recorded.
        unfinished: whether its archive has ended without stopping it.
    """
    values = {name: getattr(descriptor, name) for name in _NAMES}
    if descriptor.is_active:
        values["stop_position"] = values["stop_timestamp"] = None
    return {**values, "position": position, "active": active, "unfinished": unfinished}


def shown(values: dict[str, Any]) -> dict[str, Any]:
    """The fields as people read them: times in ISO form, yes, no and unfinished."""
    from aerolog.transport.config.times import format_time

    result = dict(values)
    for name in ("start_timestamp", "stop_timestamp"):
        if result[name] is not None:
            result[name] = format_time(result[name] * NS_PER_MS)
    unfinished = result.pop("unfinished")
    result["active"] = "unfinished" if unfinished else "yes" if result["active"] else "no"
    return result


def row_of_archive(archive: AeronArchive, descriptor: RecordingDescriptor) -> dict[str, Any]:
    """A recording of a running archive."""
    if not descriptor.is_active:
        return row(descriptor, descriptor.stop_position, active=False)
    # It may have stopped since it was listed: then there is a stop position by now.
    position = archive.recording_position(descriptor.recording_id)
    if position is not None:
        return row(descriptor, position, active=True)
    return row(descriptor, archive.stop_position(descriptor.recording_id), active=False)


def row_of_folder(recording: Recording) -> dict[str, Any]:
    """A recording of a folder."""
    live = recording.is_live
    unfinished = recording.descriptor.is_active and not live
    return row(recording.descriptor, recording.end_position, active=live, unfinished=unfinished)


def rows_of_folder(archive_dir: str, from_id: int, damages: list[str]) -> Iterator[dict[str, Any]]:
    """The recordings of a folder that can be read, by id.

    Args:
        archive_dir: the folder.
        from_id: the first id wanted.
        damages: gets what cannot be read, in words.

    Raises:
        FileNotFoundError: there is no catalog.
        FileFormatError: the catalog's header is damaged, or of another version.
    """
    from aerolog.tools.connection.archive_folder import readable_recordings

    def note(recording_id: int, error: Exception) -> None:
        what = "the catalog" if recording_id < 0 else f"recording {recording_id}"
        damages.append(f"{what} is damaged: {error}")

    yield from map(row_of_folder, readable_recordings(archive_dir, note, from_id=from_id))


def known_recording(archive: AeronArchive, recording_id: int) -> RecordingDescriptor:
    """The descriptor of a recording.

    Raises:
        ArchiveError: UNKNOWN_RECORDING.
    """
    descriptor = archive.list_recording(recording_id)
    if descriptor is None:
        raise ArchiveError(
            ArchiveErrorCode.UNKNOWN_RECORDING, f"unknown recording id: {recording_id}"
        )
    return descriptor


def recording_subscriptions(
    archive: AeronArchive, channel: str, stream_id: int | None
) -> Iterator[RecordingSubscription]:
    """What the archive listens to now, by channels that contain a text and by stream."""
    at = 0
    while True:
        found = archive.list_recording_subscriptions(
            from_index=at, count=_PAGE, channel_fragment=channel, stream_id=stream_id
        )
        yield from found
        if len(found) < _PAGE:
            return
        at += _PAGE
