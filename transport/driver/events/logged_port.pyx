"""A port that wraps another port and logs its frames and NAKs.

Only a driver that logs such events wraps its ports. Runs of datagrams are logged one datagram at a
time. An event holds the address of the other side, then as much of the datagram as a log record
takes.
"""

from libc.stdint cimport int32_t, uint8_t
from libc.string cimport memcpy

from aerolog.transport.events.event_log cimport ADDRESS_ROOM, EventLog, write_address
from aerolog.transport.protocol.frames cimport FRAME_NAK, nak_t, read_frame_type, read_nak
from aerolog.transport.network.port cimport (
    DatagramPort,
    address_t,
    incoming_t,
    outgoing_t,
    set_address,
)
from aerolog.transport.network.wrapped_port cimport WrappedPort

from aerolog.transport.network.port import Address

cdef enum:
    NAK_FIELDS_LENGTH = 20


cdef class LoggedPort(WrappedPort):
    """A port whose datagrams are logged.

    Args:
        inner: the wrapped port, which is closed with this one.
        log: the log that the events are written to.
        remote: the address of the connected peer, None for a port without one.
        frame_in, frame_out, nak_received, nak_sent: codes of events, 0 for those not logged.
    """

    def __cinit__(
        self,
        DatagramPort inner not None,
        EventLog log not None,
        remote: Address | None = None,
        *,
        frame_in: int = 0,
        frame_out: int = 0,
        nak_received: int = 0,
        nak_sent: int = 0,
    ) -> None:
        self._log = log
        self._in_code = frame_in
        self._out_code = frame_out
        self._nak_in_code = nak_received
        self._nak_out_code = nak_sent
        set_address(&self._peer, remote)
        self._keep_channel("")

    def name_channel(self, channel: str) -> None:
        """Set the channel that events name, before the port is handed to its agent."""
        self._keep_channel(channel)

    def _keep_channel(self, channel: str) -> None:
        text = channel.encode()
        self._channel = len(text).to_bytes(4, "little") + text
        self._channel_at = self._channel
        self._channel_length = <int32_t> len(self._channel)

    cdef int send(
        self, const outgoing_t* messages, int count, const address_t* destination
    ) noexcept nogil:
        cdef const address_t* address = destination if destination != NULL else &self._peer
        cdef int result = self.inner.send(messages, count, destination)
        cdef int32_t at
        cdef int32_t length
        cdef int index
        self.sent_bytes = self.inner.sent_bytes
        cdef long left = self.sent_bytes
        for index in range(count):
            at = 0
            while at < messages[index].length and left > 0:
                length = messages[index].length - at
                if messages[index].segment > 0:
                    length = min(length, messages[index].segment)
                self._note(
                    self._out_code, self._nak_out_code, address, messages[index].data + at, length
                )
                at += length
                left -= length
        return result

    cdef int receive(self, incoming_t* messages, int count) noexcept nogil:
        cdef int result = self.inner.receive(messages, count)
        cdef int32_t at
        cdef int32_t length
        cdef int index
        for index in range(result):
            at = 0
            while at < messages[index].length:
                length = messages[index].length - at
                if messages[index].segment > 0:
                    length = min(length, messages[index].segment)
                self._note(
                    self._in_code,
                    self._nak_in_code,
                    &messages[index].source,
                    messages[index].data + at,
                    length,
                )
                at += length
        return result

    cdef void _note(
        self, int32_t frame_code, int32_t nak_code, const address_t* address, const uint8_t* data,
        int32_t length,
    ) noexcept nogil:
        cdef uint8_t[ADDRESS_ROOM] head
        cdef int32_t head_length = write_address(head, address)
        if nak_code > 0 and read_frame_type(data, length) == FRAME_NAK:
            self._note_nak(nak_code, head, head_length, data, length)
        if frame_code > 0:
            self._log.put(frame_code, head, head_length, data, length)

    cdef void _note_nak(
        self, int32_t code, const uint8_t* address, int32_t address_length, const uint8_t* data,
        int32_t length,
    ) noexcept nogil:
        cdef uint8_t[ADDRESS_ROOM + NAK_FIELDS_LENGTH] head
        cdef int32_t[5] fields
        cdef nak_t nak
        if not read_nak(data, length, &nak):
            return
        fields[0] = nak.session_id
        fields[1] = nak.stream_id
        fields[2] = nak.term_id
        fields[3] = nak.term_offset
        fields[4] = nak.length
        memcpy(head, address, address_length)
        memcpy(head + address_length, fields, NAK_FIELDS_LENGTH)
        self._log.put(
            code,
            head,
            address_length + NAK_FIELDS_LENGTH,
            self._channel_at,
            self._channel_length,
        )

    cdef int reconnect(self, const address_t* remote) noexcept nogil:
        self._peer = remote[0]
        return WrappedPort.reconnect(self, remote)
