"""Publishing many messages on a stream that an archive records, and saying how fast it went."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

from examples.driver_process import wait_for

from aerolog.archive.client import AeronArchive, SourceLocation
from aerolog.transport.client import Aeron, ExclusivePublication, OfferStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")

STALL_TIMEOUT_S = 30.0
MIB = 1024 * 1024
_BATCH = 4096
_REST_S = 0.0001


class CheckError(Exception):
    """Something came out that did not go in."""


def publish_and_record(
    aeron: Aeron,
    archive: AeronArchive,
    channel: str,
    stream_id: int,
    messages: Sequence[bytes],
    source: SourceLocation = SourceLocation.LOCAL,
) -> int:
    """Publish all messages on a recorded stream, then stop the publisher and the recording.

    Args:
        aeron: the publisher's client.
        archive: a session with the archive, here or at another driver.
        channel: the channel of the stream.
        stream_id: the stream.
        messages: to publish.
        source: whether the archive's driver is the publisher's, LOCAL, or another, REMOTE.

    Returns:
        The recording id.

    Raises:
        CheckError: the recording is not as long as what was published.
    """
    subscription_id = archive.start_recording(channel, stream_id, source)
    with aeron.add_exclusive_publication(channel, stream_id) as publication:
        publication.wait_connected(STALL_TIMEOUT_S, writable=True)
        session_id = publication.session_id
        recording_id = wait_for(
            f"the archive records session {session_id}",
            lambda: archive.find_last_matching_recording(0, channel, stream_id, session_id),
            STALL_TIMEOUT_S,
        )
        _publish(publication, messages)
        end = publication.position
        # The subscriber was connected before its recording began, and may be behind us.
        wait_for(
            "everything is recorded",
            lambda: archive.recording_position(recording_id) == end or None,
            STALL_TIMEOUT_S,
        )
    archive.stop_recording_subscription(subscription_id)
    stop = wait_for(
        "the recording ends", lambda: archive.stop_position(recording_id), STALL_TIMEOUT_S
    )
    if stop != end:
        raise CheckError(f"published up to position {end}, recorded up to {stop}")
    return recording_id


def _publish(publication: ExclusivePublication, messages: Sequence[bytes]) -> None:
    sent, deadline = 0, time.monotonic() + STALL_TIMEOUT_S
    while sent < len(messages):
        count = publication.offer_many(messages, start=sent, limit=_BATCH)
        if count:
            sent += count
            deadline = time.monotonic() + STALL_TIMEOUT_S
        elif publication.last_result not in {OfferStatus.BACK_PRESSURED, OfferStatus.ADMIN_ACTION}:
            raise CheckError(f"publishing stopped: {publication.last_result!r}")
        elif time.monotonic() > deadline:
            raise TimeoutError("nobody takes what is published")
        else:
            time.sleep(_REST_S)


def timed(name: str, work: Callable[[], T], count: int = 0, size: int = 0, *, width: int) -> T:
    """Do ``work`` and print how long ``count`` messages of ``size`` bytes in all took.

    Args:
        name: of the work, padded to ``width`` characters.
        work: is called once; what it returns is returned.
        count: messages, 0 for a line without rates.
        size: bytes of all messages.
        width: characters before the time.
    """
    begun = time.monotonic()
    result = work()
    seconds = time.monotonic() - begun
    rates = ""
    if count:
        rates = f"{count / seconds:>12,.0f} messages/s {size / MIB / seconds:>8,.1f} MiB/s"
    print(f"{name:<{width}}{seconds:>7.2f} s{rates}", flush=True)
    return result
