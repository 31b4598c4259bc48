"""Replay: onto a channel, to a subscription, as messages (spec archive-protocol 11, 21.5)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from aerolog.archive.client import request
from aerolog.archive.client.caller import Parts, Steps, operation, series
from aerolog.archive.client.client_base import ArchiveClientBase
from aerolog.archive.client.options import REPLAY_STREAM_ID
from aerolog.archive.client.replay.replay_request import (
    ReplayChannel,
    ReplayOverResponse,
    ReplayParams,
    replay_length,
)
from aerolog.transport.client import ChannelStatus
from aerolog.transport.errors import AerologError, AeronTimeoutError

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from aerolog.archive.client.request import Channel
    from aerolog.transport.client import Image
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
        """Replay onto a channel of your own.

        Args:
            recording_id: what to replay.
            channel: where the archive shall publish.
            stream_id: where the archive shall publish.
            position: where to begin; None is the start of the recording.
            length: bytes; None is all there is.
            follow: without a length: go on with a live recording until it stops; else end at what
                is recorded now.
            limit_counter_id: a counter whose value the replay does not pass.
            file_io_max_length: bytes that the archive reads at once.

        Returns:
            The replay session id; its low 32 bits are the session id of the image.
        """
        params = ReplayParams(
            recording_id,
            position,
            replay_length(length, follow=follow),
            limit_counter_id,
            file_io_max_length,
        )
        return self._ask(params.call(channel, stream_id))

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
        """Replay to a subscription of your own over its response channel.

        Args:
            subscription: whose channel has ``control-mode=response``.
            recording_id: what to replay; it and the rest as of `start_replay`.
            position: where to begin.
            length: bytes.
            follow: go on with a live recording.
            limit_counter_id: a counter whose value the replay does not pass.
            file_io_max_length: bytes that the archive reads at once.

        Returns:
            The replay session id.
        """
        params = ReplayParams(
            recording_id,
            position,
            replay_length(length, follow=follow),
            limit_counter_id,
            file_io_max_length,
        )
        return self._replay_to(subscription, params)

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
        """Replay and subscribe to it; arguments as `start_replay` and `Aeron.add_subscription`.

        Close the subscription to end the replay. Without a channel the replay comes where the
        responses come, to a port of its own. With ``control-mode=response`` it comes over a
        response channel; of an endpoint with port 0 the system chooses the port.
        """
        params = ReplayParams(
            recording_id,
            position,
            replay_length(length, follow=follow),
            limit_counter_id,
            file_io_max_length,
        )
        wanted = self.options.default_replay_channel if channel is None else channel
        return self._replayed(
            params,
            ReplayChannel(wanted),
            partial(
                self.aeron.add_subscription_async,
                stream_id=stream_id,
                on_image=on_image,
                on_image_gone=on_image_gone,
            ),
            stream_id,
        )

    def _replayed(
        self,
        params: ReplayParams,
        wanted: ReplayChannel,
        subscribe: Callable[[str], Future[Subscription]],
        stream_id: int,
    ) -> Steps[Subscription]:
        """A subscription to a replay that has begun."""
        if wanted.is_response_mode:
            subscription = yield from self._added(subscribe(str(wanted)))
            return (yield from _or_close(subscription, self._replay_to(subscription, params)))
        if wanted.has_wildcard_port:
            session = yield from self._added(self.aeron.next_session_id_async(stream_id))
            subscription = yield from self._added(subscribe(wanted.with_session(session)))
            return (yield from _or_close(subscription, self._replay_to_port(subscription, params)))
        replay_session_id = yield from self._ask(params.call(str(wanted), stream_id))
        return (yield from self._added(subscribe(wanted.for_session(replay_session_id))))

    def _replay_to(self, subscription: Subscription, params: ReplayParams) -> Steps[int]:
        """Ask for a replay over the response channel that a subscription has opened."""
        token = yield from self._ask(request.replay_token(params.recording_id))
        call = params.call(subscription.channel, subscription.stream_id, token)
        with ReplayOverResponse(self.aeron, self._usable(), subscription, call) as asking:
            while not asking.poll():
                yield 0
            return asking.result()

    def _replay_to_port(self, subscription: Subscription, params: ReplayParams) -> Steps[int]:
        """Ask for a replay to the port that the system has chosen for a subscription."""
        deadline = self._deadline_ns(self.options.message_timeout)
        while (channel := subscription.resolved_channel) is None:
            if subscription.channel_status is ChannelStatus.ERRORED:
                raise AerologError(f"the driver could not open {subscription.channel}")
            if self._is_late(deadline):
                raise AeronTimeoutError(
                    f"the driver does not say which port {subscription.channel} has"
                )
            yield 0
        return (yield from self._ask(params.call(channel, subscription.stream_id)))

    @series
    def read(
        self,
        recording_id: int,
        start: int | None = None,
        stop: int | None = None,
        *,
        timeout: float | None = 10.0,
    ) -> Parts[Message]:
        """Messages of a recording from one position to another, as it stands now.

        Args:
            recording_id: what to read.
            start: a position at which a message begins; None is the start of the recording.
            stop: where to end; None is what is recorded now.
            timeout: seconds without a message after which the iteration ends in an error.

        Raises:
            ArchiveError: the archive could not go on, for example for damage on its disk.
            AeronTimeoutError: the replay stalled or was ended by somebody.
        """
        begin, end = start, stop
        if begin is None:
            begin = yield from self._ask(request.ask_position("start position", recording_id))
        if end is None:
            end = yield from self._ask(request.ask_position("max recorded position", recording_id))
        if begin is None or end is None or begin >= end:
            return
        images: list[Image] = []
        replaying = self._replayed(
            ReplayParams(recording_id, begin, end - begin),
            ReplayChannel(self.options.default_replay_channel),
            partial(
                self.aeron.add_subscription_async,
                stream_id=REPLAY_STREAM_ID,
                on_image=images.append,
            ),
            REPLAY_STREAM_ID,
        )
        with (yield from replaying) as subscription:
            correlation_id = self.last_correlation_id
            deadline = self._deadline_ns(timeout)
            while True:
                over = bool(images) and _is_over(images[0])  # before the poll: nothing is left
                messages = subscription.poll_messages(READ_LIMIT)
                self._usable().pump()  # an archive ends sessions that do not read its pings
                if messages:
                    yield messages
                    if messages[-1].position >= end:
                        return
                    deadline = self._deadline_ns(timeout)
                elif over or self._is_late(deadline):
                    break
                else:
                    yield 0
            session = self._usable()
            session.pump()
            reached = images[0].position if images else begin
            if reached < end:
                raise session.take_error(correlation_id) or AeronTimeoutError(
                    f"replay of recording {recording_id} ended at {reached}, before {end}"
                )

    @operation
    def stop_replay(self, replay_session_id: int) -> Steps[None]:
        """End a replay; an unknown one is no error."""
        return self._ask(request.stop_replay(replay_session_id))

    @operation
    def stop_all_replays(self, recording_id: int | None = None) -> Steps[None]:
        """End the replays of a recording, or all."""
        return self._ask(request.stop_all_replays(recording_id))


def _or_close(subscription: Subscription, steps: Steps[int]) -> Steps[Subscription]:
    """A subscription when a replay to it has begun, closed when it could not."""
    try:
        yield from steps
    except BaseException:
        subscription.close()
        raise
    return subscription


def _is_over(image: Image) -> bool:
    return image.closed or image.is_end_of_stream
