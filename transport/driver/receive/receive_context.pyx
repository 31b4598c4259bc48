"""State that all parts of the receiver use in a cycle: time, counters, frames to be sent.

Control frames are small, and many of them go to the same sender: they are collected and leave in
as few calls as they have destinations (spec wire-protocol 2.6 to 2.10, 8.3, 9.6).
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.transport.concurrent.atomic cimport get_and_add_i64
from aerolog.transport.driver.receive.loss_detector cimport gap_t
from aerolog.transport.driver.receive.receive_transport cimport ReceiveTransport, TransportSet
from aerolog.transport.memory.counters cimport CountersReader
from aerolog.transport.protocol.frames cimport (
    ERROR_FLAG_GROUP_TAG,
    STATUS_FLAG_SETUP,
    error_t,
    nak_t,
    response_setup_t,
    rttm_t,
    status_message_t,
    write_error,
    write_nak,
    write_response_setup,
    write_rttm,
    write_status_message,
)
from aerolog.transport.network.port cimport address_t, is_transient, outgoing_t, same_address

from aerolog.transport.counters.system_counters import SystemCounter

cdef enum:
    IMAGE_REJECTED = 13     # error code, spec wire-protocol 2.9


cdef void add_to(int64_t* counter, int64_t amount) noexcept nogil:
    get_and_add_i64(counter, amount)


cdef class ReceiveContext:
    """The counters, and the frames that a receiver sends in one cycle; for native code only."""
    def __init__(self, CountersReader counters not None) -> None:
        """Make the context of one receiver.

        Args:
            counters: the counters of the driver, with the system counters at their fixed ids.
        """
        self._reader = counters
        self.counters.bytes_received = self._address(SystemCounter.BYTES_RECEIVED)
        self.counters.naks_sent = self._address(SystemCounter.NAK_MESSAGES_SENT)
        self.counters.status_messages_sent = self._address(SystemCounter.STATUS_MESSAGES_SENT)
        self.counters.heartbeats_received = self._address(SystemCounter.HEARTBEATS_RECEIVED)
        self.counters.under_runs = self._address(SystemCounter.FLOW_CONTROL_UNDER_RUNS)
        self.counters.over_runs = self._address(SystemCounter.FLOW_CONTROL_OVER_RUNS)
        self.counters.invalid_packets = self._address(SystemCounter.INVALID_PACKETS)
        self.counters.short_sends = self._address(SystemCounter.SHORT_SENDS)
        self.counters.ttl_asymmetries = self._address(SystemCounter.POSSIBLE_TTL_ASYMMETRY)
        self.counters.gap_fills = self._address(SystemCounter.LOSS_GAP_FILLS)
        self.counters.images_revoked = self._address(SystemCounter.PUBLICATION_IMAGES_REVOKED)
        self.counters.error_frames_sent = self._address(SystemCounter.ERROR_FRAMES_SENT)

    cdef int64_t* _address(self, int32_t counter_id) except NULL:
        cdef int64_t* address = self._reader.value_address(counter_id)
        if address is NULL:
            raise IndexError(f"no such counter: {counter_id}")
        return address

    cdef uint8_t* _room(
        self, ReceiveTransport transport, const address_t* destination
    ) noexcept nogil:
        if self._count > 0 and (
            self._transport != <void*> transport
            or not same_address(&self._destination, destination)
            or self._count == ANSWER_LIMIT
            or self._used > ANSWER_BYTES - LONGEST_ANSWER
        ):
            self.flush()
        self._transport = <void*> transport
        self._destination = destination[0]
        return self._bytes + self._used

    cdef void _wrote(self, int32_t length) noexcept nogil:
        """Count one more frame; frames of one length in a row are one run that the kernel cuts."""
        cdef outgoing_t* message
        if self._count > 0 and self._messages[self._count - 1].segment == length:
            self._messages[self._count - 1].length += length
        else:
            message = &self._messages[self._count]
            message.data = self._bytes + self._used
            message.length = length
            message.segment = length
            self._count += 1
        self._used += length

    cdef void flush(self) noexcept nogil:
        cdef int64_t unsent = 0
        cdef int sent, index
        cdef int wanted = self._count
        if wanted == 0:
            return
        self._count = 0
        self._used = 0
        sent = (<ReceiveTransport> self._transport).port.send(
            self._messages, wanted, &self._destination
        )
        if sent < wanted:
            for index in range(max(sent, 0), wanted):
                unsent += self._messages[index].length // self._messages[index].segment
            add_to(self.counters.short_sends, unsent)
            if sent < 0 and not is_transient(sent):
                self.refused_transport = self._transport
                self.refused_destination = self._destination
                self.refused_errno = -sent

    cdef void send_status(
        self,
        TransportSet endpoint,
        ReceiveTransport transport,
        const address_t* destination,
        const status_t* status,
    ) noexcept nogil:
        cdef status_message_t message
        message.flags = status.flags
        message.session_id = status.session_id
        message.stream_id = status.stream_id
        message.term_id = status.term_id
        message.term_offset = status.term_offset
        message.window = status.window
        message.receiver_id = endpoint.receiver_id
        message.extension_length = 8 if endpoint.is_tagged else 0
        message.group_tag = endpoint.tag
        self._wrote(write_status_message(self._room(transport, destination), &message))

    cdef void elicit(
        self,
        TransportSet endpoint,
        ReceiveTransport transport,
        const address_t* destination,
        int32_t session_id,
        int32_t stream_id,
    ) noexcept nogil:
        cdef status_t status = status_t(session_id, stream_id, 0, 0, 0, STATUS_FLAG_SETUP)
        self.send_status(endpoint, transport, destination, &status)

    cdef void send_nak(
        self,
        ReceiveTransport transport,
        const address_t* destination,
        int32_t session_id,
        int32_t stream_id,
        const gap_t* gap,
    ) noexcept nogil:
        cdef nak_t nak = nak_t(session_id, stream_id, gap.term_id, gap.term_offset, gap.length)
        self._wrote(write_nak(self._room(transport, destination), &nak))

    cdef void send_rttm(
        self, ReceiveTransport transport, const address_t* destination, const rttm_t* rttm
    ) noexcept nogil:
        self._wrote(write_rttm(self._room(transport, destination), rttm))

    cdef void send_rejection(
        self,
        TransportSet endpoint,
        ReceiveTransport transport,
        const address_t* destination,
        int32_t session_id,
        int32_t stream_id,
        const uint8_t* reason,
        int32_t reason_length,
    ) noexcept nogil:
        cdef error_t error
        error.flags = ERROR_FLAG_GROUP_TAG if endpoint.is_tagged else 0
        error.session_id = session_id
        error.stream_id = stream_id
        error.receiver_id = endpoint.receiver_id
        error.group_tag = endpoint.tag
        error.code = IMAGE_REJECTED
        error.text = reason
        error.text_length = reason_length
        self._wrote(write_error(self._room(transport, destination), &error))

    cdef void send_response_setup(
        self,
        ReceiveTransport transport,
        const address_t* destination,
        int32_t session_id,
        int32_t stream_id,
        int32_t response_session_id,
    ) noexcept nogil:
        cdef response_setup_t setup = response_setup_t(session_id, stream_id, response_session_id)
        self._wrote(write_response_setup(self._room(transport, destination), &setup))
