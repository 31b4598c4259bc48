"""An agent that processes the events of a log, as its sessions see it (spec cluster 11)."""

from libc.stdint cimport uint8_t

from aerolog.cluster.protocol.session_header cimport SESSION_HEADER_LENGTH, put_session_header
from aerolog.transport.concurrent.agent cimport Agent
from aerolog.transport.time_units cimport NS_PER_S

from aerolog.cluster.errors import ClusterError

SEND_TIMEOUT_NS = 100_000_000


cdef double recent_ns(waits_t* waits, int64_t now_ns) noexcept nogil:
    """How much of what was waited still counts."""
    cdef double age = <double> (now_ns - waits.as_of_ns) / NS_PER_S
    waits.ns = waits.ns * (1.0 - age) if age < 1.0 else 0.0
    waits.as_of_ns = now_ns
    return waits.ns


cdef class EventAgent(Agent):
    """Knows which event is processed, and what is allowed meanwhile.

    Args:
        role_name: the agent's name.

    Attributes:
        time: the cluster's time, from the event that is processed.
        log_position: the log's position behind it; -1 before the first.
        leadership_term_id: the leader's term; -1 before the first.
        is_answering: whether messages to clients are sent: by the leader, if configured.
        in_batch: whether a batch of messages is processed.
        callback: a method of the service in which requests are refused; empty otherwise.
        send_timeout_ns: the longest wait within a second for all clients that make no room.
        missed: messages that clients missed, of all sessions.
        egress_wait_ns: how long the service has waited for clients, in all.
    """

    def __cinit__(self, *_: object, **__: object) -> None:
        self.log_position = self.leadership_term_id = -1
        self.callback = ""
        self.send_timeout_ns = SEND_TIMEOUT_NS

    cdef int64_t share_ns(self, waits_t* own, int64_t now_ns) noexcept nogil:
        cdef double left_ns = self.send_timeout_ns - recent_ns(&self._waits, now_ns)
        return <int64_t> ((left_ns - recent_ns(own, now_ns)) / 2)

    cdef void add_wait(self, waits_t* own, int64_t began_ns, int64_t now_ns) noexcept nogil:
        cdef int64_t waited_ns = now_ns - began_ns
        self.egress_wait_ns += waited_ns
        self._waits.ns += waited_ns
        own.ns += waited_ns

    cpdef int check_callback(self, str request) except -1:
        if self.callback:
            raise ClusterError(
                f"{request} is not allowed in {self.callback}: only where an event of the log is"
                " processed"
            )
        return 0

    def check_single(self, name: str, field: str) -> None:
        """Check that events are processed one by one.

        Raises:
            ClusterError: a batch is processed.
        """
        if self.in_batch:
            raise ClusterError(
                f"cluster.{name} is not known in on_session_messages: use the {field} of each"
                " message"
            )

    def egress_header(self, session_id: int) -> bytes:
        """Return the header of a message to a session: 32 bytes."""
        cdef uint8_t header[SESSION_HEADER_LENGTH]
        put_session_header(header, self.leadership_term_id, session_id, self.time)
        return header[:SESSION_HEADER_LENGTH]
