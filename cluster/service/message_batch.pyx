"""Messages of a log, for a service that takes them in batches (spec cluster 11)."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.cluster.message_columns cimport MessageColumns, entry_t
from aerolog.cluster.service.client_session cimport ClientSession


cdef class SessionMessage:
    """A message of the log.

    Attributes:
        session: the client's session; None for a message that a service offered to the log.
        timestamp: the cluster's time at which the leader appended it.
        data: what the client sent.
        position: the log's position behind it.
    """

    cdef readonly object session
    cdef readonly int64_t timestamp
    cdef readonly bytes data
    cdef readonly int64_t position

    def __init__(
        self, session: ClientSession | None, timestamp: int, bytes data not None, position: int
    ) -> None:
        self.session = session
        self.timestamp = timestamp
        self.data = data
        self.position = position

    def __repr__(self) -> str:
        return (
            f"SessionMessage(session={self.session!r}, timestamp={self.timestamp},"
            f" data={self.data!r}, position={self.position})"
        )


cdef class MessageBatch(MessageColumns):
    """A sequence of `SessionMessage`, in the order of the log, which has columns as well."""

    def __cinit__(self) -> None:
        self._sessions = []

    cdef int add(
        self, object session, const entry_t* entry, const uint8_t* data, int64_t length
    ) except -1:
        if not self.copy(entry, data, length):
            raise MemoryError(f"no memory for a batch with {length} bytes more")
        self._sessions.append(session)
        return 0

    cdef object message(self, int32_t index):
        cdef SessionMessage message = SessionMessage.__new__(SessionMessage)
        message.session = self._sessions[index]
        message.timestamp = self.entries[index].timestamp
        message.data = self.payload(index)
        message.position = self.entries[index].position
        return message

    # -- answers ---------------------------------------------------------------------------------

    def answer(self, answers: Sequence[Buffer | None], *, timeout: float | None = None) -> int:
        """Send an answer to each message's session, as `ClientSession.send` does.

        Args:
            answers: as many as there are messages; None for a message without an answer. What a
                service offered to the log has no session, and its answer is passed over.
            timeout: seconds to wait for a client that does not read, as in `ClientSession.send`.

        Returns:
            How many answers were sent, or would have been by the leader.

        Raises:
            ValueError: there are not as many answers as messages.
        """
        cdef int32_t index = 0
        cdef int32_t sent = 0
        cdef object session
        cdef ClientSession to
        if len(answers) != self.count:
            raise ValueError(f"{len(answers)} answers to {self.count} messages")
        for answer in answers:
            if index == self.count:
                break  # its length was not that of what it gives
            session = self._sessions[index]
            index += 1
            if answer is None or session is None:
                continue
            to = <ClientSession> session
            sent += to.send_buffer(answer, to.timeout_ns(timeout)) > 0
        return sent
