"""The clients of a cluster: one waits, the other is awaited (spec cluster 8)."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Self

from aerolog.cluster.client.cluster_connection import ClusterConnection
from aerolog.cluster.client.cluster_session import BATCH_LIMIT, ClientState
from aerolog.cluster.client.options import ClusterClientOptions
from aerolog.cluster.errors import ClusterError, SessionClosedError
from aerolog.cluster.protocol import AdminRequest, AdminRequestType, AdminResponseCode
from aerolog.transport.client import Aeron
from aerolog.transport.client.aio import AsyncAeron
from aerolog.transport.client.steps.awaited_caller import AwaitedCaller
from aerolog.transport.client.steps.caller import (
    AwaitedForm,
    WaitingCaller,
    WaitingForm,
    operation,
    series,
)
from aerolog.transport.client.steps.session_connection import connected
from aerolog.transport.time_units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from aerolog.cluster.client.cluster_session import ClusterSession
    from aerolog.cluster.client.egress_batch import EgressBatch
    from aerolog.cluster.client.egress_message import EgressMessage
    from aerolog.transport.client.claim import BufferClaim
    from aerolog.transport.client.status import OfferStatus
    from aerolog.transport.client.steps.caller import Parts, Steps
    from aerolog.transport.protocol.sbe import Buffer


class ClusterClientBase:
    """A client with at most one session.

    Attributes:
        options: the options, checked when the client was made.
        aeron: the transport client in use.
    """

    def __init__(self, aeron: Aeron | None, aeron_dir: str | None, options: dict[str, Any]) -> None:
        self.options = ClusterClientOptions.of(**options)
        self._owns_aeron = aeron is None
        self.aeron = aeron or Aeron(aeron_dir, name=self.options.name or "cluster-client")
        self._session: ClusterSession | None = None

    # -- the session -----------------------------------------------------------------------------

    def _turn(self) -> None:
        """Turn a transport client that has no thread of its own."""
        if self.aeron.options.invoker:
            self.aeron.do_work()

    def _connect(self) -> Steps[None]:
        self._session = yield from connected(ClusterConnection(self.aeron, self.options))

    @property
    def session(self) -> ClusterSession:
        """The session.

        Raises:
            SessionClosedError: there is none.
        """
        if self._session is None:
            raise SessionClosedError("the client has no session: connect first")
        return self._session

    @property
    def state(self) -> ClientState:
        """What the client knows of its session."""
        return ClientState.CLOSED if self._session is None else self._session.state

    @property
    def cluster_session_id(self) -> int:
        """The cluster's id of the session."""
        return self.session.session_id

    @property
    def leader_member_id(self) -> int:
        """The member that leads."""
        return self.session.leader_member_id

    @property
    def leadership_term_id(self) -> int:
        """The leader's term."""
        return self.session.leadership_term_id

    @property
    def uncertain_offers(self) -> int:
        """How many offers a leader that was lost had taken: each may be in the log, or not.

        Ingress has no receipts. Number the messages and repeat those without an answer; the service
        drops what it has seen.
        """
        return self.session.uncertain

    # -- without waiting -------------------------------------------------------------------------

    def offer(self, data: Buffer) -> int | OfferStatus:
        """Offer a message to the cluster, without waiting.

        Args:
            data: anything with a contiguous buffer.

        Returns:
            The position behind it in the ingress stream, or the OfferStatus that says why not:
            NOT_CONNECTED while a new leader is awaited, CLOSED when the session has ended.
        """
        return self.session.offer(data)

    def offer_many(
        self, messages: Sequence[Buffer], *, start: int = 0, limit: int | None = None
    ) -> int:
        """Offer messages of a sequence in one call, as many as there is room for, without waiting.

        Args:
            messages: a list, tuple or other sequence of buffers; a two-dimensional array gives
                one message a row.
            start: index of the first message to offer.
            limit: the largest number of messages to offer.

        Returns:
            How many the ingress took; ``last_result`` says where or why it stopped. Go on with
            ``start`` moved by it. None is taken while a new leader is awaited.

        Raises:
            MessageTooLargeError: the first message can never be sent.
            TypeError: no sequence, or one of something that has no buffer.
        """
        return self.session.offer_batch(lambda offers: offers.offer_many(messages, start, limit))

    def offer_array(self, array: Any, *, start: int = 0, limit: int | None = None) -> int:
        """Offer one message a row of an array, as many as there is room for.

        Args:
            array: anything with a buffer of one dimension (an item a message) or more (the bytes
                of a row a message), rows evenly spaced, a row contiguous.
            start: index of the first row to offer.
            limit: the largest number of messages to offer.

        Returns:
            The number of messages taken, as `offer_many` does.

        Raises:
            ValueError: no dimension, or rows that are not contiguous.
        """
        return self.session.offer_batch(lambda offers: offers.offer_array(array, start, limit))

    def offer_arrow(self, array: Any, *, start: int = 0, limit: int | None = None) -> int:
        """Offer one message a value of Arrow memory, as many as there is room for.

        Args:
            array: anything with ``__arrow_c_array__`` or ``__arrow_c_stream__``: binary or string
                values, or a record batch with a column ``data``; no nulls.
            start: index of the first value to offer.
            limit: the largest number of messages to offer.

        Returns:
            The number of messages taken, as `offer_many` does.

        Raises:
            TypeError: no Arrow memory, or values of another type.
            ValueError: nulls, or memory that does not hold together.
        """
        return self.session.offer_batch(lambda offers: offers.offer_arrow(array, start, limit))

    @property
    def last_result(self) -> int | OfferStatus:
        """The position after, or the OfferStatus that ended, the last batch call."""
        return self.session.last_result

    def try_claim(self, length: int) -> BufferClaim | OfferStatus:
        """Claim room for a message of ``length`` bytes; it begins at byte 32 of the claim's buffer.

        The first 32 bytes are the session's header, which is filled in.
        """
        return self.session.try_claim(length)

    def keep_alive(self) -> bool:
        """Tell the cluster that the client is there; messages tell it as well.

        A session ends that is silent for the cluster's session timeout, 10 s by default.
        """
        return self.session.keep_alive()

    def poll_messages(self, limit: int = 10) -> list[EgressMessage]:
        """Read at most ``limit`` fragments, and return the messages in them.

        Raises:
            SessionClosedError: the session has ended, and all that came before was returned.
            DriverTimeoutError: the driver is gone.
        """
        return list(self.poll_batch(limit))

    def poll_batch(self, limit: int = BATCH_LIMIT) -> EgressBatch:
        """Read at most ``limit`` fragments in one native call, and return the messages as a batch.

        A batch is a sequence of EgressMessage and has columns for NumPy and Arrow: ``data``,
        ``ends``, ``timestamps``, ``session_ids``, ``leadership_term_ids``, ``positions`` and
        ``to_arrow()``. It ends before an event, which the next call handles: ``on_new_leader`` and
        ``on_session_event`` are called between the messages where the cluster sent them.

        Raises:
            SessionClosedError: the session has ended, and all that came before was returned.
            DriverTimeoutError: the driver is gone.
            ValueError: the limit is negative.
        """
        session = self.session
        session.poll(limit, in_order=True)
        found = session.take()
        if not len(found):
            session.check_open()
        return found

    def poll(self, handler: Callable[[EgressMessage], object], limit: int = 10) -> int:
        """Call a handler with each message that has come; returns their number."""
        found = self.poll_batch(limit)
        for message in found:
            handler(message)
        return len(found)

    # -- waiting or awaited ----------------------------------------------------------------------

    @operation
    def send(self, data: Buffer, *, timeout: float | None = None) -> Steps[int]:
        """Offer a message until the cluster's ingress takes it.

        Args:
            data: anything with a contiguous buffer.
            timeout: seconds; the message timeout by default.

        Returns:
            The position behind it in the ingress stream. This is no receipt.

        Raises:
            TimeoutError: it was not taken in time.
            SessionClosedError: the session has ended.
        """
        seconds = self.options.message_timeout if timeout is None else timeout
        deadline_ns = self.options.clock.now_ns() + round(seconds * NS_PER_S)
        return (yield from self.session.sending(data, deadline_ns))

    @series
    def messages(self) -> Parts[EgressMessage]:
        """Iterate over what services send to this session, until it ends.

        Raises:
            SessionClosedError: it has ended.
        """
        yield from self.session.messages()

    @series
    def batches(self, limit: int = BATCH_LIMIT) -> Parts[EgressBatch]:
        """Iterate over batches of what services send to this session, until it ends.

        Args:
            limit: the largest number of fragments of a batch, which has at least one message;
                see `poll_batch`.

        Raises:
            SessionClosedError: it has ended.
        """
        yield from self.session.batches(limit)

    @operation
    def take_snapshot(self) -> Steps[None]:
        """Ask the cluster for a snapshot, which an operator may.

        Raises:
            ClusterError: it was refused.
            TimeoutError: no answer within the message timeout.
        """
        session = self.session
        request = AdminRequest(
            leadership_term_id=session.leadership_term_id,
            cluster_session_id=session.session_id,
            correlation_id=self.aeron.next_correlation_id(),
            request_type=AdminRequestType.SNAPSHOT,
        )
        deadline_ns = self.options.clock.now_ns() + self.options.message_timeout_ns
        answer = yield from session.asking(request, deadline_ns)
        if answer.response_code != AdminResponseCode.OK:
            raise ClusterError(f"{answer.response_code.name}: {answer.message}")

    @operation
    def reconnect(self) -> Steps[None]:
        """End the session and connect anew; the new session has another id.

        Raises:
            AeronTimeoutError: no leader answered.
            ClusterError: the cluster refused the session.
        """
        yield from self.reconnecting()

    def reconnecting(self) -> Steps[None]:
        """The steps of `reconnect`."""
        if self._session is not None:
            self._session.close()
        yield from self._connect()

    # -- the end ---------------------------------------------------------------------------------

    def _close(self) -> None:
        if self._session is not None:
            self._session.close()
        if self._owns_aeron:
            self.aeron.close()

    def __del__(self) -> None:
        session = getattr(self, "_session", None)
        if session is None or session.state is ClientState.CLOSED or self.aeron.conductor.forked:
            return
        warnings.warn(f"unclosed {self!r}", ResourceWarning, source=self, stacklevel=2)
        self._close()

    def __repr__(self) -> str:
        number = "" if self._session is None else f" session {self._session.session_id}"
        return f"<{type(self).__name__} {self.options.ingress_channel}{number} {self.state.value}>"


class AeronCluster(ClusterClientBase, WaitingForm):
    """A session with a cluster, for one thread.

    Example:
        with AeronCluster(aeron, ingress_channel=ipc, egress_channel=ipc) as cluster:
            cluster.send(b"bid 7 100")
            for message in cluster.messages(): ...
    """

    def __init__(
        self,
        aeron: Aeron | None = None,
        *,
        aeron_dir: str | None = None,
        idle: Callable[[int], object] | None = None,
        **options: Any,
    ) -> None:
        """Connect to a cluster.

        Args:
            aeron: the transport client to use. Without one the session makes its own, which it
                closes at its end.
            aeron_dir: the driver's directory, for a transport client that the session makes.
            idle: called while waiting, with the number of things done since the last call.
            options: see ClusterClientOptions: ingress_channel, ingress_endpoints, egress_channel,
                message_timeout (seconds), name, credentials, on_challenge, on_new_leader, ...

        Raises:
            AeronTimeoutError: no leader answered.
            ClusterError: the cluster refused the session.
        """
        super().__init__(aeron, aeron_dir, options)
        self.caller = WaitingCaller(self._turn, idle)
        try:
            self.caller.carry_out(self._connect())
        except BaseException:
            self._close()
            raise

    def close(self) -> None:
        """End the session, and close the transport client if this one made it."""
        self._close()


class AsyncAeronCluster(ClusterClientBase, AwaitedForm):
    """A session with a cluster, for one event loop; see `AeronCluster` for the operations."""

    def __init__(self, aeron: Aeron | None, aeron_dir: str | None, options: dict[str, Any]) -> None:
        """Prepare a client without a session; `connect` makes both."""
        super().__init__(aeron, aeron_dir, options)
        self.caller = AwaitedCaller(self._turn)

    @classmethod
    async def connect(
        cls,
        aeron: Aeron | AsyncAeron | None = None,
        *,
        aeron_dir: str | None = None,
        **options: Any,
    ) -> Self:
        """Connect to a cluster; the arguments are those of `AeronCluster`, without ``idle``."""
        client = aeron.aeron if isinstance(aeron, AsyncAeron) else aeron
        cluster = cls(client, aeron_dir, options)
        try:
            await cluster.caller.carry_out(cluster._connect())
        except BaseException:
            cluster._close()
            raise
        return cluster

    async def close(self) -> None:
        """End the session, and close the transport client if this one made it."""
        self._close()
