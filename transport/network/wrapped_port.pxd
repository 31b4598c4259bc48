from aerolog.transport.network.port cimport DatagramPort


cdef class WrappedPort(DatagramPort):
    cdef readonly DatagramPort inner
