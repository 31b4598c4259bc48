"""State that all parts of the sender use in a cycle: time, counters, reports, messages to send."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.transport.concurrent.clock cimport Clock
from aerolog.transport.concurrent.queue cimport SpscQueue
from aerolog.transport.driver.conductor.driver_stream cimport PublicationStream
from aerolog.transport.driver.send.send_endpoint cimport SendEndpoint
from aerolog.transport.memory.counters cimport CountersReader
from aerolog.transport.protocol.frames cimport ERROR_TEXT_LIMIT
from aerolog.transport.network.port cimport address_t, outgoing_t

cdef enum:
    BATCH_MESSAGES = 64
    BATCH_ENTRIES = 256             # frames of one length are one message, a run
    FRAME_ROOM = 40                 # the longest frame that is written for a batch: a SETUP
    REPORT_LIMIT = 16               # power of two

cdef enum:
    # The kinds of messages in a batch
    SENT_DATA = 0
    SENT_HEARTBEAT = 1
    SENT_SETUP = 2

cdef enum:
    # Kinds of events
    EVENT_PUBLICATION_RELEASED = 1
    EVENT_ENDPOINT_RELEASED = 2
    EVENT_PUBLICATION_ERROR = 3
    EVENT_RESPONSE_SETUP = 4
    EVENT_RESPONSE_CONNECTED = 5
    EVENT_UNRESOLVED = 6
    EVENT_SEND_FAILED = 7

# System counters that the sender writes.
ctypedef struct send_counters_t:
    int64_t* bytes_sent
    int64_t* short_sends
    int64_t* heartbeats_sent
    int64_t* status_messages_received
    int64_t* status_messages_rejected
    int64_t* naks_received
    int64_t* retransmits_sent
    int64_t* retransmitted_bytes
    int64_t* retransmit_overflows
    int64_t* invalid_packets
    int64_t* error_frames_received
    int64_t* flow_control_limits

# What does not fit into an event's record.
ctypedef struct report_t:
    int64_t destination_registration_id
    int64_t receiver_id
    int64_t group_tag
    int32_t code
    address_t address
    int32_t text_length
    uint8_t text[ERROR_TEXT_LIMIT]


cdef class SendContext


cdef class BatchStream(PublicationStream):
    # Takes the result of one message: `length` bytes, how many were taken; padding follows the data
    # in the term. Returns the number of bytes to count as sent.
    cdef int64_t on_sent(
        self, SendContext context, int kind, int64_t taken, int32_t length, int32_t padding
    ) noexcept nogil


ctypedef struct entry_t:
    void* stream
    int32_t kind
    int32_t length
    int32_t padding


cdef class SendContext:
    cdef send_counters_t counters
    cdef Clock clock
    cdef int64_t now_ns
    cdef bint was_short                 # whether a message was not taken since this was cleared
    cdef int64_t bytes_sent             # since this was cleared
    # Whether there was progress, so that more may follow at once. Heartbeats and repeated status
    # messages do not set it, so that a driver with many silent streams can rest.
    cdef bint has_news
    cdef SpscQueue events
    cdef CountersReader _reader
    # Reports: written at the head, read at the tail.
    cdef report_t* _reports
    cdef int64_t _report_head
    cdef int64_t _report_tail
    # The batch: messages of any streams that leave in one call.
    cdef void* _endpoint
    cdef address_t _to
    cdef int _count
    cdef int _entry_count
    cdef int32_t _frame_bytes
    cdef outgoing_t _messages[BATCH_MESSAGES]
    cdef entry_t _entries[BATCH_ENTRIES]
    cdef uint8_t _frames[BATCH_ENTRIES * FRAME_ROOM]
    # Prepares the batch for this endpoint (and receiver), with room for so many messages.
    cdef void aim(
        self, SendEndpoint endpoint, const address_t* to, int messages
    ) noexcept nogil
    cdef int room(self) noexcept nogil
    # The place of the next frame; `push_frame` adds it, to a run of frames of its length.
    cdef uint8_t* frame(self) noexcept nogil
    cdef void push_frame(self, BatchStream stream, int kind, int32_t length) noexcept nogil
    cdef void push(
        self,
        BatchStream stream,
        int kind,
        const uint8_t* data,
        int32_t length,
        int32_t segment,
        int32_t padding,
    ) noexcept nogil
    cdef void _note(
        self, BatchStream stream, int kind, int32_t length, int32_t padding
    ) noexcept nogil
    # Sends the batch and reports the result to the streams.
    cdef void flush(self) noexcept nogil
    # Files an event; False when there is no room for it (some room is reserved for releases).
    cdef bint tell(
        self, int32_t kind, void* subject, int64_t a, int64_t b
    ) noexcept nogil
    cdef bint tell_release(self, int32_t kind, void* subject) noexcept nogil
    # Room for a report, NULL when all are unread; `file_report` makes an event of it.
    cdef report_t* next_report(self) noexcept nogil
    cdef bint file_report(self, int32_t kind, void* subject) noexcept nogil
    # For the conductor: the report of an event, and the release of the oldest report.
    cdef report_t* report_at(self, int64_t index) noexcept nogil
    cdef void free_report(self) noexcept nogil
    cdef void _report_failure(self, SendEndpoint endpoint) noexcept nogil
    cdef int64_t* _address(self, int32_t counter_id) except NULL
