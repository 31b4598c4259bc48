"""What clients send: the module's end of the ingress (spec cluster 8).

The native part takes messages and signs of life of open sessions out of the ingress. What it leaves
is taken here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from aerolog.cluster.counter_types import ModuleState
from aerolog.cluster.errors import ClusterError
from aerolog.cluster.module import properties as p
from aerolog.cluster.module.extension import ExtensionMessage
from aerolog.cluster.protocol import (
    SCHEMA,
    SCHEMA_ID,
    SESSION_HEADER_LENGTH,
    AdminRequest,
    ChallengeResponse,
    CloseReason,
    SessionCloseRequest,
    SessionConnectRequest,
    SessionKeepAlive,
    SessionMessageHeader,
)
from aerolog.transport.client.message import Action
from aerolog.transport.client.steps.added_stream import added
from aerolog.transport.errors import MessageTooLargeError
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.cluster.module.parts import ModuleParts
    from aerolog.transport.client.image import Image
    from aerolog.transport.client.message import Header
    from aerolog.transport.client.steps.caller import Steps
    from aerolog.transport.client.subscription import Subscription

_INGRESS_LIMIT: Final = 10


class Ingress:
    """The streams in which clients send.

    Args:
        parts: the parts of the module.
        ask_snapshot: called when an operator's client asks for a snapshot; returns why there will
            be none.
    """

    def __init__(self, parts: ModuleParts, ask_snapshot: Callable[[], str]) -> None:
        self._context = parts.context
        self._status = parts.status
        self._steady = parts.steady
        self._sessions = parts.sessions
        self._ask_snapshot = ask_snapshot
        self._subscriptions: list[Subscription] = []

    @property
    def is_open(self) -> bool:
        """Whether clients can send."""
        return bool(self._subscriptions)

    @property
    def images(self) -> tuple[Image, ...]:
        """The images in which clients send."""
        return tuple(image for each in self._subscriptions for image in each.images)

    def open(self) -> Steps[None]:
        """Let clients send."""
        context, config = self._context, self._context.config
        uri = ChannelUri.parse(config[p.INGRESS_CHANNEL])
        if uri.is_udp:
            if "endpoint" not in uri:
                uri = uri.put("endpoint", config.member.ingress)
            uri = uri.replace(rejoin=False)
        channels = [str(uri)]
        if config[p.INGRESS_IPC] and not uri.is_ipc:
            channels.append("aeron:ipc")
        for channel in channels:
            adding = context.aeron.add_subscription_async(channel, config[p.INGRESS_STREAM])
            self._subscriptions.append((yield from added(adding)))

    def poll(self, now_ns: int) -> int:
        """Take what the native part has left in the ingress."""
        if not self._steady.take_left() or self._status.state is not ModuleState.ACTIVE:
            return 0
        work = 0
        for subscription in self._subscriptions:
            for image in subscription.images:
                work += image.poll_controlled(self._handler(image, now_ns), _INGRESS_LIMIT)
        return work

    def _handler(self, image: Image, now_ns: int) -> Callable[[memoryview, Header], Action]:
        def take(view: memoryview, header: Header) -> Action:
            data = bytes(view)
            if self._is_for_the_log(data):
                is_own = self._is_own(int.from_bytes(data[16:24], "little"), image)
                return Action.ABORT if is_own else Action.COMMIT  # the native part takes it
            # No message of a client may stop the node for the others.
            try:
                extension = self._context.extension
                foreign = ExtensionMessage.found_in(data, header.position) if extension else None
                if extension is not None and foreign is not None:
                    return extension.on_ingress_message(foreign) or Action.COMMIT
                self._on_message(data, image, now_ns)
            except Exception as error:  # noqa: BLE001 - logged and counted; the message is consumed
                self._context.reporter.error(error, "ingress message")
            return Action.COMMIT

        return take

    def _is_for_the_log(self, data: bytes) -> bool:
        """Return whether the native part writes a message into the log."""
        if len(data) < SESSION_HEADER_LENGTH:
            return False
        block_length = int.from_bytes(data[:2], "little")
        template_id = int.from_bytes(data[2:4], "little")
        if template_id != SessionMessageHeader.LAYOUT.template_id:
            return False
        term_id = int.from_bytes(data[8:16], "little", signed=True)
        session_id = int.from_bytes(data[16:24], "little", signed=True)
        return (
            int.from_bytes(data[4:6], "little") == SCHEMA_ID
            and block_length == SessionMessageHeader.LAYOUT.block_length
            and term_id == self._context.leadership_term_id
            and session_id in self._sessions.open
            and self._fits_the_log(data)
        )

    def _fits_the_log(self, data: bytes) -> bool:
        log = self._context.log
        return log is None or len(data) <= log.publication.max_message_length

    def _on_message(self, data: bytes, image: Image, now_ns: int) -> None:
        message = SCHEMA.decode(data)
        match message:
            case SessionConnectRequest():
                self._sessions.on_connect(message, image, now_ns)
            case ChallengeResponse():
                self._sessions.on_challenge_response(message, image, now_ns)
            case SessionMessageHeader() if not self._fits_the_log(data):
                if self._is_own_request(message, image):
                    self._report_long(message.cluster_session_id, len(data))
            case SessionKeepAlive():  # the first of a term; the native part takes those after it
                if self._is_own_request(message, image):
                    self._sessions.hear(message.cluster_session_id, now_ns)
            case SessionCloseRequest():
                if self._is_own_request(message, image):
                    self._sessions.ask_close(message.cluster_session_id, CloseReason.CLIENT_ACTION)
            case AdminRequest():
                if self._is_own_request(message, image):
                    self._sessions.on_admin_request(message, self._ask_snapshot)
            case _:
                return  # of another term, of an unknown session, or not for a leader: passed over

    def _is_own_request(self, message: Any, image: Image) -> bool:
        """Return whether a request is of this term, and from the client of its session."""
        return (
            message.leadership_term_id == self._context.leadership_term_id
            and message.cluster_session_id in self._sessions.open
            and self._is_own(message.cluster_session_id, image)
        )

    def _is_own(self, session_id: int, image: Image) -> bool:
        """Return whether an open session takes messages from an image; a stranger's is counted."""
        if not self._steady.is_settled(session_id):
            self._sessions.settle(session_id, image)
        return self._steady.takes_from(session_id, image.correlation_id)

    def _report_long(self, session_id: int, length: int) -> None:
        log = self._context.log
        assert log is not None
        error = MessageTooLargeError(
            f"message exceeds maxMessageLength of {log.publication.max_message_length},"
            f" length={length}: session {session_id} sent it, and it was dropped: send it in parts,"
            " or give aeron.cluster.log.channel a larger term-length"
        )
        self._context.reporter.error(error, "message of a client that is too long")

    def report_strangers(self) -> None:
        """Count messages from other clients than those of their sessions, and report the first."""
        counter = self._context.counters.invalid_requests
        if counter.value == self._steady.strangers:
            return
        counter.value = self._steady.strangers
        session = self._sessions.open.get(self._steady.last_stranger)
        if session is not None and not session.is_stranger_told:
            session.is_stranger_told = True
            self._context.reporter.error(
                ClusterError(
                    f"session {session.session_id} got a message from a publication that is not its"
                    " client's: it was dropped, and further ones are counted only"
                ),
                "message of a stranger",
            )

    def close(self) -> None:
        """Close the streams."""
        for subscription in self._subscriptions:
            subscription.close()
