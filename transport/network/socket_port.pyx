"""Datagrams through real sockets: batched calls, and segmentation and receive offload.

Datagrams on the wire are the same with and without offload: the kernel divides a run (UDP_SEGMENT),
or else each datagram is a message of its own. The module ``sockets`` opens the sockets.
"""

from libc.errno cimport (
    EAGAIN,
    EBADF,
    ECONNREFUSED,
    EINVAL,
    EIO,
    EMSGSIZE,
    EOPNOTSUPP,
    errno,
)
from libc.stdint cimport int32_t, int64_t, uint16_t
from libc.string cimport memset
from posix.unistd cimport close as _close

import os
import socket

from aerolog.transport.errors import ResourceClosedError

from aerolog.transport.network.port cimport (
    BATCH_LIMIT,
    DatagramPort,
    address_t,
    incoming_t,
    outgoing_t,
)

from aerolog.transport.network.port import Address

cdef extern from "aerolog_datagram.h" nogil:
    enum:
        AEROLOG_CONTROL_LENGTH
        AF_UNSPEC
    ctypedef unsigned int socklen_t
    struct sockaddr:
        uint16_t sa_family
    struct iovec:
        void* iov_base
        size_t iov_len
    struct msghdr:
        void* msg_name
        socklen_t msg_namelen
        iovec* msg_iov
        size_t msg_iovlen
        void* msg_control
        size_t msg_controllen
        int msg_flags
    struct mmsghdr:
        msghdr msg_hdr
        unsigned int msg_len
    int aerolog_send_batch(int fd, mmsghdr* messages, int count) noexcept
    int aerolog_receive_batch(int fd, mmsghdr* messages, int count) noexcept
    void aerolog_set_segment(msghdr* message, void* control, uint16_t segment) noexcept
    void aerolog_read_control(msghdr* message, int32_t* segment, int64_t* timestamp_ns) noexcept
    bint aerolog_is_truncated(const msghdr* message) noexcept
    int _connect "connect" (int fd, const sockaddr* address, socklen_t length) noexcept

cdef enum:
    # The kernel's limits of one run: datagrams, and bytes (IPv6 has the larger headers).
    SEGMENT_LIMIT = 64
    RUN_LENGTH_LIMIT = 65535 - 40 - 8
    # The 8-byte words of control data for a message, so that the data is aligned.
    CONTROL_WORDS = 8
    # The number of refusals by earlier peers that one receive call skips.
    REFUSAL_LIMIT = 4
    LEAST_BATCH = 4


cdef inline int32_t _piece_length(
    const outgoing_t* message, int offset, bint joined
) noexcept nogil:
    """Return the bytes of the next kernel message: one datagram, or part of a run."""
    cdef int32_t left = message.length - offset
    cdef int32_t datagrams = 1
    if message.segment <= 0:
        return left
    if joined:
        datagrams = max(1, min(<int32_t> SEGMENT_LIMIT, RUN_LENGTH_LIMIT // message.segment))
    return min(left, datagrams * message.segment)


cdef inline bint _blames_offload(int result) noexcept nogil:
    """Return whether a send may have failed because of offload.

    The device may have no checksums, a datagram may exceed the MTU of the path, or offload may not
    be supported at all.
    """
    return result in (-EINVAL, -EIO, -EMSGSIZE, -EOPNOTSUPP)


cdef class SocketPort(DatagramPort):
    """One UDP socket, or a multicast sender's two.

    Made by ``open_send_port`` and ``open_receive_port`` of the module ``sockets``. A datagram for
    which there is no room is left to the caller (EAGAIN, ENOBUFS), and so is one on which the
    refusal of an earlier datagram is reported (ECONNREFUSED); see ``is_transient`` in port.pxd.
    """

    def __cinit__(self):
        self._likely = LEAST_BATCH
        self._send_fd = -1
        self._receive_fd = -1

    def __dealloc__(self):
        self._close_descriptors()

    cdef void _close_descriptors(self) noexcept:
        if self._receive_fd >= 0 and self._receive_fd != self._send_fd:
            _close(self._receive_fd)
        if self._send_fd >= 0:
            _close(self._send_fd)
        self._send_fd = -1
        self._receive_fd = -1

    @classmethod
    def of(
        cls,
        sender: socket.socket,
        receiver: socket.socket,
        *,
        segmentation: bool = False,
        coalescing: bool = False,
        timestamps: bool = False,
        ttl: int = 0,
    ) -> SocketPort:
        """Take over sockets that are set up; one socket may be both sender and receiver.

        Args:
            sender: the socket for sending; it is detached.
            receiver: the socket for receiving; it is detached.
            segmentation: whether the kernel cuts runs.
            coalescing: whether the kernel joins datagrams (UDP_GRO is set on the receiver).
            timestamps: whether SO_TIMESTAMPNS is set on the receiver.
            ttl: the multicast time to live that was set and read back, 0 for none.
        """
        cdef SocketPort port = cls.__new__(cls)
        sender.setblocking(False)
        receiver.setblocking(False)
        port._receive_fd = receiver.detach()
        port._send_fd = port._receive_fd if sender is receiver else sender.detach()
        port._segmentation = segmentation
        port._coalescing = coalescing
        port._timestamps = timestamps
        port._ttl = ttl
        return port

    cdef int send(
        self, const outgoing_t* messages, int count, const address_t* destination
    ) noexcept nogil:
        """Send messages; returns how many were sent whole, or -errno.

        The kernel cuts runs if it can.
        """
        cdef int index = 0
        cdef int offset = 0
        cdef int result = 0
        cdef bint joined = self._segmentation
        self.sent_bytes = 0
        if self._send_fd < 0:
            return -EBADF
        while index < count:
            result = self._send_round(messages, count, &index, &offset, destination)
            if result < 0 and self._segmentation and _blames_offload(result):
                self._segmentation = False  # from here on each datagram is a message of its own
                continue
            if result <= 0:
                break
        if result < 0 and joined and _blames_offload(result):
            self._segmentation = True  # the send fails without offload as well
        return index if self.sent_bytes or result >= 0 else result

    cdef int _send_round(
        self,
        const outgoing_t* messages,
        int count,
        int* index,
        int* offset,
        const address_t* destination,
    ) noexcept nogil:
        """Make one system call from (index, offset) on, and advance both by the bytes taken.

        Returns:
            1 when all was taken, 0 when a part was taken, -errno when nothing was.
        """
        cdef mmsghdr[BATCH_LIMIT] headers
        cdef iovec[BATCH_LIMIT] pieces
        cdef int64_t[BATCH_LIMIT * CONTROL_WORDS] control
        cdef const outgoing_t* message
        cdef int at = index[0]
        cdef int start = offset[0]
        cdef int filled = 0
        cdef int taken
        cdef int i
        cdef int32_t length
        while at < count and filled < BATCH_LIMIT:
            message = &messages[at]
            length = _piece_length(message, start, self._segmentation)
            memset(&headers[filled], 0, sizeof(mmsghdr))
            pieces[filled].iov_base = <void*> (message.data + start)
            pieces[filled].iov_len = length
            headers[filled].msg_hdr.msg_iov = &pieces[filled]
            headers[filled].msg_hdr.msg_iovlen = 1
            if destination != NULL:
                headers[filled].msg_hdr.msg_name = <void*> destination.bytes
                headers[filled].msg_hdr.msg_namelen = destination.length
            if self._segmentation and 0 < message.segment < length:
                aerolog_set_segment(
                    &headers[filled].msg_hdr,
                    control + filled * CONTROL_WORDS,
                    <uint16_t> message.segment,
                )
            filled += 1
            start += length
            if start >= message.length:
                at += 1
                start = 0
        taken = aerolog_send_batch(self._send_fd, headers, filled)
        for i in range(taken):
            self.sent_bytes += <int64_t> pieces[i].iov_len
            offset[0] += <int> pieces[i].iov_len
            if offset[0] >= messages[index[0]].length:
                index[0] += 1
                offset[0] = 0
        return taken if taken < 0 else taken == filled

    cdef int receive(self, incoming_t* messages, int count) noexcept nogil:
        """Receive messages; returns how many were filled, or -errno; skips pending refusals."""
        cdef int done = 0
        cdef int refusals = 0
        cdef int wanted
        cdef int result
        if self._receive_fd < 0:
            return -EBADF
        while done < count:
            wanted = min(count - done, self._likely)
            result = self._receive_round(messages + done, wanted)
            if result == -ECONNREFUSED and refusals < REFUSAL_LIMIT:
                refusals += 1
                continue
            if result < 0:
                self._likely = LEAST_BATCH
                if done or result == -EAGAIN or result == -ECONNREFUSED:
                    return done
                return result
            done += result
            # Preparing a batch takes time too: an idle socket gets a small one.
            self._likely = max(LEAST_BATCH, min(2 * result, <int> BATCH_LIMIT))
            if result < wanted:
                break
        return done

    cdef int _receive_round(self, incoming_t* messages, int count) noexcept nogil:
        cdef mmsghdr[BATCH_LIMIT] headers
        cdef iovec[BATCH_LIMIT] pieces
        cdef int64_t[BATCH_LIMIT * CONTROL_WORDS] control
        cdef incoming_t* message
        cdef bint with_control = self._coalescing or self._timestamps
        cdef int filled
        cdef int i
        memset(headers, 0, count * sizeof(mmsghdr))
        for i in range(count):
            message = &messages[i]
            pieces[i].iov_base = message.data
            pieces[i].iov_len = message.capacity
            headers[i].msg_hdr.msg_iov = &pieces[i]
            headers[i].msg_hdr.msg_iovlen = 1
            headers[i].msg_hdr.msg_name = message.source.bytes
            headers[i].msg_hdr.msg_namelen = sizeof(message.source.bytes)
            if with_control:
                headers[i].msg_hdr.msg_control = control + i * CONTROL_WORDS
                headers[i].msg_hdr.msg_controllen = AEROLOG_CONTROL_LENGTH
        filled = aerolog_receive_batch(self._receive_fd, headers, count)
        for i in range(filled):
            message = &messages[i]
            message.length = headers[i].msg_len
            message.segment = 0
            message.timestamp_ns = 0
            message.source.length = headers[i].msg_hdr.msg_namelen
            if with_control:
                aerolog_read_control(
                    &headers[i].msg_hdr, &message.segment, &message.timestamp_ns
                )
            if aerolog_is_truncated(&headers[i].msg_hdr):
                message.length = 0
            if not 0 < message.segment < message.length:
                message.segment = 0
        return filled

    cdef int descriptor(self) noexcept nogil:
        return self._receive_fd

    cdef int reconnect(self, const address_t* remote) noexcept nogil:
        cdef sockaddr nobody
        if self._send_fd < 0:
            return -EBADF
        if _connect(self._send_fd, <const sockaddr*> remote.bytes, remote.length) == 0:
            return 0
        # The local address was chosen for the old peer: the kernel has to choose another.
        memset(&nobody, 0, sizeof(nobody))
        nobody.sa_family = AF_UNSPEC
        _connect(self._send_fd, &nobody, sizeof(nobody))
        if _connect(self._send_fd, <const sockaddr*> remote.bytes, remote.length) == 0:
            return 0
        return -errno

    @property
    def local_address(self) -> Address:
        """Host and port that datagrams for this port are sent to."""
        host, port = self._option(lambda sock: sock.getsockname()[:2])
        return host, port

    @property
    def closed(self) -> bool:
        """Whether ``close`` was called."""
        return self._receive_fd < 0

    @property
    def ttl(self) -> int:
        """The multicast time to live that was requested, as the socket reports it; 0 for none."""
        return self._ttl

    @property
    def send_buffer_length(self) -> int:
        """SO_SNDBUF as the system reports it, in bytes."""
        return self._option(
            lambda sock: sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF), sending=True
        )

    @property
    def receive_buffer_length(self) -> int:
        """SO_RCVBUF as the system reports it, in bytes."""
        return self._option(lambda sock: sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF))

    @property
    def segmentation(self) -> bool:
        """Whether the kernel cuts runs; turns False when it refuses to for this path."""
        return self._segmentation

    @property
    def coalescing(self) -> bool:
        """Whether the kernel may join datagrams; buffers then need RECEIVE_BUFFER_LENGTH."""
        return self._coalescing

    def _option(self, question, sending=False):
        fd = self._send_fd if sending else self._receive_fd
        if fd < 0:
            raise ResourceClosedError("the port is closed")
        with socket.socket(fileno=os.dup(fd)) as sock:
            return question(sock)

    def close(self) -> None:
        """Close the sockets; further calls do nothing."""
        self._close_descriptors()
