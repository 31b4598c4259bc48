"""State that all parts of the sender use in a cycle: time, counters, reports, messages to send.

Frames of different streams that share an endpoint leave in one call, and those of one length as one
run that the kernel cuts: heartbeats of a thousand idle streams are a few system calls. Each stream
is told the result of its messages when the batch is sent, in the same cycle.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free

from aerolog.transport.concurrent.atomic cimport (
    get_and_add_i64,
    load_acquire_i64,
    store_release_i64,
)
from aerolog.transport.concurrent.clock cimport Clock
from aerolog.transport.concurrent.queue cimport SpscQueue, record_t
from aerolog.transport.driver.send.send_endpoint cimport SendEndpoint
from aerolog.transport.memory.counters cimport CountersReader
from aerolog.transport.network.port cimport address_t, outgoing_t, same_address

from aerolog.transport.counters.system_counters import SystemCounter

cdef enum:
    # The last places of the queue, which are reserved for releases.
    RELEASE_RESERVE = 64


cdef class BatchStream(PublicationStream):
    """A stream whose messages can be part of a batch."""

    cdef int64_t on_sent(
        self, SendContext context, int kind, int64_t taken, int32_t length, int32_t padding
    ) noexcept nogil:
        return taken


cdef class SendContext:
    """The state that everything run by one sender shares.

    Args:
        clock: the driver's clock.
        counters: the counters of the driver, with the system counters at fixed ids; kept alive.
        queue_length: how many events may wait, more than 64.
    """

    def __init__(self, Clock clock not None, CountersReader counters not None, queue_length):
        """Make the context of one sender.

        Args:
            clock: the driver's clock.
            counters: the counters of the driver, with the system counters at their fixed ids.
            queue_length: how many events may wait, more than 64.
        """
        self.clock = clock
        self._reader = counters
        self.events = SpscQueue(queue_length)
        self._reports = <report_t*> calloc(REPORT_LIMIT, sizeof(report_t))
        if self._reports == NULL:
            raise MemoryError
        self.counters.bytes_sent = self._address(SystemCounter.BYTES_SENT)
        self.counters.short_sends = self._address(SystemCounter.SHORT_SENDS)
        self.counters.heartbeats_sent = self._address(SystemCounter.HEARTBEATS_SENT)
        self.counters.status_messages_received = self._address(
            SystemCounter.STATUS_MESSAGES_RECEIVED
        )
        self.counters.status_messages_rejected = self._address(
            SystemCounter.STATUS_MESSAGES_REJECTED
        )
        self.counters.naks_received = self._address(SystemCounter.NAK_MESSAGES_RECEIVED)
        self.counters.retransmits_sent = self._address(SystemCounter.RETRANSMITS_SENT)
        self.counters.retransmitted_bytes = self._address(SystemCounter.RETRANSMITTED_BYTES)
        self.counters.retransmit_overflows = self._address(SystemCounter.RETRANSMIT_OVERFLOW)
        self.counters.invalid_packets = self._address(SystemCounter.INVALID_PACKETS)
        self.counters.error_frames_received = self._address(SystemCounter.ERROR_FRAMES_RECEIVED)
        self.counters.flow_control_limits = self._address(
            SystemCounter.SENDER_FLOW_CONTROL_LIMITS
        )

    def __dealloc__(self):
        free(self._reports)

    cdef int64_t* _address(self, int32_t counter_id) except NULL:
        cdef int64_t* address = self._reader.value_address(counter_id)
        if address == NULL:
            raise IndexError(f"no such counter: {counter_id}")
        return address

    # ---- the batch ------------------------------------------------------------------------------

    cdef void aim(
        self, SendEndpoint endpoint, const address_t* to, int messages
    ) noexcept nogil:
        if self._count > 0 and (
            self._endpoint != <void*> endpoint
            or self._count + messages > BATCH_MESSAGES
            or self._entry_count + messages > BATCH_ENTRIES
            or (endpoint.is_response and not same_address(&self._to, to))
        ):
            self.flush()
        if self._count == 0:
            self._endpoint = <void*> endpoint
            if endpoint.is_response:
                self._to = to[0]

    cdef int room(self) noexcept nogil:
        return min(BATCH_MESSAGES - self._count, BATCH_ENTRIES - self._entry_count)

    cdef uint8_t* frame(self) noexcept nogil:
        return self._frames + self._frame_bytes

    cdef void push_frame(self, BatchStream stream, int kind, int32_t length) noexcept nogil:
        cdef const uint8_t* data = self.frame()
        cdef outgoing_t* last = NULL
        if self._count > 0:
            last = &self._messages[self._count - 1]
        if last != NULL and last.data + last.length == data and last.segment == length:
            last.length += length
            self._note(stream, kind, length, 0)
        else:
            self.push(stream, kind, data, length, length, 0)
        self._frame_bytes += length

    cdef void push(
        self,
        BatchStream stream,
        int kind,
        const uint8_t* data,
        int32_t length,
        int32_t segment,
        int32_t padding,
    ) noexcept nogil:
        cdef int at = self._count
        self._messages[at].data = data
        self._messages[at].length = length
        self._messages[at].segment = segment
        self._count = at + 1
        self._note(stream, kind, length, padding)

    cdef void _note(
        self, BatchStream stream, int kind, int32_t length, int32_t padding
    ) noexcept nogil:
        cdef entry_t* entry = &self._entries[self._entry_count]
        entry.stream = <void*> stream
        entry.kind = kind
        entry.length = length
        entry.padding = padding
        self._entry_count += 1

    cdef void flush(self) noexcept nogil:
        cdef int64_t left
        cdef int64_t taken
        cdef entry_t* entry
        cdef void* short_stream = NULL
        cdef int i
        if self._count == 0:
            return
        left = (<SendEndpoint> self._endpoint).transmit(
            self._messages, self._count, &self._to, self.now_ns
        )
        for i in range(self._entry_count):
            entry = &self._entries[i]
            taken = min(left, <int64_t> entry.length)
            left -= taken
            self.bytes_sent += (<BatchStream> entry.stream).on_sent(
                self, entry.kind, taken, entry.length, entry.padding
            )
            if taken < entry.length and entry.stream != short_stream:
                short_stream = entry.stream
                self.was_short = True
                get_and_add_i64(self.counters.short_sends, 1)
        if (<SendEndpoint> self._endpoint).last_error != 0:
            self._report_failure(<SendEndpoint> self._endpoint)
        self._count = 0
        self._entry_count = 0
        self._frame_bytes = 0

    # ---- events ---------------------------------------------------------------------------------

    cdef bint tell(self, int32_t kind, void* subject, int64_t a, int64_t b) noexcept nogil:
        cdef record_t record
        if self.events.size() >= self.events.capacity - RELEASE_RESERVE:
            return False
        record.kind = kind
        record.flags = 0
        record.pointer = subject
        record.a = a
        record.b = b
        record.c = 0
        record.d = 0
        return self.events.offer(&record)

    cdef bint tell_release(self, int32_t kind, void* subject) noexcept nogil:
        cdef record_t record
        record.kind = kind
        record.flags = 0
        record.pointer = subject
        record.a = record.b = record.c = record.d = 0
        return self.events.offer(&record)

    cdef report_t* next_report(self) noexcept nogil:
        cdef int64_t unread = self._report_head - load_acquire_i64(&self._report_tail)
        if unread >= REPORT_LIMIT:
            return NULL
        return self.report_at(self._report_head)

    cdef bint file_report(self, int32_t kind, void* subject) noexcept nogil:
        if not self.tell(kind, subject, self._report_head, 0):
            return False
        store_release_i64(&self._report_head, self._report_head + 1)
        return True

    cdef report_t* report_at(self, int64_t index) noexcept nogil:
        return &self._reports[index & (REPORT_LIMIT - 1)]

    cdef void free_report(self) noexcept nogil:
        store_release_i64(&self._report_tail, load_acquire_i64(&self._report_tail) + 1)

    cdef void _report_failure(self, SendEndpoint endpoint) noexcept nogil:
        cdef report_t* report = self.next_report()
        if report == NULL:
            return
        report.code = endpoint.last_error
        report.address = endpoint.last_error_where
        if self.file_report(EVENT_SEND_FAILED, <void*> endpoint):
            endpoint.last_error = 0
