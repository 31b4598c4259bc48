"""A receive channel endpoint, for native code."""

from libc.stdint cimport int32_t

from aerolog.transport.driver.receive.data_packet_dispatcher cimport DataPacketDispatcher
from aerolog.transport.driver.receive.receive_transport cimport MAX_TRANSPORTS, TransportSet


cdef class ReceiveEndpoint(TransportSet):
    cdef readonly DataPacketDispatcher dispatcher
    cdef readonly int32_t channel_timestamp_offset
    cdef readonly int32_t media_timestamp_offset
    cdef readonly bint stamps       # whether one of the offsets is given
    # The conductor's: transports by index, and those that the receiver is to start with.
    cdef dict _transports
    cdef void* held[MAX_TRANSPORTS]
    cdef int32_t held_count
    cdef void list_held(self)
