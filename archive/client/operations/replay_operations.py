"""Replays to a channel, to a subscription or as messages (spec archive-protocol 11, 21.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.archive.client import request
from aerolog.archive.client.client_base import ArchiveClientBase
from aerolog.archive.client.options import REPLAY_STREAM_ID
from aerolog.archive.client.replay.archive_replay import (
    ArchiveReplay,
    ReplayParams,
    replay_length,
)
from aerolog.transport.client.steps.caller import Parts, Steps, operation, series
from aerolog.transport.errors import AeronTimeoutError

if TYPE_CHECKING:
    from aerolog.archive.client.request import Channel
    from aerolog.transport.client.message import Message
    from aerolog.transport.client.options import ImageHandler
    from aerolog.transport.client.subscription import Subscription

READ_LIMIT: Final = 256


class ReplayOperations(ArchiveClientBase):
    """Start and stop replays, subscribe to them, read messages."""

    @operation
    def start_replay(
        self,
        recording_id: int,
        channel: Channel = "aeron:ipc",
        stream_id: int = REPLAY_STREAM_ID,
        *,
        position: int | None = None,
        length: int | None = None,
        follow: bool = True,
        limit_counter_id: int | None = None,
        file_io_max_length: int | None = None,
    ) -> Steps[int]:
        """Have the archive replay a recording onto a channel of the caller's.

        Args:
            recording_id: the recording to replay.
            channel: the channel that the archive publishes on.
            stream_id: the stream that the archive publishes on.
            position: where to begin; None is the start of the recording.
            length: how many bytes to replay; None is all that is recorded.
            follow: whether a replay without a length goes on with a live recording until that
                stops. When false, it ends at what is recorded now.
            limit_counter_id: a counter of the archive's driver; the replay does not pass its value.
            file_io_max_length: how many bytes the archive reads from a file at once, at most.

        Returns:
            The replay session id; its low 32 bits are the session id of the image.
        """
        bytes_wanted = replay_length(length, follow=follow)
        params = ReplayParams(
            recording_id, position, bytes_wanted, limit_counter_id, file_io_max_length
        )
        return self.conversation.ask(params.request(channel, stream_id))

    @operation
    def start_replay_to(
        self,
        subscription: Subscription,
        recording_id: int,
        *,
        position: int | None = None,
        length: int | None = None,
        follow: bool = True,
        limit_counter_id: int | None = None,
        file_io_max_length: int | None = None,
    ) -> Steps[int]:
        """Replay to a subscription of the caller's, over its response channel.

        The arguments are those of `start_replay`, with a subscription whose channel has
        ``control-mode=response`` in place of channel and stream.

        Returns:
            The replay session id.
        """
        bytes_wanted = replay_length(length, follow=follow)
        params = ReplayParams(
            recording_id, position, bytes_wanted, limit_counter_id, file_io_max_length
        )
        return ArchiveReplay(self.conversation, params).ask_over_response(subscription)

    @operation
    def replay(
        self,
        recording_id: int,
        position: int | None = None,
        length: int | None = None,
        *,
        follow: bool = True,
        channel: Channel | None = None,
        stream_id: int = REPLAY_STREAM_ID,
        on_image: ImageHandler | None = None,
        on_image_gone: ImageHandler | None = None,
        limit_counter_id: int | None = None,
        file_io_max_length: int | None = None,
    ) -> Steps[Subscription]:
        """Start a replay and subscribe to it.

        The arguments are those of `start_replay` and `Aeron.add_subscription`. Closing the
        subscription ends the replay. Without a channel the replay comes by the medium and to the
        host of the responses, to a port of its own. With ``control-mode=response`` it comes over a
        response channel. For an endpoint with port 0 the system chooses the port.
        """
        bytes_wanted = replay_length(length, follow=follow)
        params = ReplayParams(
            recording_id, position, bytes_wanted, limit_counter_id, file_io_max_length
        )
        return ArchiveReplay(
            self.conversation,
            params,
            channel,
            stream_id,
            on_image=on_image,
            on_image_gone=on_image_gone,
        ).open()

    @series
    def read(
        self,
        recording_id: int,
        start: int | None = None,
        stop: int | None = None,
        *,
        stream_id: int = REPLAY_STREAM_ID,
        timeout: float | None = 10.0,
    ) -> Parts[Message]:
        """The messages of a recording from one position to another.

        Args:
            recording_id: the recording to read.
            start: a position at which a message begins; None is the start of the recording.
            stop: the position at which to end; None is the end of what is recorded now.
            stream_id: the stream that the archive publishes on.
            timeout: seconds without a message after which the iteration ends in an error.

        Raises:
            ArchiveError: the archive could not go on, for example because a file is damaged.
            AeronTimeoutError: the replay stalled, or another client ended it.
        """
        begin, end = start, stop
        conversation = self.conversation
        if begin is None:
            begin = yield from conversation.ask_position("start position", recording_id)
        if end is None:
            end = yield from conversation.ask_position("max recorded position", recording_id)
        if begin is None or end is None or begin >= end:
            return
        params = ReplayParams(recording_id, begin, end - begin)
        replay = ArchiveReplay(conversation, params, stream_id=stream_id)
        with (yield from replay.open()) as subscription:
            deadline = conversation.deadline_ns(timeout)
            while True:
                over = replay.is_over
                messages = subscription.poll_messages(READ_LIMIT)
                conversation.pump()  # an archive ends sessions that do not read its pings
                if messages:
                    yield messages
                    if messages[-1].position >= end:
                        return
                    deadline = conversation.deadline_ns(timeout)
                elif over or conversation.is_late(deadline):
                    break
                else:
                    yield 0
            conversation.pump()
            if replay.position < end:
                replay.check()
                raise AeronTimeoutError(
                    f"replay of recording {recording_id} ended at {replay.position}, before {end}"
                )

    @operation
    def stop_replay(self, replay_session_id: int) -> Steps[None]:
        """End a replay; an unknown one is no error."""
        return self.conversation.ask(request.stop_replay(replay_session_id))

    @operation
    def stop_all_replays(self, recording_id: int | None = None) -> Steps[None]:
        """End the replays of a recording, or all."""
        return self.conversation.ask(request.stop_all_replays(recording_id))
