"""A replay of a running archive: its channel, how it is asked for, and what becomes of it.

Spec archive-protocol 11.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from aerolog.archive.client import request
from aerolog.archive.client.options import REPLAY_STREAM_ID
from aerolog.archive.client.replay.persistent_options import PersistentSubscriptionState as State
from aerolog.archive.protocol import NULL_VALUE, REPLAY_ALL_AND_FOLLOW, REPLAY_ALL_AND_STOP
from aerolog.transport.client import ChannelStatus
from aerolog.transport.client.steps.added_stream import give_up
from aerolog.transport.errors import AerologError, AeronTimeoutError
from aerolog.transport.resource import Resource
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.archive.client.client_session import ControlSession
    from aerolog.archive.client.conversation import Conversation
    from aerolog.archive.client.options import ArchiveClientOptions
    from aerolog.archive.client.request import Channel, Request
    from aerolog.transport.client import Aeron, ExclusivePublication, Image, Subscription
    from aerolog.transport.client.steps.caller import Steps
    from aerolog.transport.errors import ArchiveError

REQUEST_TERM_LENGTH: Final = "65536"
NOT_FOR_A_REPLAY_REQUEST: Final = ("session-id", "init-term-id", "term-id", "term-offset")


def image_session_id(replay_session_id: int) -> int:
    """Session id of a replay's image: the low 32 bits, signed."""
    low = replay_session_id & 0xFFFFFFFF
    return low - (1 << 32) if low >> 31 else low


def replay_length(length: int | None, *, follow: bool) -> int:
    """The length that a replay request carries."""
    if length is not None:
        return length
    return REPLAY_ALL_AND_FOLLOW if follow else REPLAY_ALL_AND_STOP


@dataclass(frozen=True, slots=True)
class ReplayParams:
    """What an archive is to replay, on whatever channel.

    Attributes:
        recording_id: the recording to replay.
        position: where to begin; None is the start of the recording.
        length: how many bytes to replay, or one of the lengths that mean all.
        limit_counter_id: a counter whose value the replay does not pass.
        file_io_max_length: how many bytes the archive reads from a file at once, at most.
    """

    recording_id: int
    position: int | None
    length: int
    limit_counter_id: int | None = None
    file_io_max_length: int | None = None

    def request(self, channel: Channel, stream_id: int, token: int = NULL_VALUE) -> Request[int]:
        """The request for a replay to a channel and stream."""
        return request.start_replay(
            self.recording_id,
            channel,
            stream_id,
            self.position,
            self.length,
            limit_counter_id=self.limit_counter_id,
            file_io_max_length=self.file_io_max_length,
            replay_token=token,
        )


class ReplayChannel:
    """The channel that a replay is asked for on."""

    def __init__(self, channel: str | ChannelUri) -> None:
        self._uri = ChannelUri.parse(channel)

    @property
    def is_response_mode(self) -> bool:
        """Whether the replay comes back over a response channel."""
        return self._uri.has_control_mode_response

    @property
    def has_wildcard_port(self) -> bool:
        """Whether the system chooses the port that the replay comes to."""
        return (
            self._uri.is_udp
            and self._uri.get("endpoint", "").endswith(":0")
            and self._uri.get("control-mode") != "manual"
        )

    def with_session(self, session_id: int) -> str:
        """The channel for a session, unless it names one."""
        if "session-id" in self._uri:
            return str(self._uri)
        return str(self._uri.add_session_id(session_id))

    def for_session(self, replay_session_id: int) -> str:
        """The channel to subscribe to for one replay and no other."""
        return str(self._uri.add_session_id(image_session_id(replay_session_id)))

    def __str__(self) -> str:
        return str(self._uri)


def request_publication_channel(options: ArchiveClientOptions, subscription_id: int) -> str:
    """The channel of the publication that carries a replay request with a token."""
    channel = options.control_channels(None)[0].remove(*NOT_FOR_A_REPLAY_REQUEST)
    changes = {
        "response-correlation-id": str(subscription_id),
        "ssc": "false",
        "term-length": REQUEST_TERM_LENGTH,
    }
    for key, value in changes.items():
        channel = channel.put(key, value)
    return str(channel)


class ReplayOverResponse(Resource):
    """Asks for a replay on a publication of its own, whose response channel carries the replay.

    `poll` never waits. The publication is closed at the end; the replay does not need it.
    """

    def __init__(
        self,
        aeron: Aeron,
        session: ControlSession,
        subscription: Subscription,
        asked: Request[int],
    ) -> None:
        self._session = session
        self._pending = session.begin(asked, aeron.next_correlation_id(), sent=True)  # by us
        self._sent = False
        channel = request_publication_channel(session.options, subscription.registration_id)
        self._adding = aeron.add_exclusive_publication_async(
            channel, session.options.request_stream_id
        )
        self._publication: ExclusivePublication | None = None

    def poll(self) -> bool:
        """Do what can be done now; True once the archive has agreed.

        Raises:
            ArchiveError: the archive refused.
            AeronTimeoutError: no answer within the message timeout.
        """
        if self._publication is None and self._adding.done():
            self._publication = self._adding.result(0)
        if not self._sent and self._publication is not None:
            ready = self._publication.is_connected and self._publication.available_window > 0
            self._sent = ready and self._publication.offer(self._pending.message) > 0
        self._session.pump()
        if self._pending.done:
            self._pending.result()
        return self._pending.done

    def result(self) -> int:
        """The replay session id, when the archive has agreed."""
        return self._pending.result()

    def close(self) -> None:
        """Close the publication, which the replay does not need."""
        self._session.forget(self._pending)
        give_up(self._adding)


class ReplayChannelError(AerologError):
    """The driver could not open the channel that a replay was to come to."""


class ArchiveReplay(Resource):
    """One replay of an archive, from the request to its end, as steps that never wait.

    Attributes:
        params: what is replayed.
        subscription: the subscription that the replay comes to, None before it was added.
        session_id: the archive's id of the replay, None before the archive has agreed.
        correlation_id: the request's id, which later errors carry; -1 before it was sent.
        images: the images that have come to the subscription.
    """

    def __init__(
        self,
        conversation: Conversation,
        params: ReplayParams,
        channel: Channel | None = None,
        stream_id: int = REPLAY_STREAM_ID,
        *,
        go: Callable[[State], object] | None = None,
        **handlers: Any,
    ) -> None:
        """Prepare a replay; `open` or `ask` requests it.

        Args:
            conversation: the conversation with the archive.
            params: what to replay.
            channel: the channel that the replay comes to; None is the default of the client.
            stream_id: the stream that the replay comes to.
            go: called with each state of the request, as the reference numbers them.
            handlers: the handlers of images that ``Aeron.add_subscription`` takes.
        """
        options = conversation.options
        self.params = params
        self.subscription: Subscription | None = None
        self.session_id: int | None = None
        self.correlation_id = -1
        self.images: list[Image] = []
        self._conversation = conversation
        self._channel = ReplayChannel(
            options.default_replay_channel if channel is None else channel
        )
        self._stream_id = stream_id
        self._go = go or (lambda _: None)
        self._handlers = handlers or {"on_image": self.images.append}

    @property
    def image(self) -> Image | None:
        """The image of the replay, None before it has come."""
        return self.images[0] if self.images else None

    @property
    def position(self) -> int:
        """The position up to which the replay has been read."""
        image = self.image
        return (self.params.position or 0) if image is None else image.position

    @property
    def is_over(self) -> bool:
        """Whether nothing more comes; read it before a poll, which then takes what is left."""
        image = self.image
        return image is not None and (image.closed or image.is_end_of_stream)

    # -- asking ----------------------------------------------------------------------------------

    def open(self) -> Steps[Subscription]:
        """Ask for the replay and subscribe to it, in the order that the kind of channel needs.

        Raises:
            ArchiveError: the archive refused.
            AeronTimeoutError: the archive's answer or the replay did not come in time.
            ReplayChannelError: the driver could not open the channel.
        """
        channel, conversation = self._channel, self._conversation
        try:
            if channel.is_response_mode:
                subscription = yield from self._subscribe(str(channel))
                yield from self.ask_over_response(subscription)
            elif channel.has_wildcard_port:
                choosing = conversation.aeron.next_session_id_async(self._stream_id)
                session = yield from conversation.added(choosing)
                subscription = yield from self._subscribe(channel.with_session(session))
                port = yield from self._resolved(subscription)
                yield from self.ask(port, self._stream_id)
            else:
                yield from self.ask(str(channel), self._stream_id)
                assert self.session_id is not None
                subscription = yield from self._subscribe(channel.for_session(self.session_id))
        except BaseException:
            self.close()
            raise
        return subscription

    def ask_over_response(self, subscription: Subscription) -> Steps[int]:
        """Ask for the replay over the response channel that a subscription has opened; its id."""
        conversation, params = self._conversation, self.params
        self._go(State.SEND_REPLAY_TOKEN_REQUEST)
        token = yield from conversation.ask(
            request.replay_token(params.recording_id), partial(self._go, State.AWAIT_REPLAY_TOKEN)
        )
        channel = subscription.channel
        if not ChannelUri.parse(channel).is_ipc:
            channel = yield from self._resolved(subscription)
        session = conversation.usable()
        self._go(State.ADD_REQUEST_PUBLICATION)
        asked = params.request(channel, subscription.stream_id, token)
        with ReplayOverResponse(conversation.aeron, session, subscription, asked) as asking:
            self.correlation_id = session.last_correlation_id
            self._go(State.AWAIT_REQUEST_PUBLICATION)
            while not asking.poll():
                conversation.usable()
                yield 0
            self.session_id = asking.result()
        return self.session_id

    def _subscribe(self, channel: str) -> Steps[Subscription]:
        self._go(State.ADD_REPLAY_SUBSCRIPTION)
        adding = self._conversation.aeron.add_subscription_async(
            channel, self._stream_id, **self._handlers
        )
        self._go(State.AWAIT_REPLAY_SUBSCRIPTION)
        self.subscription = yield from self._conversation.added(adding)
        return self.subscription

    def _resolved(self, subscription: Subscription) -> Steps[str]:
        """The channel of a subscription with the port that the system has chosen."""
        conversation = self._conversation
        self._go(State.AWAIT_REPLAY_CHANNEL_ENDPOINT)
        deadline = conversation.deadline_ns(conversation.options.message_timeout)
        while (channel := subscription.resolved_channel) is None:
            if subscription.channel_status is ChannelStatus.ERRORED:
                raise ReplayChannelError(f"the driver could not open {subscription.channel}")
            if conversation.is_late(deadline):
                raise AeronTimeoutError(
                    f"the driver does not say which port {subscription.channel} has"
                )
            yield conversation.tend()
        return channel

    def ask(self, channel: Channel, stream_id: int) -> Steps[None]:
        """Ask for the replay on a channel, which the caller subscribes to before or afterwards."""
        self._go(State.SEND_REPLAY_REQUEST)
        pending = self._conversation.begin(self.params.request(channel, stream_id))
        self.correlation_id = pending.correlation_id
        self.session_id = yield from self._conversation.answer(
            pending, partial(self._go, State.AWAIT_REPLAY_RESPONSE)
        )

    # -- afterwards ------------------------------------------------------------------------------

    def await_image(self) -> Steps[Image]:
        """The image of the replay.

        Raises:
            ArchiveError: the archive agreed, but then could not replay.
            AeronTimeoutError: the image did not come in time.
        """
        conversation = self._conversation
        self._go(State.REPLAY)
        deadline = conversation.deadline_ns(conversation.options.message_timeout)
        while (image := self.image) is None:
            self.check()
            if conversation.is_late(deadline):
                raise AeronTimeoutError(f"no image of the replay to {self.subscription!r}")
            yield conversation.tend()
        return image

    def check(self) -> None:
        """Raise what the archive has said about the replay since it agreed.

        Raises:
            ArchiveError: the archive could not go on with the replay.
        """
        error: ArchiveError | None = self._conversation.take_error(self.correlation_id)
        if error is not None:
            try:
                raise error
            finally:
                del error  # its traceback refers to this frame

    def stop(self) -> None:
        """Ask the archive to end the replay, without waiting for its answer, and close."""
        session_id, self.session_id = self.session_id, None
        self.close()
        if session_id is not None:
            self._conversation.tell(request.stop_replay(session_id))

    def close(self) -> None:
        """Close the subscription: an archive ends a replay that nobody listens to. Idempotent."""
        subscription, self.subscription = self.subscription, None
        if subscription is not None and not subscription.closed:
            subscription.close()
