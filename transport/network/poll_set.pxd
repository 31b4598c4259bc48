"""The sockets of an agent, of which one system call finds those that have datagrams.

The table grows as needed; when a socket is removed, the last one takes its place.
"""

from libc.stdlib cimport free, realloc

cdef extern from "<poll.h>" nogil:
    enum:
        POLLIN
    cdef struct pollfd:
        int fd
        short events
        short revents
    ctypedef unsigned long nfds_t
    int poll(pollfd* descriptors, nfds_t count, int timeout_ms) noexcept

cdef enum:
    # Up to this number, sockets are tried one by one; above it, polling first is cheaper.
    DIRECT_LIMIT = 5

ctypedef struct polled_t:
    void* endpoint
    void* transport             # NULL where the endpoint has only one socket

ctypedef struct poll_set_t:
    polled_t* items
    pollfd* descriptors         # of the items; -1 where polling does not show all input
    int count
    int capacity


cdef inline bint _grow(poll_set_t* polled) noexcept nogil:
    cdef int capacity = max(8, 2 * polled.capacity)
    cdef void* grown = realloc(polled.items, <size_t> capacity * sizeof(polled_t))
    if grown == NULL:
        return False
    polled.items = <polled_t*> grown
    grown = realloc(polled.descriptors, <size_t> capacity * sizeof(pollfd))
    if grown == NULL:
        return False
    polled.descriptors = <pollfd*> grown
    polled.capacity = capacity
    return True


# False without memory.
cdef inline bint add_polled(
    poll_set_t* polled, void* endpoint, void* transport, int descriptor
) noexcept nogil:
    cdef int index = polled.count
    if index == polled.capacity and not _grow(polled):
        return False
    polled.items[index].endpoint = endpoint
    polled.items[index].transport = transport
    polled.descriptors[index].fd = descriptor
    polled.descriptors[index].events = POLLIN
    polled.descriptors[index].revents = 0
    polled.count += 1
    return True


# Returns whether the socket was there.
cdef inline bint remove_polled(
    poll_set_t* polled, const void* endpoint, const void* transport
) noexcept nogil:
    cdef int index
    for index in range(polled.count):
        if (
            polled.items[index].endpoint == endpoint
            and polled.items[index].transport == transport
        ):
            polled.count -= 1
            polled.items[index] = polled.items[polled.count]
            polled.descriptors[index] = polled.descriptors[polled.count]
            return True
    return False


# Polls a large number of sockets for datagrams; False when all are to be tried instead.
cdef inline bint ask_polled(poll_set_t* polled) noexcept nogil:
    return (
        polled.count > DIRECT_LIMIT
        and poll(polled.descriptors, <nfds_t> polled.count, 0) >= 0
    )


# Whether a socket may have datagrams, after polling.
cdef inline bint is_ready(const poll_set_t* polled, int index) noexcept nogil:
    return polled.descriptors[index].fd < 0 or polled.descriptors[index].revents != 0


cdef inline void free_polled(poll_set_t* polled) noexcept nogil:
    free(polled.items)
    free(polled.descriptors)
