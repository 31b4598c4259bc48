"""The base of ports that wrap another port and delegate to it everything except datagrams."""

from aerolog.transport.network.port cimport DatagramPort, address_t

from aerolog.transport.network.port import Address


cdef class WrappedPort(DatagramPort):
    """A port that wraps another port; subclasses pass datagrams on."""

    def __cinit__(self, DatagramPort inner not None, *_: object, **__: object) -> None:
        self.inner = inner

    cdef int reconnect(self, const address_t* remote) noexcept nogil:
        return self.inner.reconnect(remote)

    cdef int descriptor(self) noexcept nogil:
        return self.inner.descriptor()

    @property
    def local_address(self) -> Address:
        """Host and port that datagrams for this port are sent to."""
        return self.inner.local_address

    @property
    def ttl(self) -> int:
        """Multicast time to live that was asked for; 0 for none."""
        return self.inner.ttl

    @property
    def closed(self) -> bool:
        """Whether ``close`` was called."""
        return self.inner.closed

    def close(self) -> None:
        """Close the inner port and drop what this port still holds."""
        self.inner.close()
