"""Rules for the datagrams that a rehearsed network loses, by chance or at given places of a term.

The rules are those of the reference's loss interceptors (spec configuration 8), extended by bursts
and streams. They only decide; ``rehearsal`` applies them to a port. One rule serves one direction
of one port.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from aerolog.transport.protocol.frames cimport (
    DATA_HEADER_LENGTH,
    FRAME_DATA,
    FRAME_LENGTH_OFFSET,
    FRAME_PAD,
    FRAME_SETUP,
    SESSION_ID_OFFSET,
    STATUS_SESSION_ID_AT,
    STATUS_STREAM_ID_AT,
    STREAM_ID_OFFSET,
    TERM_ID_OFFSET,
    TERM_OFFSET_OFFSET,
    get_i32,
    read_frame_type,
)

from aerolog.transport.errors import ConfigurationError

cdef uint64_t _MASK_48 = (1UL << 48) - 1
# The shortest datagram that names its stream, and the number of types in a mask.
cdef enum:
    IDENTIFIED_LENGTH = 20
    MASKED_TYPES = 32


cdef class DropRule:
    """Decides which datagrams are lost; base of the rules.

    Attributes:
        dropped: number of datagrams dropped so far.
    """

    cdef bint drops(self, const uint8_t* data, int32_t length) noexcept nogil:
        if self._decides(data, length):
            self.dropped += 1
            return True
        return self._next is not None and self._next.drops(data, length)

    cdef bint _decides(self, const uint8_t* data, int32_t length) noexcept nogil:
        return False

    def then(self, rule: DropRule) -> None:
        """Append a rule, which sees the datagrams that this rule and those after it let pass."""
        cdef DropRule last = self
        while last._next is not None:
            last = last._next
        last._next = rule

    def would_drop(self, datagram: bytes) -> bool:
        """Decide on a datagram as if it had arrived at the port."""
        return self.drops(<const uint8_t*> (<bytes> datagram), len(datagram))


cdef class RandomLoss(DropRule):
    """Drops datagrams at random, with a seed.

    Args:
        rate: probability that a datagram is dropped, 0 to 1.
        seed: seed of the random numbers; equal seeds drop the same datagrams.
        burst: how many datagrams in a row one draw drops, not counting those of other types.
        types: mask whose bit n stands for frame type n (spec wire-protocol 2.1); None for all.
        stream_id: drop only datagrams of this stream; None for all.
        session_id: drop only datagrams of this session; None for all.
    """

    def __init__(
        self,
        rate: float,
        seed: int = 0,
        *,
        burst: int = 1,
        types: int | None = None,
        stream_id: int | None = None,
        session_id: int | None = None,
    ) -> None:
        if not 0.0 <= rate <= 1.0:
            raise ConfigurationError(f"loss rate must be in 0..1: {rate}")
        if not 1 <= burst <= 1 << 30:
            raise ConfigurationError(f"loss burst must be at least 1: {burst}")
        if types is not None and not 0 <= types <= 0xFFFFFFFF:
            raise ConfigurationError(f"mask of frame types must have at most 32 bits: {types}")
        self._rate = rate
        self._burst = burst
        self._state = <uint64_t> (seed & 0xFFFFFFFFFFFF)
        self._types = 0xFFFFFFFF if types is None else types
        self._any_stream = stream_id is None
        self._any_session = session_id is None
        self._stream_id = stream_id or 0
        self._session_id = session_id or 0

    cdef bint _decides(self, const uint8_t* data, int32_t length) noexcept nogil:
        cdef int32_t kind = read_frame_type(data, length)
        cdef bint forward = kind in (FRAME_DATA, FRAME_PAD, FRAME_SETUP)
        if self._types != 0xFFFFFFFFU:
            if not 0 <= kind < MASKED_TYPES or not (self._types >> kind) & 1:
                return False
        if not (self._any_stream and self._any_session):
            if length < IDENTIFIED_LENGTH or kind < 0:
                return False
            if not self._any_stream and self._stream_id != get_i32(
                data + (STREAM_ID_OFFSET if forward else STATUS_STREAM_ID_AT)
            ):
                return False
            if not self._any_session and self._session_id != get_i32(
                data + (SESSION_ID_OFFSET if forward else STATUS_SESSION_ID_AT)
            ):
                return False
        if self._left > 0:
            self._left -= 1
            return True
        if self._rate <= 0.0:
            return False
        self._state = (self._state * 0x5DEECE66DUL + 0xBUL) & _MASK_48
        if <double> self._state / <double> (1UL << 48) > self._rate:
            return False
        self._left = self._burst - 1
        return True


cdef class _TermLoss(DropRule):
    """Base of the rules for places in one term; it tracks progress by stream and session."""

    cdef progress_t* _progress(self, const uint8_t* data, int64_t start) noexcept nogil:
        """Progress of the stream of a DATA frame; NULL if there is no room for another stream."""
        cdef int32_t session_id = get_i32(data + SESSION_ID_OFFSET)
        cdef int32_t stream_id = get_i32(data + STREAM_ID_OFFSET)
        cdef progress_t* stream
        cdef int i
        for i in range(self._count):
            stream = &self._streams[i]
            if stream.session_id == session_id and stream.stream_id == stream_id:
                return stream
        if self._count == STREAM_LIMIT:
            return NULL
        stream = &self._streams[self._count]
        self._count += 1
        stream.session_id = session_id
        stream.stream_id = stream_id
        stream.reached = start
        return stream


cdef inline bint _is_data_of(const uint8_t* data, int32_t length, int32_t term_id) noexcept nogil:
    """Whether a datagram carries data of a term; a heartbeat does not."""
    return (
        length >= DATA_HEADER_LENGTH
        and read_frame_type(data, length) == FRAME_DATA
        and get_i32(data + FRAME_LENGTH_OFFSET) > 0
        and get_i32(data + TERM_ID_OFFSET) == term_id
    )


cdef class FixedLoss(_TermLoss):
    """Drops one range of a term once for each stream and session; data sent again passes.

    Args:
        term_id: id of the term.
        term_offset: offset of the first byte lost.
        length: bytes of the range.
    """

    def __init__(self, term_id: int, term_offset: int, length: int) -> None:
        if term_offset < 0 or length < 0:
            raise ConfigurationError(
                f"fixed loss must not be negative: term-offset={term_offset} length={length}"
            )
        self._term_id = term_id
        self._start = term_offset
        self._end = self._start + <int64_t> length

    cdef bint _decides(self, const uint8_t* data, int32_t length) noexcept nogil:
        cdef progress_t* stream
        cdef int64_t offset
        if not _is_data_of(data, length, self._term_id):
            return False
        stream = self._progress(data, self._start)
        offset = get_i32(data + TERM_OFFSET_OFFSET)
        if stream == NULL or stream.reached >= self._end:
            return False
        if not offset <= stream.reached < offset + length:
            return False
        stream.reached = offset + length
        return True


cdef class MultiGapLoss(_TermLoss):
    """Drops gaps at regular places of a term, each once for each stream and session.

    Args:
        term_id: id of the term.
        gap_radix: distance of the gaps in bytes, rounded up to a power of two; the first gap is at
            that offset.
        gap_length: bytes of each gap, at most ``gap_radix``.
        total_gaps: number of gaps.
    """

    def __init__(self, term_id: int, gap_radix: int, gap_length: int, total_gaps: int) -> None:
        cdef int64_t radix = 1
        if not 1 <= gap_radix <= 1 << 30:
            raise ConfigurationError(f"gap-radix must be in 1..2^30: {gap_radix}")
        while radix < gap_radix:
            radix *= 2
        if not 0 <= gap_length <= radix or total_gaps < 0:
            raise ConfigurationError(
                f"gaps must fit their distance: gap-length={gap_length} gap-radix={gap_radix} "
                f"total-gaps={total_gaps}"
            )
        self._term_id = term_id
        self._radix = radix
        self._length = gap_length
        self._gaps = total_gaps

    cdef bint _decides(self, const uint8_t* data, int32_t length) noexcept nogil:
        cdef progress_t* stream
        cdef int64_t offset
        cdef int64_t start
        cdef int64_t gap
        if not _is_data_of(data, length, self._term_id):
            return False
        stream = self._progress(data, 0)
        if stream == NULL:
            return False
        offset = get_i32(data + TERM_OFFSET_OFFSET)
        start = max(offset, stream.reached)
        gap = max(<int64_t> 1, start // self._radix)
        if gap * self._radix + self._length <= start:
            gap += 1
        if gap > self._gaps or gap * self._radix >= offset + length or start >= offset + length:
            return False
        if self._length == 0:
            return False
        stream.reached = offset + length
        return True
