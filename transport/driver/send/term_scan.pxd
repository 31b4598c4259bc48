"""Divides a term's frames into datagrams (spec log-buffers 16, spec wire-protocol 5.4)."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.transport.concurrent.atomic cimport get_u16, load_acquire_i32, put_i64
from aerolog.transport.network.port cimport outgoing_t
from aerolog.transport.protocol.frames cimport (
    DATA_HEADER_LENGTH,
    FLAGS_OFFSET,
    FLAG_BEGIN,
    FRAME_DATA,
    FRAME_PAD,
    RESERVED_VALUE_OFFSET,
    TYPE_OFFSET,
    align_frame,
)

# One datagram: bytes on the wire, and bytes of padding that follow in the term and are not sent.
# length 0: there is no frame, or (is_blocked) the first frame does not fit.
ctypedef struct datagram_t:
    int32_t length
    int32_t padding
    bint is_blocked


cdef inline void next_datagram(
    const uint8_t* term, int32_t term_length, int32_t offset, int32_t limit, datagram_t* found
) noexcept nogil:
    """Find the frames at an offset that form one datagram of at most `limit` bytes.

    A publisher wrote the lengths: nothing outside the term is read or sent whatever they are. The
    limit must not reach beyond the term.
    """
    cdef int32_t length
    cdef int64_t aligned
    found.length = 0
    found.padding = 0
    found.is_blocked = False
    while found.length < limit:
        length = load_acquire_i32(term + offset + found.length)
        if length <= 0:
            return
        aligned = align_frame(length)
        if get_u16(term + offset + found.length + TYPE_OFFSET) == FRAME_PAD:
            if found.length + DATA_HEADER_LENGTH > limit:
                break
            aligned = min(aligned, <int64_t> (term_length - offset - found.length))
            found.length += DATA_HEADER_LENGTH
            found.padding = <int32_t> aligned - DATA_HEADER_LENGTH
            return
        if found.length + aligned > limit:
            break
        found.length += <int32_t> aligned
        if found.length == limit:
            return
    found.is_blocked = found.length == 0


cdef inline void stamp_datagram(
    uint8_t* datagram, int32_t length, int32_t offset, int64_t epoch_ns
) noexcept nogil:
    """Write the time of sending into the first frame's payload (16); -8 is the reserved value.

    It is written only where the message has room for it, so that no other bytes are changed.
    """
    cdef int32_t room = min(length, load_acquire_i32(datagram))
    if (
        get_u16(datagram + TYPE_OFFSET) != FRAME_DATA
        or not datagram[FLAGS_OFFSET] & FLAG_BEGIN
    ):
        return
    if offset == RESERVED_VALUE_OFFSET - DATA_HEADER_LENGTH:
        put_i64(datagram + RESERVED_VALUE_OFFSET, epoch_ns)
    elif offset >= 0 and <int64_t> DATA_HEADER_LENGTH + offset + 8 <= room:
        put_i64(datagram + DATA_HEADER_LENGTH + offset, epoch_ns)


# The result of dividing a piece of a term.
ctypedef struct cut_t:
    int messages
    int datagrams
    int64_t bytes           # the advance of the position, padding included
    bint is_blocked         # there is no datagram because the first frame does not fit

# Divides frames at an offset into datagrams of at most `mtu` bytes, and neighbours of one length
# into runs. `room` bytes may be used and must not reach beyond the term; stamp_offset -1: no
# timestamps. paddings[i] follows messages[i] in the term.
cdef cut_t cut_term(
    uint8_t* term,
    int32_t term_length,
    int32_t offset,
    int64_t room,
    int32_t mtu,
    int max_datagrams,
    int max_messages,
    outgoing_t* messages,
    int32_t* paddings,
    int32_t stamp_offset,
    int64_t epoch_ns,
) noexcept nogil
