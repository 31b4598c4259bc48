"""A client's session as the module knows it (spec cluster 9)."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from aerolog.cluster.module.log_publisher import offer_soon
from aerolog.cluster.protocol import (
    NULL_VALUE,
    AdminRequestType,
    AdminResponse,
    AdminResponseCode,
    Challenge,
    CloseReason,
    EventCode,
    NewLeaderEvent,
    SessionEvent,
)
from aerolog.transport.client.steps.added_stream import give_up

if TYPE_CHECKING:
    from aerolog.cluster.protocol import Message
    from aerolog.transport.client.aeron import Aeron
    from aerolog.transport.client.client_counters import Counter
    from aerolog.transport.client.publication import Publication
    from aerolog.transport.client.registration import RegistrationFuture


class SessionState(Enum):
    """How far a session has come."""

    INIT = "init"
    CONNECTING = "connecting"
    CONNECTED = "connected"
    CHALLENGED = "challenged"
    AUTHENTICATED = "authenticated"
    REJECTED = "rejected"
    OPEN = "open"
    CLOSING = "closing"
    INVALID = "invalid"
    CLOSED = "closed"


class Session:
    """A session, with the publication that answers its client.

    Attributes:
        session_id: the cluster's number of it, from 1; -1 for a client that is only redirected.
        correlation_id: of the request that the next answer belongs to.
        response_stream_id, response_channel: where the client listens.
        principal: the name under which the authenticator accepted the client.
        state: how far it has come.
        opened_log_position: where the log has its opening, behind the event; -1 before.
        close_reason: why it is closed, NULL while it is not.
        last_activity_ns: when it was last heard of, monotonic time.
        refusal: what a client is told that is not let in.
        client_info, source_identity, image_session_id: who the client says it is, and from where.
        ingress_image_id: the image that it takes messages from in this term, -1 while none has had
            one for it.
        last_image_id: the same in the last term in which it was known, -1 for none.
        is_stranger_told: whether a message that another client sent in it was reported.
    """

    def __init__(
        self,
        session_id: int,
        correlation_id: int,
        response_stream_id: int,
        response_channel: str,
        *,
        client_info: str = "",
        source_identity: str = "",
        image_session_id: int = 0,
        ingress_image_id: int = NULL_VALUE,
    ) -> None:
        self.session_id = session_id
        self.correlation_id = correlation_id
        self.response_stream_id = response_stream_id
        self.response_channel = response_channel
        self.client_info = client_info
        self.source_identity = source_identity
        self.image_session_id = image_session_id
        self.ingress_image_id = ingress_image_id
        self.last_image_id = NULL_VALUE
        self.principal = b""
        self.state = SessionState.INIT
        self.opened_log_position = NULL_VALUE
        self.close_reason = CloseReason.NULL
        self.last_activity_ns = 0
        self.refusal: tuple[EventCode, str] | None = None
        self.is_open_told = False
        self.is_stranger_told = False
        self.counter: Counter | None = None
        self._challenge: bytes | None = None
        self._adding: RegistrationFuture[Publication] | None = None
        self._publication: Publication | None = None

    # -- the way to the client -------------------------------------------------------------------

    def connect(self, aeron: Aeron) -> None:
        """Begin to add the publication to the client."""
        if self._publication is None and self._adding is None:
            self._adding = aeron.add_publication_async(
                self.response_channel, self.response_stream_id
            )

    @property
    def is_adding(self) -> bool:
        """Whether the driver was asked for the publication and has not answered."""
        return self._adding is not None

    def is_connected(self) -> bool:
        """Return whether the client can be answered.

        Raises:
            RegistrationError: the driver refuses the client's response channel.
        """
        if self._adding is not None:
            if not self._adding.done():
                return False
            adding, self._adding = self._adding, None
            self._publication = adding.result(0)
        return self._publication is not None and self._publication.is_connected

    def disconnect(self) -> None:
        """Close the publication to the client."""
        adding, self._adding = self._adding, None
        if adding is not None:
            give_up(adding)
        publication, self._publication = self._publication, None
        if publication is not None:
            publication.close()

    def send(self, message: Message) -> bool:
        """Send the client a message; returns whether it could be sent."""
        return self.send_bytes(message.encode())

    def send_bytes(self, data: bytes) -> bool:
        """Send the client an encoded message; returns whether it could be sent."""
        publication = self._publication
        return publication is not None and offer_soon(publication, lambda: data) > 0

    # -- what the client is told -----------------------------------------------------------------

    def send_event(
        self,
        code: EventCode,
        detail: str,
        *,
        leadership_term_id: int,
        leader_member_id: int,
        heartbeat_timeout_ns: int,
    ) -> bool:
        """Tell the client about its session."""
        return self.send(
            SessionEvent(
                cluster_session_id=self.session_id,
                correlation_id=self.correlation_id,
                leadership_term_id=leadership_term_id,
                leader_member_id=leader_member_id,
                code=code,
                leader_heartbeat_timeout_ns=heartbeat_timeout_ns,
                detail=detail,
            )
        )

    def send_new_leader(
        self, leadership_term_id: int, leader_member_id: int, endpoints: str
    ) -> bool:
        """Tell the client who leads."""
        return self.send(
            NewLeaderEvent(
                leadership_term_id=leadership_term_id,
                cluster_session_id=self.session_id,
                leader_member_id=leader_member_id,
                ingress_endpoints=endpoints,
            )
        )

    def send_admin_response(
        self, correlation_id: int, kind: AdminRequestType, code: AdminResponseCode, text: str
    ) -> bool:
        """Answer an admin request."""
        return self.send(
            AdminResponse(
                cluster_session_id=self.session_id,
                correlation_id=correlation_id,
                request_type=kind,
                response_code=code,
                message=text,
            )
        )

    # -- authentication: what `SessionProxy` names ----------------------------------------------

    def authenticate(self, principal: bytes) -> bool:
        """Accept the client under a name."""
        self.principal = principal
        self.state = SessionState.AUTHENTICATED
        return True

    def challenge(self, encoded_challenge: bytes) -> bool:
        """Ask the client for a proof."""
        sent = self.send(
            Challenge(
                correlation_id=self.correlation_id,
                cluster_session_id=self.session_id,
                encoded_challenge=encoded_challenge,
            )
        )
        if sent:
            self.state = SessionState.CHALLENGED
        return sent

    def reject(self) -> None:
        """Refuse the client."""
        self.refuse(EventCode.AUTHENTICATION_REJECTED, "session failed authentication")

    def refuse(self, code: EventCode, text: str) -> None:
        """Have the client told that it is not let in."""
        self.state = SessionState.REJECTED
        self.refusal = (code, text)

    def __repr__(self) -> str:
        return f"<Session {self.session_id} {self.state.value} {self.response_channel}>"
