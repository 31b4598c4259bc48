"""What `aerolog replay` does with several recordings: messages in time order, or one stream."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, cast

from aerolog.archive.client.replay.paced_replay import PaceControl, both, pace_lists
from aerolog.tools.messages.message_output import MessageFormat, MessageWriter
from aerolog.tools.messages.subscription_output import recorded_payload_of
from aerolog.tools.replay.pace_keys import pace_keys
from aerolog.tools.replay.timed_replay import Notes, OutputReader
from aerolog.tools.terminal.console import print_json_line, remark, say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import BinaryIO

    from aerolog.archive.client import AeronArchive, MergedReplay
    from aerolog.archive.client.replay.timed_message import TimedMessage
    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.tools.command_line.options import ArchiveOptions
    from aerolog.tools.replay.time_options import TimedOptions
    from aerolog.transport.client import ExclusivePublication

SEND_TIMEOUT_S = 10.0


class MergedWriter(MessageWriter):
    """Prints messages of several recordings, each with its recording.

    In text and hex a line begins with the recording's id and a colon. Raw bytes name nothing.
    """

    def __init__(self, form: MessageFormat, *, out: BinaryIO | None = None) -> None:
        super().__init__(form, out=out)
        self._times: dict[int, bool] = {}

    def tell_times(self, recordings: Sequence[int], indexed: Sequence[bool]) -> None:
        """Take note of the recordings whose times are from an index: JSON has no others."""
        self._times = dict(zip(recordings, indexed, strict=True))

    def _encoder(self, form: MessageFormat) -> Callable[[Any, bytes], bytes]:
        encode = super()._encoder(form)
        if form in {MessageFormat.RAW, MessageFormat.JSON}:
            return encode
        return lambda row, data: b"%d: " % row.recording_id + encode(row, data)

    def _json(self, row: Any, data: bytes) -> bytes:
        # A message has what is asked of its recording here: id, session and stream.
        self.recording = cast("RecordingDescriptor", row)
        self.has_times = self._times.get(row.recording_id, False)
        return super()._json(row, data)


class PacedMerge(PaceControl):
    """A merge with a pace that keys change."""

    def __init__(self, merged: MergedReplay, speed: float | None) -> None:
        super().__init__(speed)
        self._merged = merged

    def batches(self, on_wait: Callable[[], object]) -> Iterator[list[TimedMessage]]:
        """Messages in lists: each has what is due at the time.

        Args:
            on_wait: called while a message is waited for; may raise.
        """
        turn = both(self._merged.turn, on_wait)
        return pace_lists(self._pacer, self._merged.parts(), turn)


@contextmanager
def open_merge(
    recordings: Sequence[int],
    options: ArchiveOptions,
    archive_dir: str | None,
    timed: TimedOptions,
    *,
    follow: bool,
) -> Iterator[tuple[MergedReplay, Callable[[], object]]]:
    """The merge that the command line asks for, and what raises when the archive is gone."""
    from aerolog.archive.client import MergedReplay
    from aerolog.tools.connection.clients import open_archive
    from aerolog.tools.connection.liveness import Watch

    times = timed.times()
    with ExitStack() as stack:
        place: str | AeronArchive
        watch: Callable[[], object] = _nothing
        if archive_dir is not None:
            place = archive_dir
        else:
            place = client = stack.enter_context(open_archive(options))
            # Errors of replays are the merge's business.
            watch = Watch(client.aeron, client, hears_errors=False)
        merged = MergedReplay(
            place,
            recordings,
            times.start_ns,
            times.end_ns,
            last_ns=times.last_ns,
            follow=follow,
        )
        yield stack.enter_context(merged), watch


def print_merged(
    merged: MergedReplay,
    recordings: Sequence[int],
    speed: float | None,
    writer: MergedWriter,
    watch: Callable[[], object],
) -> None:
    """Print merged messages when they are due; keys of the terminal change the pace.

    Raises:
        AerologError: the merge could not go on.
        BrokenPipeError: who read the output has gone.
    """
    reader = OutputReader()
    for batch in _due(merged, speed, both(reader.check, watch)):
        writer.tell_times(recordings, merged.indexed)
        writer.write(batch, recorded_payload_of)


def _due(
    merged: MergedReplay, speed: float | None, on_wait: Callable[[], object]
) -> Iterator[list[TimedMessage]]:
    """Messages when they are due, with remarks on their times."""
    told = Notes()
    paced = PacedMerge(merged, speed)
    is_empty = True
    with pace_keys(paced):
        for batch in paced.batches(on_wait):
            told(merged.notes)
            is_empty = False
            yield batch
    told(merged.notes)
    if is_empty:
        _say_empty(merged)


def _say_empty(merged: MergedReplay) -> None:
    for part in merged.ranges:
        if part.is_bounded:
            remark(part.emptiness)


def publish_merged(
    merged: MergedReplay,
    recordings: Sequence[int],
    speed: float | None,
    publication: ExclusivePublication,
    watch: Callable[[], object],
    *,
    as_json: bool,
) -> None:
    """Publish merged messages onto a stream; the reserved value names the recording of each.

    Raises:
        AerologError: the merge could not go on.
        NotConnectedError: nobody has subscribed.
        BackPressuredError: the subscribers made no room.
    """
    names = ", ".join(str(one) for one in recordings)
    if not as_json:
        say(f"merging recordings {names}, session {publication.session_id}")
    publication.wait_connected(SEND_TIMEOUT_S)
    messages = payload_bytes = 0
    if speed is None:
        done = merged.publish(publication, timeout=SEND_TIMEOUT_S, on_batch=lambda _: watch())
        messages, payload_bytes = done.messages, done.payload_bytes
        Notes()(merged.notes)
        if not messages:
            _say_empty(merged)
    else:
        for batch in _due(merged, speed, watch):
            messages += len(batch)
            payload_bytes += _send(publication, batch)
    if as_json:
        print_json_line(
            {
                "recording_ids": list(recordings),
                "channel": publication.channel,
                "stream_id": publication.stream_id,
                "session_id": publication.session_id,
                "messages": messages,
                "payload_bytes": payload_bytes,
                "position": publication.position,
            }
        )
    else:
        say(f"published {messages} messages, position {publication.position}")


def _send(publication: ExclusivePublication, batch: Iterable[TimedMessage]) -> int:
    payload_bytes = 0
    for message in batch:
        publication.send(
            message.payload, timeout=SEND_TIMEOUT_S, reserved_value=message.recording_id
        )
        payload_bytes += len(message.payload)
    return payload_bytes


def _nothing() -> None: ...
