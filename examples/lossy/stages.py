"""What happens: recorded far from the publisher, replayed back to it, both over the lossy wire."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

from examples.lossy.stream import Digest

from aerolog.archive.client import AeronArchive, SourceLocation
from aerolog.archive.format.archive_folder import ArchiveFolder
from aerolog.transport.client import Aeron, ExclusivePublication, OfferStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

T = TypeVar("T")
STREAM_ID = 77
BATCH = 512
STALL_TIMEOUT_S = 30.0


class CheckError(Exception):
    """Something came out that did not go in."""


def record(
    aeron: Aeron, archive: AeronArchive, channel: str, messages: Sequence[bytes]
) -> tuple[int, int]:
    """Publish from here, recorded there.

    Args:
        aeron: a client of the driver near.
        archive: a session with the archive far.
        channel: to the archive's place.
        messages: to publish.

    Returns:
        The recording id and its last position.
    """
    subscription_id = archive.start_recording(channel, STREAM_ID, SourceLocation.REMOTE)
    with aeron.add_exclusive_publication(channel, STREAM_ID) as publication:
        publication.wait_connected(STALL_TIMEOUT_S, writable=True)
        _publish(publication, messages)
        end = publication.position
        recording_id = _wait_for(
            "the archive records the session",
            lambda: archive.find_last_matching_recording(
                0, channel, STREAM_ID, publication.session_id
            ),
        )
        _wait_for(
            "everything is recorded",
            lambda: archive.recording_position(recording_id) == end or None,
        )
    archive.stop_recording_subscription(subscription_id)
    stop = _wait_for("the recording ends", lambda: archive.stop_position(recording_id))
    if stop != end:
        raise CheckError(f"published up to position {end}, recorded up to {stop}")
    return recording_id, end


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
            time.sleep(0.0001)


def replayed(archive: AeronArchive, recording_id: int) -> Digest:
    """The recording as it comes back to us."""
    return Digest.of(m.data for m in archive.read(recording_id, timeout=STALL_TIMEOUT_S))


def on_disk(archive_dir: Path, recording_id: int) -> Digest:
    """The recording as it stands in the archive's folder, with no archive involved."""
    with ArchiveFolder(archive_dir) as folder:
        return Digest.of(m.payload for m in folder.recording(recording_id).messages())


def _wait_for(what: str, ask: Callable[[], T | None]) -> T:
    deadline = time.monotonic() + STALL_TIMEOUT_S
    while (answer := ask()) is None:
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {STALL_TIMEOUT_S:g} s in vain until {what}")
        time.sleep(0.001)
    return answer
