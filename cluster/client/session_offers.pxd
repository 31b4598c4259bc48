"""The native interface of a session's ingress: its messages get the session's header in front."""

from libc.stdint cimport int64_t, uint8_t

from aerolog.cluster.protocol.session_header cimport SESSION_HEADER_LENGTH
from aerolog.transport.client.publication cimport BasePublication
from aerolog.transport.logbuffer.appender cimport Appender


cdef class SessionOffers(Appender):
    cdef BasePublication _publication
    cdef Appender _appender                   # the publication's
    cdef uint8_t _header[SESSION_HEADER_LENGTH]
