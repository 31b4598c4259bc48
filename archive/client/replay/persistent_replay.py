"""One replay of a persistent subscription: asked for, subscribed to, given back.

Spec client 24.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from aerolog.archive.client import request
from aerolog.archive.client.replay.persistent_options import (
    PersistentSubscriptionOptions,
    PersistentSubscriptionState,
    ReplayChannelKind,
)
from aerolog.archive.client.replay.replay_request import ReplayOverResponse, image_session_id
from aerolog.archive.protocol import NULL_LENGTH
from aerolog.transport.errors import AeronTimeoutError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from aerolog.archive.client.replay.archive_link import ArchiveLink
    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.transport.client import Aeron, Image, Subscription
    from aerolog.transport.errors import ArchiveError
    from aerolog.transport.uri import ChannelUri

State = PersistentSubscriptionState


class ReplayEndedError(Exception):
    """The archive has ended a replay that it had agreed to.

    Attributes:
        error: what it says.
    """

    def __init__(self, error: ArchiveError) -> None:
        super().__init__(str(error))
        self.error = error


class ReplayRequest:
    """A replay from a position on, for as long as the recording grows.

    Args:
        aeron: whose subscription it comes to.
        link: to the archive.
        options: channel and stream.
        go: is told where it stands.
    """

    def __init__(
        self,
        aeron: Aeron,
        link: ArchiveLink,
        options: PersistentSubscriptionOptions,
        go: Callable[[PersistentSubscriptionState], None],
    ) -> None:
        self._aeron = aeron
        self._link = link
        self._options = options
        self._go = go
        self._clock = options.archive.clock
        self._timeout_ns = options.archive.message_timeout_ns
        self._subscription: Subscription | None = None
        self._session_id: int | None = None
        self._correlation_id: int | None = None

    def start(
        self, recording: RecordingDescriptor, position: int | None
    ) -> Generator[int, None, Image]:
        """Ask and subscribe, in the order of the kind of channel; the image.

        Raises:
            ArchiveError: the archive refuses.
            ReplayEndedError: it agreed and then could not.
            AeronTimeoutError: something did not come in time.
        """
        kind = self._options.kind
        channel = self._options.replay_channel
        if position == recording.start_position:
            position = None  # as the only way to replay a recording that is empty as yet
        call = partial(
            request.start_replay,
            recording.recording_id,
            stream_id=self._options.replay_stream_id,
            position=position,
            length=NULL_LENGTH,
        )
        if kind is ReplayChannelKind.SESSION_SPECIFIC:
            session_id = yield from self._request(call(channel))
            subscription = yield from self._subscribe(channel.add_session_id(session_id))
        else:
            subscription = yield from self._subscribe(channel)
            if kind is ReplayChannelKind.RESPONSE_CHANNEL:
                session_id = yield from self._request_over_response(call, subscription, recording)
            else:
                resolved = yield from self._await_endpoint(subscription)
                session_id = yield from self._request(call(resolved))
        return (yield from self._await_image(subscription, session_id))

    def _subscribe(self, channel: ChannelUri) -> Generator[int, None, Subscription]:
        self._go(State.ADD_REPLAY_SUBSCRIPTION)
        adding = self._link.added(str(channel), self._options.replay_stream_id)
        next(adding, None)
        self._go(State.AWAIT_REPLAY_SUBSCRIPTION)
        self._subscription = yield from adding
        return self._subscription

    def _await_endpoint(self, subscription: Subscription) -> Generator[int, None, str]:
        """The replay channel with the port that the system has chosen."""
        self._go(State.AWAIT_REPLAY_CHANNEL_ENDPOINT)
        deadline_ns = self._clock.now_ns() + self._timeout_ns
        while (resolved := subscription.resolved_channel) is None:
            if self._clock.now_ns() > deadline_ns:
                raise AeronTimeoutError(f"the port of {subscription!r} is not known")
            yield self._link.tend()
        return resolved

    def _request(self, call: request.Call[int]) -> Generator[int, None, int]:
        self._go(State.SEND_REPLAY_REQUEST)
        session_id = yield from self._link.ask(call, partial(self._go, State.AWAIT_REPLAY_RESPONSE))
        return self._agreed(session_id, self._link.asked)

    def _request_over_response(
        self,
        call: Callable[..., request.Call[int]],
        subscription: Subscription,
        recording: RecordingDescriptor,
    ) -> Generator[int, None, int]:
        self._go(State.SEND_REPLAY_TOKEN_REQUEST)
        token = yield from self._link.ask(
            request.replay_token(recording.recording_id),
            partial(self._go, State.AWAIT_REPLAY_TOKEN),
        )
        channel = subscription.channel
        if not self._options.replay_channel.is_ipc:
            channel = yield from self._await_endpoint(subscription)
        session = self._link.usable()
        self._go(State.ADD_REQUEST_PUBLICATION)
        asked = call(channel, replay_token=token)
        with ReplayOverResponse(self._aeron, session, subscription, asked) as asking:
            self._go(State.AWAIT_REQUEST_PUBLICATION)
            while not asking.poll():
                self._link.usable()
                yield 0
            return self._agreed(asking.result(), session.last_correlation_id)

    def _agreed(self, replay_session_id: int, correlation_id: int) -> int:
        """Note the replay; the session id of its image."""
        self._session_id = replay_session_id
        self._correlation_id = correlation_id
        return image_session_id(replay_session_id)

    def _await_image(
        self, subscription: Subscription, session_id: int
    ) -> Generator[int, None, Image]:
        self._go(State.REPLAY)
        deadline_ns = self._clock.now_ns() + self._timeout_ns
        while (image := subscription.image(session_id)) is None:
            self.check()
            if self._clock.now_ns() > deadline_ns:
                raise AeronTimeoutError(f"no image of the replay to {subscription!r}")
            yield self._link.tend()
        return image

    def check(self) -> None:
        """Look whether the archive has ended the replay.

        Raises:
            ReplayEndedError: it has, with an error.
        """
        error = self._link.take_error(self._correlation_id)
        if error is not None:
            raise ReplayEndedError(error)

    def close(self) -> None:
        """Close the subscription and have the archive stop; nobody waits for that."""
        subscription, self._subscription = self._subscription, None
        session_id, self._session_id = self._session_id, None
        if subscription is not None and not subscription.closed:
            subscription.close()
        if session_id is not None:
            self._link.tell(request.stop_replay(session_id))
