"""A client's session, as a service sees it (spec cluster 8, 11)."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint8_t

from aerolog.cluster.protocol.session_header cimport SESSION_HEADER_LENGTH, put_session_header
from aerolog.cluster.service.event_agent cimport EventAgent
from aerolog.transport.logbuffer.appender cimport (
    ADMIN_ACTION,
    BACK_PRESSURED,
    NOT_CONNECTED,
    slice_t,
)

from aerolog.transport.client.steps.added_stream import give_up
from aerolog.transport.client.status import OfferStatus
from aerolog.transport.errors import AerologError
from aerolog.transport.resource import Resource


cdef enum:
    ITS_SHARE = -1   # the timeout of a call without one


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


cdef class ClientSession:
    """An open session.

    Args:
        agent: the agent that processes the log.
        session_id: the cluster's id of the session.
        response_stream_id: stream of the client's egress.
        response_channel: channel of the client's egress.
        principal: what the authenticator found the client to be, encoded.

    Attributes:
        session_id: the cluster's id of it.
        response_stream_id: stream of the client's egress.
        response_channel: channel of the client's egress.
        principal: what the authenticator found the client to be, encoded.
        is_closing: whether the service has asked for the session's end.
        missed: how many messages the client has missed of those that were sent by this member.
        is_missing: whether it misses messages now, until it is connected and reads again.
    """

    def __cinit__(
        self,
        EventAgent agent not None,
        session_id: int,
        response_stream_id: int,
        str response_channel not None,
        bytes principal not None,
    ) -> None:
        self._agent = agent
        self.session_id = session_id
        self.response_stream_id = response_stream_id
        self.response_channel = response_channel
        self.principal = principal

    # -- egress ----------------------------------------------------------------------------------

    def offer(self, data: object) -> int | OfferStatus:
        """Offer a message to the client, without waiting.

        Only the leader's service sends. On other members, and while a log is replayed, nothing is
        sent, and the result is 1, so that the service does the same on all members.

        Returns:
            A position, or the OfferStatus that says why not. A client whose egress is not connected
            yet, or that does not read, gives NOT_CONNECTED or BACK_PRESSURED.

        Raises:
            ClusterError: called where no message is processed, for example in ``on_start``.
        """
        cdef int64_t result = self.offer_buffer(data)
        return result if result > 0 else OfferStatus(result)

    def offer_vectors(self, parts: Iterable[Buffer]) -> int | OfferStatus:
        """Offer a message that is made of parts; see `offer`."""
        self._agent.check_callback("an offer to a session")
        if not self._agent.is_answering:
            return UNSENT
        if not self._is_ready():
            return OfferStatus.NOT_CONNECTED
        header = self._agent.egress_header(self.session_id)
        return self._publication.offer_parts((header, *parts))

    cdef int64_t offer_bytes(self, const uint8_t* data, int64_t length) noexcept nogil:
        cdef uint8_t header[SESSION_HEADER_LENGTH]
        cdef slice_t parts[2]
        if not self._agent.is_answering:
            return UNSENT
        if self._publication is None:
            return NOT_CONNECTED
        put_session_header(
            header, self._agent.leadership_term_id, self.session_id, self._agent.time
        )
        parts[0].address = header
        parts[0].length = SESSION_HEADER_LENGTH
        parts[1].address = data
        parts[1].length = length
        return self._publication.appender.append_slices(parts, 2, NULL)

    cdef bint send_bytes(self, const uint8_t* data, int64_t length) noexcept nogil:
        cdef int64_t result = self.offer_bytes(data, length)
        if result <= 0:
            return not self._waits(result, self._agent.now_ns, ITS_SHARE)
        if self._wait_began_ns != 0:
            self._end_wait(self._agent.now_ns)
        self.is_missing = False
        return True

    cdef bint _waits(self, int64_t result, int64_t now_ns, int64_t timeout_ns) noexcept nogil:
        """Whether to offer again what was not taken; otherwise the client misses it."""
        if (
            result == ADMIN_ACTION
            or result == BACK_PRESSURED
            or (result == NOT_CONNECTED and self._adding is not None)
        ) and not self.is_closing:
            if self._wait_began_ns == 0:
                if timeout_ns == ITS_SHARE:
                    timeout_ns = self._agent.share_ns(&self._waits_before, now_ns)
                # A client that misses messages makes nobody wait again until it reads.
                if result == ADMIN_ACTION or (timeout_ns > 0 and not self.is_missing):
                    self._wait_began_ns = now_ns
                    self._longest_ns = timeout_ns
                    return True
            elif now_ns - self._wait_began_ns < self._longest_ns:
                return True
        self._end_wait(now_ns)
        self.is_missing = True
        self.missed += 1
        self._agent.missed += 1
        return False

    cdef void _end_wait(self, int64_t now_ns) noexcept nogil:
        if self._wait_began_ns != 0:
            self._agent.add_wait(&self._waits_before, self._wait_began_ns, now_ns)
            self._wait_began_ns = 0

    cdef int64_t offer_buffer(self, object data) except? -100:
        cdef Py_buffer buffer
        cdef int64_t result
        self._agent.check_callback("an offer to a session")
        PyObject_GetBuffer(data, &buffer, PyBUF_SIMPLE)
        try:
            if not self._agent.is_answering:
                return UNSENT
            if not self._is_ready():
                return NOT_CONNECTED
            self._publication.ready()
            result = self.offer_bytes(<const uint8_t*> buffer.buf, buffer.len)
            if result < 0:
                self._publication.answer(result, SESSION_HEADER_LENGTH + buffer.len)
            return result
        finally:
            PyBuffer_Release(&buffer)

    def try_claim(self, length: int) -> BufferClaim | UnsentClaim | OfferStatus:
        """Claim room for a message of ``length`` bytes; it begins at byte 32 of the claim's buffer.

        The first 32 bytes are the session's header, which is filled in.
        """
        self._agent.check_callback("a claim")
        if not self._agent.is_answering:
            return UnsentClaim(SESSION_HEADER_LENGTH + length)
        if not self._is_ready():
            return OfferStatus.NOT_CONNECTED
        claim = self._publication.try_claim(SESSION_HEADER_LENGTH + length)
        if claim:
            claim.buffer[:SESSION_HEADER_LENGTH] = self._agent.egress_header(self.session_id)
        return claim

    def send(self, data: object, *, timeout: float | None = None) -> int | OfferStatus:
        """Offer a message until the client's egress takes it, or the client misses it.

        The call waits while the egress is full, because the client does not read as fast. All
        clients together make a service wait for ``aerolog.cluster.service.send.timeout`` within a
        second, and a client has half of what the others have left of that. One that has not made
        room by then, or is not connected, misses what comes until it is connected and reads again,
        so that it makes the others wait once only. `missed` counts what it has missed.

        Args:
            data: anything with a contiguous buffer.
            timeout: seconds to wait at most, in place of the client's share.

        Returns:
            A position, or why the last try failed. Services may not let their state depend on it,
            because only the leader's service sends.
        """
        cdef int64_t result = self.send_buffer(data, self.timeout_ns(timeout))
        return result if result > 0 else OfferStatus(result)

    cdef int64_t timeout_ns(self, object timeout) except? -100:
        return ITS_SHARE if timeout is None else max(round(timeout * 1e9), 0)

    cdef int64_t send_buffer(self, object data, int64_t timeout_ns) except? -100:
        cdef int64_t result = self.offer_buffer(data)
        while result <= 0 and self._waits(result, self._agent.clock.now_ns(), timeout_ns):
            self._agent.idle(0)
            result = self.offer_buffer(data)
        if result > 0:
            if self._wait_began_ns != 0:
                self._end_wait(self._agent.clock.now_ns())
            self.is_missing = False
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
            self._adding = self._agent.aeron.add_publication_async(
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
        self.is_missing = False
        self._wait_began_ns = 0

    def is_connecting(self) -> bool:
        """Return whether the driver has not added the publication yet; takes it when it has."""
        return not self._is_ready() and self._adding is not None

    cdef bint _is_ready(self) except -1:
        """Whether the driver has added the publication."""
        if self._adding is not None and self._adding.done():
            adding, self._adding = self._adding, None
            try:
                self._publication = adding.result(0)
            except AerologError as error:
                self._agent.report(error)
        return self._publication is not None

    def __reduce__(self) -> object:
        raise TypeError("ClientSession belongs to this process: it cannot be pickled")

    def __repr__(self) -> str:
        return f"<ClientSession {self.session_id} {self.response_channel}>"
