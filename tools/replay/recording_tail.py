"""What `aerolog tail` does: a recording from where it is asked for, then the live stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from aerolog.tools.connection.idle import sleeping_idle
from aerolog.tools.connection.liveness import Watch
from aerolog.tools.messages.subscription_output import payload_of
from aerolog.tools.terminal.console import remark
from aerolog.transport.concurrent.deadline import Interval
from aerolog.transport.errors import AerologError
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aerolog.archive.client import AeronArchive, PersistentSubscription, RecordingDescriptor
    from aerolog.tools.messages.message_output import MessageWriter

_BATCH: Final = 256
_ASK_EVERY_S: Final = 0.1
_SPY: Final = "aeron-spy:"
#: Source identity of what an archive has recorded on its own driver, not from the network.
_LOCAL_SOURCE: Final = "aeron:ipc"


@dataclass(frozen=True, slots=True)
class Tail:
    """What a tail prints: a recording, and the stream on which it goes on.

    Attributes:
        recording: the recording with which it begins.
        live_channel: the channel on which the recording's stream goes on.
        is_active: whether it is being recorded.
    """

    recording: RecordingDescriptor
    live_channel: str
    is_active: bool


def tail_of(archive: AeronArchive, recording: RecordingDescriptor, live: str | None) -> Tail:
    """A recording with the channel that its stream can be subscribed to.

    Args:
        archive: the archive that has the recording.
        recording: the recording to print.
        live: the channel, where it is known better.
    """
    active = archive.recording_position(recording.recording_id) is not None
    return Tail(recording, live or live_channel_of(recording), active)


def archive_options(archive: AeronArchive) -> dict[str, Any]:
    """What another client of the same archive is made with."""
    options = archive.options
    return {
        "request_channel": options.request_channel,
        "request_stream_id": options.request_stream_id,
        "response_channel": options.response_channel,
        "response_stream_id": options.response_stream_id,
        "message_timeout": options.message_timeout,
        "credentials": options.credentials,
        "name": options.name,
    }


def live_channel_of(recording: RecordingDescriptor) -> str:
    """Where the publication that is recorded can be subscribed to, and no other.

    What came to the archive's driver from the network can be received once more; what was published
    on it over UDP is listened to by a spy.
    """
    channel = ChannelUri.parse(recording.stripped_channel)
    if "session-id" not in channel:
        channel = channel.add_session_id(recording.session_id)
    text = str(channel)
    local = recording.source_identity == _LOCAL_SOURCE
    return f"{_SPY}{text}" if channel.is_udp and local and not text.startswith(_SPY) else text


def find_recording(archive: AeronArchive, channel: str, stream_id: int) -> RecordingDescriptor:
    """The newest recording of a channel and stream, one that is active before others.

    Raises:
        AerologError: there is none.
    """
    found = matching(archive.recordings(stream_id=stream_id), channel)
    if not found:
        raise AerologError(
            f"the archive has no recording of {channel} stream {stream_id}: "
            "aerolog recordings list shows what it has"
        )
    active = [one for one in found if archive.recording_position(one.recording_id) is not None]
    chosen = (active or found)[-1]
    if len(active) > 1:
        ids = ", ".join(str(one.recording_id) for one in active)
        remark(f"recordings {ids} are active: showing {chosen.recording_id}")
    return chosen


def matching(recordings: Iterable[RecordingDescriptor], channel: str) -> list[RecordingDescriptor]:
    """Recordings of a channel: those whose original channel has everything that it says."""
    wanted = ChannelUri.parse(channel)
    found = []
    for recording in recordings:
        try:
            original = ChannelUri.parse(recording.original_channel)
        except AerologError:
            continue  # whatever it is, it is not what was asked for
        if original.media == wanted.media and all(
            original.get(key) == wanted.get(key) for key in wanted
        ):
            found.append(recording)
    return found


def print_tail(
    archive: AeronArchive,
    stream: PersistentSubscription,
    tail: Tail,
    writer: MessageWriter,
    *,
    count: int | None,
    trouble: type[Any],
) -> None:
    """Prints messages until the recording has ended or there have been enough.

    Args:
        archive: tells when the recording ends.
        stream: gives the messages.
        tail: what it is that is printed.
        writer: prints them.
        count: return after so many.
        trouble: the kind of event that says that something has gone wrong.

    Raises:
        AerologError: the stream cannot go on, or the driver or archive is gone.
    """
    watch = Watch(archive.aeron, archive)
    idle = sleeping_idle()
    asks = Interval(_ASK_EVERY_S, at_once=False)
    while count is None or writer.written.messages < count:
        limit = _BATCH if count is None else min(_BATCH, count - writer.written.messages)
        batch = stream.poll_messages(limit)
        writer.write(batch, payload_of)
        for event in stream.take_events():
            if isinstance(event, trouble) and not event.is_fatal:
                remark(f"aerolog: {event.error}")
        watch()
        if not batch and asks.is_due() and _is_over(archive, stream, tail.recording.recording_id):
            return
        idle(len(batch))


def _is_over(archive: AeronArchive, stream: PersistentSubscription, recording_id: int) -> bool:
    """Whether the recording has stopped and all of it has been read."""
    stop = archive.stop_position(recording_id)
    return stop is not None and (stream.position is None or stream.position >= stop)
