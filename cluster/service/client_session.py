"""A client's session, as a service sees it (spec cluster 8, 11)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.archive.client.connection import give_up
from aerolog.cluster.protocol import SESSION_HEADER_LENGTH
from aerolog.transport.client.status import OfferStatus
from aerolog.transport.errors import AerologError
from aerolog.transport.resource import Resource

if TYPE_CHECKING:
    from collections.abc import Iterable
    from concurrent.futures import Future

    from typing_extensions import Buffer

    from aerolog.cluster.service.service_agent import ServiceAgent
    from aerolog.transport.client.claim import BufferClaim
    from aerolog.transport.client.publication import ExclusivePublication

#: What an offer returns where nothing is sent, because another member or nobody answers.
UNSENT: Final = 1
SEND_TIMEOUT: Final = 5.0
_FINAL: Final = frozenset({OfferStatus.CLOSED, OfferStatus.MAX_POSITION_EXCEEDED})


class UnsentClaim(Resource):
    """Stands for a claim on members that do not answer: what is written into it goes nowhere."""

    position = UNSENT

    def __init__(self, length: int) -> None:
        self.buffer = memoryview(bytearray(length))

    def commit(self) -> None:
        """Drop what was written."""

    def abort(self) -> None:
        """Drop what was written."""

    close = abort


class ClientSession:
    """An open session.

    Attributes:
        session_id: the cluster's id of it.
        response_stream_id: stream of the client's egress.
        response_channel: channel of the client's egress.
        principal: what the authenticator found the client to be, encoded.
        is_closing: whether the service has asked for the session's end.
    """

    def __init__(
        self,
        agent: ServiceAgent,
        session_id: int,
        response_stream_id: int,
        response_channel: str,
        principal: bytes,
    ) -> None:
        self._agent = agent
        self.session_id = session_id
        self.response_stream_id = response_stream_id
        self.response_channel = response_channel
        self.principal = principal
        self.is_closing = False
        self._adding: Future[ExclusivePublication] | None = None
        self._publication: ExclusivePublication | None = None

    # -- egress ----------------------------------------------------------------------------------

    def offer(self, data: Buffer) -> int | OfferStatus:
        """Offer a message to the client, without waiting.

        Only the leader's service sends. On other members, and while a log is replayed, nothing is
        sent, and the result is 1, so that the service does the same on all members.

        Returns:
            A position, or the OfferStatus that says why not. A client whose egress is not connected
            yet, or that does not read, gives NOT_CONNECTED or BACK_PRESSURED.

        Raises:
            ClusterError: called where no message is processed, for example in ``on_start``.
        """
        return self.offer_vectors((data,))

    def offer_vectors(self, parts: Iterable[Buffer]) -> int | OfferStatus:
        """Offer a message that is made of parts; see `offer`."""
        agent = self._agent
        agent.check_callback("an offer to a session")
        if not agent.is_answering:
            return UNSENT
        publication = self._connected()
        if publication is None:
            return OfferStatus.NOT_CONNECTED
        return publication.offer_parts((agent.egress_header(self.session_id), *parts))

    def try_claim(self, length: int) -> BufferClaim | UnsentClaim | OfferStatus:
        """Claim room for a message of ``length`` bytes; it begins at byte 32 of the claim's buffer.

        The first 32 bytes are the session's header, which is filled in.
        """
        agent = self._agent
        agent.check_callback("a claim")
        if not agent.is_answering:
            return UnsentClaim(SESSION_HEADER_LENGTH + length)
        publication = self._connected()
        if publication is None:
            return OfferStatus.NOT_CONNECTED
        claim = publication.try_claim(SESSION_HEADER_LENGTH + length)
        if claim:
            claim.buffer[:SESSION_HEADER_LENGTH] = agent.egress_header(self.session_id)
        return claim

    def send(self, data: Buffer, *, timeout: float = SEND_TIMEOUT) -> int | OfferStatus:
        """Offer a message until the client's egress takes it, at most for ``timeout`` seconds.

        Returns:
            A position, or why the last try failed. Services may not let their state depend on it,
            because only the leader's service sends.
        """
        parts = (data,)
        result = self.offer_vectors(parts)
        if result > 0:
            return result
        agent = self._agent
        deadline_ns = agent.clock.now_ns() + round(timeout * 1e9)
        while result <= 0 and result not in _FINAL and not self.is_closing:
            if agent.clock.now_ns() - deadline_ns > 0:
                break
            agent.idle(0)
            result = self.offer_vectors(parts)
        return result

    # -- life ------------------------------------------------------------------------------------

    def close(self) -> bool:
        """Ask the consensus module to end the session; False when that was asked before.

        The session ends when the log says so, with ``on_session_close``.
        """
        return self._agent.close_session(self)

    def connect(self) -> None:
        """Begin to add the publication to the client."""
        if self._adding is None and self._publication is None:
            self._adding = self._agent.aeron.add_exclusive_publication_async(
                self.response_channel, self.response_stream_id
            )

    def disconnect(self) -> None:
        """Close the publication to the client."""
        adding, self._adding = self._adding, None
        if adding is not None:
            give_up(adding)
        publication, self._publication = self._publication, None
        if publication is not None:
            publication.close()

    def _connected(self) -> ExclusivePublication | None:
        """The publication, None while the driver has not added it, or refused to."""
        if self._adding is not None and self._adding.done():
            adding, self._adding = self._adding, None
            try:
                self._publication = adding.result(0)
            except AerologError as error:
                self._agent.report(error)
        return self._publication

    def __repr__(self) -> str:
        return f"<ClientSession {self.session_id} {self.response_channel}>"
