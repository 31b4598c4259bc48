"""Divides a term's frames into datagrams and runs of them (spec log-buffers 16)."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from aerolog.transport.network.port cimport outgoing_t
from aerolog.transport.protocol.frames cimport FRAME_ALIGNMENT

cdef enum:
    CUT_LIMIT = 64


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
) noexcept nogil:
    cdef datagram_t datagram
    cdef cut_t cut
    cdef outgoing_t* run = NULL         # the run that the next datagram may continue
    cdef int64_t left = room
    cdef int32_t at = offset
    cut.messages = 0
    cut.datagrams = 0
    cut.is_blocked = False
    while cut.datagrams < max_datagrams and left > 0:
        next_datagram(term, term_length, at, <int32_t> min(left, <int64_t> mtu), &datagram)
        if datagram.length == 0:
            cut.is_blocked = datagram.is_blocked and cut.datagrams == 0
            break
        if run == NULL or datagram.length > run.segment:
            if cut.messages == max_messages:
                break
            run = &messages[cut.messages]
            run.data = term + at
            run.length = 0
            run.segment = datagram.length
            paddings[cut.messages] = 0
            cut.messages += 1
        if stamp_offset != -1:
            stamp_datagram(term + at, datagram.length, stamp_offset, epoch_ns)
        run.length += datagram.length
        paddings[cut.messages - 1] = datagram.padding
        if datagram.padding > 0 or datagram.length < run.segment:
            run = NULL      # the last of its run
        cut.datagrams += 1
        at += datagram.length + datagram.padding
        left -= datagram.length + datagram.padding
    cut.bytes = at - offset
    return cut


def cut(
    bytes term, int offset, int room, int mtu, int max_datagrams=64, int max_messages=64
):
    """Divide a copy of a term into datagrams, for tests that check what agents would send."""
    cdef outgoing_t[CUT_LIMIT] messages
    cdef int32_t[CUT_LIMIT] paddings
    cdef int32_t term_length = len(term)
    cdef const char* source = term
    cdef cut_t found
    cdef uint8_t* copy
    cdef int i
    is_inside = 0 <= offset < term_length and 0 <= room <= term_length - offset
    if not is_inside or offset % FRAME_ALIGNMENT:
        raise ValueError(f"offset {offset} and room {room} must lie in a term of {term_length}")
    if not 0 < max_messages <= CUT_LIMIT:
        raise ValueError(f"max_messages must be in 1..{CUT_LIMIT}: {max_messages}")
    copy = <uint8_t*> malloc(term_length)
    if copy == NULL:
        raise MemoryError
    try:
        memcpy(copy, source, term_length)
        found = cut_term(
            copy, term_length, offset, room, mtu, max_datagrams, max_messages, messages, paddings,
            -1, 0,
        )
        cuts = [
            (messages[i].data - copy, messages[i].length, messages[i].segment, paddings[i])
            for i in range(found.messages)
        ]
        return cuts, found.bytes, found.is_blocked
    finally:
        free(copy)
