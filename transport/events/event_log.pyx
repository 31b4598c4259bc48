"""The ring of events, to which any thread writes and from which one thread reads.

A record holds the time in nanoseconds of the monotonic clock, the length of the event, and the part
of the event that is kept.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t
from libc.string cimport memcpy

from aerolog.transport.concurrent.atomic cimport get_and_add_i64, load_acquire_i64
from aerolog.transport.concurrent.clock cimport Clock
from aerolog.transport.memory.mapped_file cimport MappedFile
from aerolog.transport.memory.ring_buffer cimport ManyToOneRingBuffer
from aerolog.transport.network.port cimport address_t

import struct

from aerolog.transport.concurrent.clock import SystemClock
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.memory.ring_buffer import TRAILER_LENGTH as _TRAILER_LENGTH

cdef enum:
    RECORD_HEADER = 16
    IPV4_FAMILY = 2

cdef int64_t _MIN_LENGTH = 64 * 1024
cdef int64_t _MAX_LENGTH = 1 << 30

_HEADER = struct.Struct("<qii")


cdef extern from "<arpa/inet.h>" nogil:
    uint16_t ntohs(uint16_t port)


cdef class EventLog:
    """A ring of events of one process.

    Args:
        length: bytes of the ring: a power of two, 64 KiB to 1 GiB.
        clock: gives the times of events; the machine's if None.

    Raises:
        ConfigurationError: if the ring cannot have this length.
    """

    def __init__(self, length: int = 8 * 1024 * 1024, clock: Clock | None = None) -> None:
        if length & (length - 1) or not _MIN_LENGTH <= length <= _MAX_LENGTH:
            raise ConfigurationError(
                f"aeron.event.buffer.length={length} must be a power of two from {_MIN_LENGTH} to "
                f"{_MAX_LENGTH}"
            )
        self._clock = clock if clock is not None else SystemClock()
        self._mapped = MappedFile.anonymous(length + _TRAILER_LENGTH)
        self.ring = ManyToOneRingBuffer(self._mapped)

    cdef void put(
        self, int32_t code, const void* head, int32_t head_length, const void* body,
        int32_t body_length,
    ) noexcept nogil:
        cdef int32_t total = head_length + body_length
        cdef int32_t kept_head = min(head_length, <int32_t> CAPTURE_LIMIT)
        cdef int32_t kept_body = min(body_length, <int32_t> CAPTURE_LIMIT - kept_head)
        cdef int64_t now_ns = self._clock.nano_time()
        cdef int64_t index = self.ring.claim(code, RECORD_HEADER + kept_head + kept_body)
        cdef uint8_t* at
        if index < 0:
            get_and_add_i64(&self._lost, 1)
            return
        at = self.ring.claimed(index)
        memcpy(at, &now_ns, 8)
        memcpy(at + 8, &total, 4)
        memcpy(at + 12, &code, 4)
        if kept_head > 0:
            memcpy(at + RECORD_HEADER, head, kept_head)
        if kept_body > 0:
            memcpy(at + RECORD_HEADER + kept_head, body, kept_body)
        self.ring.commit_claim(index)

    def write(self, code: int, payload: bytes) -> None:
        """Write one event, from any thread; without room for it, it is counted as lost.

        Args:
            code: code of component and event, above 0.
            payload: the fields of the event, in the form that its reader knows.
        """
        cdef const uint8_t* data = payload
        self.put(code, data, <int32_t> len(payload), NULL, 0)

    def read(self, handler, limit: int = 256) -> int:
        """Read events, the oldest first; only one thread may do so.

        Args:
            handler: called with the code, the time in ns, the event's length in bytes, and the
                bytes of it that were kept.
            limit: greatest number of events to read.

        Returns:
            The number of events read.
        """
        def on_record(type_id, record):
            time_ns, length, _ = _HEADER.unpack_from(record)
            handler(type_id, time_ns, length, record[RECORD_HEADER:])

        return self.ring.read(on_record, limit)

    def take_lost(self) -> int:
        """Return how many events were lost since the last call."""
        cdef int64_t lost = load_acquire_i64(&self._lost)
        cdef int64_t fresh = lost - self._lost_told
        self._lost_told = lost
        return fresh


cdef class StreamEvents:
    """One stream of a channel, as the events of the sender's thread name it.

    Args:
        log: the log for the events.
        session_id, stream_id: the ids of the stream, int32.
        channel: the text of the channel.
        resend: code for data that is sent again; 0 if not logged.
        receiver_added: code for a receiver that joins flow control; 0 if not logged.
        receiver_removed: code for a receiver that leaves flow control; 0 if not logged.
    """

    def __init__(
        self,
        EventLog log not None,
        session_id: int,
        stream_id: int,
        channel: str,
        *,
        resend: int = 0,
        receiver_added: int = 0,
        receiver_removed: int = 0,
    ) -> None:
        text = channel.encode()
        self._log = log
        self.session_id = session_id
        self.stream_id = stream_id
        self._tail = len(text).to_bytes(4, "little") + text
        self._tail_at = self._tail
        self._tail_length = <int32_t> len(self._tail)
        self._resend_code = resend
        self._added_code = receiver_added
        self._removed_code = receiver_removed

    cdef void resend(self, int32_t term_id, int32_t term_offset, int32_t length) noexcept nogil:
        cdef int32_t[5] head = [self.session_id, self.stream_id, term_id, term_offset, length]
        if self._resend_code > 0:
            self._log.put(self._resend_code, head, sizeof(head), self._tail_at, self._tail_length)

    cdef void receiver_added(self, int64_t receiver_id, int32_t count) noexcept nogil:
        self._receiver(self._added_code, receiver_id, count)

    cdef void receiver_removed(self, int64_t receiver_id, int32_t count) noexcept nogil:
        self._receiver(self._removed_code, receiver_id, count)

    cdef void _receiver(self, int32_t code, int64_t receiver_id, int32_t count) noexcept nogil:
        cdef uint8_t[20] head
        if code <= 0:
            return
        memcpy(head, &count, 4)
        memcpy(head + 4, &receiver_id, 8)
        memcpy(head + 12, &self.session_id, 4)
        memcpy(head + 16, &self.stream_id, 4)
        self._log.put(code, head, sizeof(head), self._tail_at, self._tail_length)


cdef int32_t write_address(uint8_t* target, const address_t* address) noexcept nogil:
    """Write port, length of the host and host; the host is empty unless it is IPv4 or IPv6."""
    cdef uint16_t family = 0
    cdef uint16_t port = 0
    cdef int32_t wide_port = 0
    cdef int32_t host_length = 0
    cdef int32_t host_at = 0
    if address != NULL and address.length > 0:
        memcpy(&family, address.bytes, 2)
        memcpy(&port, address.bytes + 2, 2)
        wide_port = ntohs(port)
        host_length = 4 if family == IPV4_FAMILY else 16
        host_at = 4 if family == IPV4_FAMILY else 8
    memcpy(target, &wide_port, 4)
    memcpy(target + 4, &host_length, 4)
    if host_length > 0:
        memcpy(target + 8, &address.bytes[host_at], host_length)
    return 8 + host_length
