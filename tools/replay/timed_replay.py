"""What `aerolog replay` does by time: messages when they are due."""

from __future__ import annotations

import select
import sys
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from aerolog.tools.connection.liveness import Watch
from aerolog.tools.messages.subscription_output import recorded_payload_of
from aerolog.tools.replay.pace_keys import pace_keys
from aerolog.tools.replay.replayer import ReplayPosition, wait_replayed
from aerolog.tools.terminal.console import remark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from contextlib import AbstractContextManager

    from aerolog.archive.client.replay.channel_replay import ChannelReplay
    from aerolog.archive.client.replay.time_range import TimedRange
    from aerolog.archive.client.replay.timed_replay import TimedReplay
    from aerolog.tools.messages.message_output import MessageWriter


def print_timed(
    replay: TimedReplay,
    writer: MessageWriter,
    *,
    notes: bool = True,
    watch: Callable[[], object] | None = None,
    bar: Callable[[TimedRange], AbstractContextManager[Callable[[int], object]]] | None = None,
) -> None:
    """Print messages when they are due; keys of the terminal change the pace.

    Args:
        replay: the messages.
        writer: prints them.
        notes: remark what one should know of the times.
        watch: raises when there is nothing to wait for any more.
        bar: shows how much of a range is done; called with the position reached.

    Raises:
        AerologError: the replay could not go on.
        BrokenPipeError: who read the output has gone.
    """
    told = Notes() if notes else None
    is_empty = True
    reader = OutputReader()
    on_position: Callable[[int], object] | None = None

    def on_wait() -> None:
        reader.check()
        if watch is not None:
            watch()

    with ExitStack() as stack:
        stack.enter_context(pace_keys(replay))
        for batch in replay.batches(on_wait):
            if writer.recording is None and replay.range is not None:
                writer.recording = replay.range.descriptor
                writer.has_times = replay.has_index
                if told is not None:
                    told(replay.notes)
                if bar is not None:
                    on_position = stack.enter_context(bar(replay.range))
            writer.write(batch, recorded_payload_of)
            is_empty = False
            if on_position is not None:
                on_position(batch[-1].position)
    if told is not None:
        told(replay.notes)
    if is_empty and replay.range is not None and replay.range.is_bounded:
        remark(replay.range.emptiness)


def run_onto_channel(
    replay: ChannelReplay, stream_id: int, on_position: Callable[[int], object]
) -> None:
    """Let a replay that has begun onto its channel, at its pace; keys of the terminal change it.

    Args:
        replay: a replay that has begun.
        stream_id: the stream to which the replay goes.
        on_position: called with the position of its publication here.

    Raises:
        AerologError: the driver or the archive is gone, or the archive could not go on.
    """
    archive, session_id = replay.archive, replay.session_id
    if session_id is None:
        return
    watch = Watch(archive.aeron, archive)
    shown = ReplayPosition(archive.aeron, session_id, stream_id)

    def look() -> bool:
        watch()
        gone = shown.look()
        if shown.position is not None:
            on_position(shown.position)
        return gone

    with pace_keys(replay):
        if replay.run(look):
            wait_replayed(archive, session_id, stream_id, on_position, on_unseen=lambda: 0.0)


class Notes:
    """Remarks, each of which is made once."""

    def __init__(self) -> None:
        self._made: set[str] = set()

    def __call__(self, notes: Iterable[str]) -> None:
        """Make those that have not been made."""
        for note in notes:
            if note not in self._made:
                self._made.add(note)
                remark(note)


class OutputReader:
    """Notices that nobody reads standard output any more, before there is something to write."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self._fd = -1
        with suppress(OSError, ValueError):  # no file behind it
            self._fd = sys.stdout.fileno()
            self._poll.register(self._fd, 0)

    def check(self) -> None:
        """Raise when the other end of the pipe is closed.

        Raises:
            BrokenPipeError: it is.
        """
        if self._fd >= 0 and any(events & select.POLLERR for _, events in self._poll.poll(0)):
            raise BrokenPipeError
