"""The conductor's work for one IPC publication in every duty cycle and timer event."""

from libc.stdint cimport int64_t

from aerolog.transport.driver.conductor.driver_stream cimport PublicationStream


cdef class IpcStream(PublicationStream):
    cdef int64_t _trip_gain
    cdef int64_t _trip_limit
    cdef int64_t _consumer_position
    cdef int64_t _clean_position
    cdef bint _cooling_down
    cdef int64_t _cool_down_end_ns
