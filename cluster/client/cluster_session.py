"""A client's session with a cluster: what it sends and what comes back (spec cluster 8)."""

from __future__ import annotations

from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Final

from aerolog.cluster.client.egress_batch import EgressReader
from aerolog.cluster.client.ingress import IngressPublications
from aerolog.cluster.client.options import parse_endpoints
from aerolog.cluster.client.session_offers import SessionOffers
from aerolog.cluster.client.session_pulse import SessionPulse
from aerolog.cluster.errors import ClusterError, SessionClosedError
from aerolog.cluster.protocol import (
    SCHEMA,
    SESSION_HEADER_LENGTH,
    AdminRequest,
    AdminResponse,
    EventCode,
    NewLeaderEvent,
    SessionCloseRequest,
    SessionEvent,
    SessionKeepAlive,
    SessionMessageHeader,
)
from aerolog.transport.client.options import LOG
from aerolog.transport.client.status import OfferStatus
from aerolog.transport.errors import AerologError, ConfigurationError, MessageFormatError
from aerolog.transport.time_units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.cluster.client.egress_batch import EgressBatch
    from aerolog.cluster.client.egress_message import EgressMessage
    from aerolog.cluster.client.options import ClusterClientOptions
    from aerolog.transport.client import Aeron
    from aerolog.transport.client.claim import BufferClaim
    from aerolog.transport.client.publication import Publication
    from aerolog.transport.client.steps.caller import Parts, Steps
    from aerolog.transport.client.subscription import Subscription
    from aerolog.transport.protocol.sbe import Buffer

    TakeBatch = Callable[[SessionOffers], int]

FRAGMENT_LIMIT: Final = 10
BATCH_LIMIT: Final = 4096
#: A client waits for a new leader so many times the heartbeat timeout that it was told.
_LEADER_PATIENCE: Final = 2
_QUIET_NS: Final = 10 * NS_PER_S


class ClientState(Enum):
    """The states of a session, as its client knows them."""

    CONNECTED = "connected"
    AWAIT_NEW_LEADER = "await new leader"
    AWAIT_NEW_LEADER_CONNECTION = "await new leader connection"
    CLOSED = "closed"


class ClusterSession:
    """An open session.

    Attributes:
        session_id: the cluster's id of it.
        leadership_term_id: the leader's term, which each message carries.
        leader_member_id: the leader.
        state: what the client knows of it.
        close_reason: why it has ended, empty before.
        uncertain: how many offers were accepted by the ingress of a leader that was lost. Each of
            them may have reached the log, or not.
        last_result: the position after, or the OfferStatus that ended, the last batch of offers.
    """

    def __init__(
        self,
        aeron: Aeron,
        options: ClusterClientOptions,
        subscription: Subscription,
        publication: Publication,
        endpoints: dict[int, str],
        opened: SessionEvent,
    ) -> None:
        self._aeron = aeron
        self._options = options
        self.subscription = subscription
        self.publication = publication
        self.endpoints = endpoints
        self.session_id = opened.cluster_session_id
        self.leadership_term_id = opened.leadership_term_id
        self.leader_member_id = opened.leader_member_id
        heartbeat_ns = opened.leader_heartbeat_timeout_ns
        self._patience_ns = _LEADER_PATIENCE * heartbeat_ns if heartbeat_ns > 0 else 0
        self._patience_ns = self._patience_ns or 2 * options.message_timeout_ns
        self.state = ClientState.CONNECTED
        self.close_reason = ""
        self.uncertain = 0
        self._offered = 0
        self._deadline_ns = 0
        self._ingress: IngressPublications | None = None
        self._offers: SessionOffers | None = None
        self.last_result: int | OfferStatus = 0
        self._egress = EgressReader(subscription, self.session_id)
        self._answers: dict[int, AdminResponse | None] = {}  # to requests that are under way
        self._pulse: SessionPulse | None = None
        self._last_warning_ns: int | None = None
        self._unsaid = 0
        self._set_header()
        self._begin_signs()

    def _set_header(self) -> None:
        self._offers = None
        header = SessionMessageHeader(
            leadership_term_id=self.leadership_term_id, cluster_session_id=self.session_id
        )
        self._header = header.encode()
        self._keep_alive = SessionKeepAlive(
            leadership_term_id=self.leadership_term_id, cluster_session_id=self.session_id
        ).encode()

    # -- ingress ---------------------------------------------------------------------------------

    def offer(self, data: Buffer) -> int | OfferStatus:
        """Offer a message to the leader, without waiting; see ``Publication.offer``."""
        if self.state is not ClientState.CONNECTED:
            return self._refusal()
        result = self.publication.offer_parts((self._header, data))
        self._offered += result > 0
        return result

    def offer_batch(self, take: TakeBatch) -> int:
        """Offer a batch to the leader by a function of what gives its messages the header."""
        if self.state is not ClientState.CONNECTED:
            self.last_result = self._refusal()
            return 0
        if self._offers is None:
            self._offers = SessionOffers(self.publication, self.leadership_term_id, self.session_id)
        try:
            taken = take(self._offers)
        finally:
            self.last_result = self._offers.last_result
        self._offered += taken
        return taken

    def try_claim(self, length: int) -> BufferClaim | OfferStatus:
        """Claim room for a message of ``length`` bytes behind the session's header.

        The claim's buffer has the header, which is filled in, in its first 32 bytes. It counts as
        an offer once it is committed.
        """
        if self.state is not ClientState.CONNECTED:
            return self._refusal()
        claim = self.publication.try_claim(SESSION_HEADER_LENGTH + length)
        if claim:
            claim.buffer[:SESSION_HEADER_LENGTH] = self._header
            claim.on_commit = partial(self._on_commit, self.publication)
        return claim

    def _on_commit(self, publication: Publication) -> None:
        """Count a claim; one that is committed late went to a leader that was lost meanwhile."""
        if publication is self.publication and self.state is ClientState.CONNECTED:
            self._offered += 1
        else:
            self.uncertain += 1

    def keep_alive(self) -> bool:
        """Say that the client is there; returns whether the leader's ingress took it."""
        if self.state is not ClientState.CONNECTED:
            return False
        return self.publication.offer(self._keep_alive) > 0

    def _begin_signs(self) -> None:
        """Give signs of life from now on, by the client's thread."""
        interval_ns = self._options.keepalive_interval_ns
        if interval_ns:
            self._pulse = SessionPulse(self.publication, self._keep_alive, interval_ns)
            self._aeron.conductor.liveness.add_pulse(self._pulse)

    def _end_signs(self) -> None:
        pulse, self._pulse = self._pulse, None
        if pulse is not None:
            self._aeron.conductor.liveness.remove_pulse(pulse)

    def _refusal(self) -> OfferStatus:
        return OfferStatus.CLOSED if self.state is ClientState.CLOSED else OfferStatus.NOT_CONNECTED

    # -- egress ----------------------------------------------------------------------------------

    def poll(self, limit: int = FRAGMENT_LIMIT, *, in_order: bool = False) -> int:
        """Read what has come and follow the leader; returns how much was done.

        Args:
            limit: the largest number of fragments.
            in_order: stop before an event while messages before it were not taken.

        Raises:
            ValueError: the limit is negative.
        """
        if self.state is ClientState.CLOSED:
            return 0
        if self._aeron.closed:
            # Without its driver nobody can follow the next leader.
            self.end("the transport client is closed")
            return 1
        work = self._read(limit, in_order)
        if self.state is ClientState.CONNECTED:
            if not self.subscription.is_connected or not self.publication.is_connected:
                self._await_leader()
        else:
            work += self._follow()
        return work

    def _read(self, limit: int, in_order: bool) -> int:
        work = 0
        while not self.subscription.closed:
            work += self._egress.poll(limit - work, in_order)
            event = self._egress.take_event()
            if event is None:
                break
            self._on_event(event)
        return work

    def take(self) -> EgressBatch:
        """The messages that have come since the last call, oldest first."""
        return self._egress.take_batch()

    @property
    def passed_over(self) -> int:
        """How many pieces of egress were no message of the schema, or for another session."""
        return self._egress.passed_over

    def _on_event(self, event: bytes) -> None:
        try:
            message = SCHEMA.decode(event)
        except MessageFormatError:
            message = None
        if getattr(message, "cluster_session_id", None) != self.session_id:
            self._egress.passed_over += 1
            return
        match message:
            case SessionEvent():
                if message.code == EventCode.CLOSED:
                    self.end(message.detail or "closed by the cluster")
                if self._options.on_session_event is not None:
                    self._options.on_session_event(message)
            case NewLeaderEvent():
                self._on_new_leader(message)
            case AdminResponse() if message.correlation_id in self._answers:
                self._answers[message.correlation_id] = message
            case _:
                self._egress.passed_over += 1

    # -- another leader --------------------------------------------------------------------------

    def _await_leader(self) -> None:
        self._end_signs()
        self.state = ClientState.AWAIT_NEW_LEADER
        self._deadline_ns = self._options.clock.now_ns() + self._patience_ns
        self.uncertain, self._offered = self.uncertain + self._offered, 0

    def _on_new_leader(self, event: NewLeaderEvent) -> None:
        if event.leadership_term_id < self.leadership_term_id:
            self._egress.passed_over += 1
            return
        try:
            endpoints = self._endpoints_after(event)
        except ConfigurationError as error:
            self._warn(f"a NewLeaderEvent is passed over: {error}")
            self._egress.passed_over += 1
            return
        if self.state is ClientState.CONNECTED:
            self._await_leader()
        self.leadership_term_id = event.leadership_term_id
        self.leader_member_id = event.leader_member_id
        self._set_header()
        self.endpoints = endpoints
        self.publication.close()
        self._drop_ingress()
        self._ingress = IngressPublications(self._aeron, self._options)
        leader = event.leader_member_id
        self._ingress.add({leader: endpoints[leader]} if endpoints else {})
        self.state = ClientState.AWAIT_NEW_LEADER_CONNECTION
        self._deadline_ns = self._options.clock.now_ns() + self._options.message_timeout_ns
        if self._options.on_new_leader is not None:
            self._options.on_new_leader(event)

    def _endpoints_after(self, event: NewLeaderEvent) -> dict[int, str]:
        """The members' endpoints, those of the new leader among them; none for other ingress.

        Raises:
            ConfigurationError: the event's text cannot be read, or lacks the leader.
        """
        if not self._options.ingress_endpoints:
            return {}
        text = event.ingress_endpoints
        endpoints = parse_endpoints(text) if text else self.endpoints
        if event.leader_member_id not in endpoints:
            raise ConfigurationError(
                f"ingress endpoints {text!r:.200} lack the leader, member {event.leader_member_id}"
            )
        return endpoints

    def _warn(self, text: str) -> None:
        """Log a warning, one in ten seconds at most, since anybody may publish to the egress."""
        now_ns = self._options.clock.now_ns()
        if self._last_warning_ns is not None and now_ns - self._last_warning_ns < _QUIET_NS:
            self._unsaid += 1
            return
        more = f" (and {self._unsaid} warnings before)" if self._unsaid else ""
        self._last_warning_ns, self._unsaid = now_ns, 0
        LOG.warning("session %d: %s%s", self.session_id, text, more)

    def _follow(self) -> int:
        """Go on as soon as the new leader's ingress is connected; end when it is too late."""
        if self.state is ClientState.CLOSED:
            return 0
        if (found := self._new_ingress()) is not None:
            assert self._ingress is not None
            self.publication = self._ingress.keep(found[0])
            self._offers = None
            self._ingress = None
            self.state = ClientState.CONNECTED
            self._begin_signs()
            return 1
        if self._options.clock.now_ns() - self._deadline_ns > 0:
            self.end(f"no leader came: {self.state.value} for too long")
            return 1
        return 0

    def _new_ingress(self) -> tuple[int, Publication] | None:
        """The new leader's ingress once it is connected; one that is refused is given up."""
        if self._ingress is None:
            return None
        try:
            return self._ingress.connected()
        except AerologError as error:
            self._warn(f"there is no way to member {self.leader_member_id}, the leader: {error}")
            self._drop_ingress()
            self._await_leader()
            return None

    # -- the end ---------------------------------------------------------------------------------

    def check_open(self) -> None:
        """Raise what has ended the session.

        Raises:
            SessionClosedError: it has ended.
            DriverTimeoutError: the driver is gone.
            ResourceClosedError: the transport client was closed.
        """
        if self.state is ClientState.CLOSED:
            self._aeron.conductor.ensure_usable()
            raise SessionClosedError(
                f"session {self.session_id} has ended: {self.close_reason}: connect anew"
            )

    def end(self, reason: str) -> None:
        """End the session here; the streams are closed."""
        if self.state is ClientState.CLOSED:
            return
        self.state = ClientState.CLOSED
        self.close_reason = reason
        self._end_signs()
        self._drop_ingress()
        self.publication.close()
        self.subscription.close()

    def close(self) -> None:
        """Tell the cluster that the session ends, and end it here."""
        if self.state is ClientState.CONNECTED and not self._aeron.closed:
            request = SessionCloseRequest(
                leadership_term_id=self.leadership_term_id, cluster_session_id=self.session_id
            ).encode()
            for _ in range(3):
                if self.publication.closed or self.publication.offer(request) > 0:
                    break
        self.end("closed by the client")

    def _drop_ingress(self) -> None:
        if self._ingress is not None:
            self._ingress.close()
            self._ingress = None

    # -- steps -----------------------------------------------------------------------------------

    def sending(self, data: Buffer, deadline_ns: int | None) -> Steps[int]:
        """Offer a message until it is taken; the position behind it in the ingress stream."""
        while True:
            self.check_open()
            result = self.offer(data)
            if result > 0:
                return int(result)
            if result == OfferStatus.MAX_POSITION_EXCEEDED:
                raise ClusterError("the ingress stream has been used up: connect anew")
            if deadline_ns is not None and self._options.clock.now_ns() > deadline_ns:
                raise TimeoutError(f"the cluster's ingress took no message: {result!r}")
            yield self.poll()

    def messages(self) -> Parts[EgressMessage]:
        """What comes, until the session ends."""
        while True:
            yield from self._awaiting(FRAGMENT_LIMIT)
            # One at a time: what an abandoned iteration has not given stays for the next.
            if (message := self._egress.take_message()) is not None:
                yield [message]

    def batches(self, limit: int) -> Parts[EgressBatch]:
        """What comes, as much at a time as there is, until the session ends."""
        while True:
            yield from self._awaiting(limit)
            yield [self.take()]

    def _awaiting(self, limit: int) -> Steps[None]:
        """Poll until there are messages."""
        while not len(self._egress):
            work = self.poll(limit, in_order=True)
            if not len(self._egress):
                self.check_open()
                yield work

    def asking(self, request: AdminRequest, deadline_ns: int) -> Steps[AdminResponse]:
        """Send an admin request and wait for its answer."""
        encoded = request.encode()
        sent = False
        self._answers[request.correlation_id] = None
        try:
            while True:
                self.check_open()
                if not sent and self.state is ClientState.CONNECTED:
                    sent = self.publication.offer(encoded) > 0
                work = self.poll()
                answer = self._answers[request.correlation_id]
                if answer is not None:
                    return answer
                if self._options.clock.now_ns() > deadline_ns:
                    raise TimeoutError(
                        f"no answer to admin request {request.request_type.name} within"
                        f" {self._options.message_timeout} s"
                    )
                yield work
        finally:
            del self._answers[request.correlation_id]
