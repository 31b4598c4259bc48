"""Messages of a log, for a service that takes them in batches (spec cluster 11)."""

import importlib
import operator

from cpython.buffer cimport PyBuffer_FillInfo
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

from aerolog.cluster.service.client_session cimport ClientSession

from aerolog.cluster.service.client_session import SEND_TIMEOUT

cdef enum:
    FIRST_ROOM = 16
    FIRST_BYTES = 4096


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


cdef class MessageBatch:
    """A sequence of `SessionMessage`, in the order of the log, which has columns as well.

    The bytes of all messages are behind each other in `data`, so that messages of one length are an
    array: ``numpy.frombuffer(batch.data, dtype)``. A batch keeps copies and may be kept.
    """

    def __cinit__(self) -> None:
        self._sessions = []

    def __dealloc__(self) -> None:
        free(self._entries)
        free(self._bytes)

    cdef int add(
        self, object session, int64_t session_id, int64_t timestamp, int64_t position,
        const uint8_t* data, int64_t length,
    ) except -1:
        cdef entry_t* entry
        cdef void* larger
        cdef int64_t room
        if self._count == self._room:
            room = max(FIRST_ROOM, 2 * self._room)
            larger = realloc(self._entries, room * sizeof(entry_t))
            if larger == NULL:
                raise MemoryError()
            self._entries = <entry_t*> larger
            self._room = <int32_t> room
        if self._length + length > self._byte_room:
            room = max(self._length + length, 2 * self._byte_room, <int64_t> FIRST_BYTES)
            larger = realloc(self._bytes, room)
            if larger == NULL:
                raise MemoryError()
            self._bytes = <uint8_t*> larger
            self._byte_room = room
        memcpy(self._bytes + self._length, data, length)
        self._length += length
        entry = &self._entries[self._count]
        self._sessions.append(session)
        entry.session_id = session_id
        entry.timestamp = timestamp
        entry.position = position
        entry.end = self._length
        self._count += 1
        return 0

    # -- as a sequence ---------------------------------------------------------------------------

    cdef object _message(self, int32_t index):
        cdef SessionMessage message = SessionMessage.__new__(SessionMessage)
        cdef entry_t* entry = &self._entries[index]
        cdef int64_t begin = self._entries[index - 1].end if index > 0 else 0
        message.session = self._sessions[index]
        message.timestamp = entry.timestamp
        message.data = PyBytes_FromStringAndSize(<char*> self._bytes + begin, entry.end - begin)
        message.position = entry.position
        return message

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[SessionMessage]:
        cdef int32_t index
        for index in range(self._count):
            yield self._message(index)

    def __getitem__(self, where: int | slice) -> SessionMessage | list[SessionMessage]:
        cdef int64_t index
        if isinstance(where, slice):
            return [self._message(each) for each in range(*where.indices(self._count))]
        index = operator.index(where)
        if index < 0:
            index += self._count
        if not 0 <= index < self._count:
            raise IndexError(f"message {where} of a batch of {self._count}")
        return self._message(<int32_t> index)

    # -- as columns ------------------------------------------------------------------------------

    @property
    def data(self) -> memoryview:
        """The bytes of all messages, one behind the other, read-only."""
        return memoryview(_BatchBytes(self))

    @property
    def ends(self) -> object:
        """Where each message ends in `data`: a NumPy array of int64."""
        return self._column(&self._entries[0].end if self._count else NULL)

    @property
    def session_ids(self) -> object:
        """Ids of the sessions, negative for services: a NumPy array of int64."""
        return self._column(&self._entries[0].session_id if self._count else NULL)

    @property
    def timestamps(self) -> object:
        """The cluster's times at which messages were appended: a NumPy array of int64."""
        return self._column(&self._entries[0].timestamp if self._count else NULL)

    @property
    def positions(self) -> object:
        """The log's positions behind the messages: a NumPy array of int64."""
        return self._column(&self._entries[0].position if self._count else NULL)

    cdef object _column(self, int64_t* first):
        numpy = importlib.import_module("numpy")
        column = numpy.empty(self._count, numpy.int64)
        cdef int64_t[::1] values = column
        cdef int32_t index
        for index in range(self._count):
            values[index] = (<int64_t*> (<char*> first + index * sizeof(entry_t)))[0]
        return column

    def to_arrow(self) -> object:
        """Return an Arrow record batch: session_id, timestamp, position, payload (binary)."""
        arrow = importlib.import_module("pyarrow")
        numpy = importlib.import_module("numpy")
        offsets = numpy.concatenate(([0], self.ends)).astype(numpy.int64)
        payload = arrow.Array.from_buffers(
            arrow.large_binary(),
            self._count,
            [None, arrow.py_buffer(offsets), arrow.py_buffer(self.data)],
        )
        return arrow.record_batch(
            [self.session_ids, self.timestamps, self.positions, payload],
            names=["session_id", "timestamp", "position", "payload"],
        )

    # -- answers ---------------------------------------------------------------------------------

    def answer(self, answers: Sequence[Buffer | None], *, timeout: float = SEND_TIMEOUT) -> int:
        """Send an answer to each message's session, as `ClientSession.send` does.

        Args:
            answers: as many as there are messages; None for a message without an answer. What a
                service offered to the log has no session, and its answer is passed over.
            timeout: seconds to wait for a client that does not read; what it misses is dropped.

        Returns:
            How many answers were sent, or would have been by the leader.

        Raises:
            ValueError: there are not as many answers as messages.
        """
        cdef int32_t index = 0
        cdef int32_t sent = 0
        cdef object session
        if len(answers) != self._count:
            raise ValueError(f"{len(answers)} answers to {self._count} messages")
        for answer in answers:
            if index == self._count:
                break  # its length was not that of what it gives
            session = self._sessions[index]
            index += 1
            if answer is None or session is None:
                continue
            if (<ClientSession> session).offer_buffer(answer) > 0:
                sent += 1
            else:
                sent += session.send(answer, timeout=timeout) > 0
        return sent

    def __repr__(self) -> str:
        return f"<MessageBatch of {self._count} messages, {self._length} bytes>"


cdef class _BatchBytes:
    """The bytes of a batch, which live as long as a view of them."""

    cdef MessageBatch _batch
    cdef uint8_t _nothing[1]

    def __cinit__(self, MessageBatch batch not None) -> None:
        self._batch = batch

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        # A batch without bytes has no memory, and nobody may be given an address of NULL.
        cdef void* address = self._batch._bytes if self._batch._bytes != NULL else self._nothing
        PyBuffer_FillInfo(buffer, self, address, self._batch._length, 1, flags)
