"""Detection, delay, filling and accounting of gaps in an image (spec wire-protocol 9.3, 9.4).

All functions take times and positions and return decisions; none owns a clock or a socket, and the
caller adds a delay to its own time. Frame lengths in an image come from a peer, and positions from
clients: both are bounded here.
"""

from typing import NamedTuple

from libc.math cimport exp, log as natural_log
from libc.stdint cimport int32_t, int64_t, uint64_t, uint8_t
from libc.string cimport memcpy

from aerolog.transport.concurrent.atomic cimport load_acquire_i32, put_i32
from aerolog.transport.logbuffer.descriptor cimport (
    META_DEFAULT_HEADER,
    LogBuffers,
    index_by_position,
    index_by_term_count,
    log_buffer_t,
    offset_by_position,
    term_id_by_position,
    wrapping_sub,
)
from aerolog.transport.logbuffer.frame_writer cimport commit_frame, set_frame_type
from aerolog.transport.protocol.frames cimport (
    DATA_HEADER_LENGTH,
    FRAME_ALIGNMENT,
    FRAME_PAD,
    TERM_ID_OFFSET,
    TERM_OFFSET_OFFSET,
    VERSION_OFFSET,
    align_frame,
)

from aerolog.transport.errors import ConfigurationError


cdef int64_t MIN_UNICAST_DELAY_NS = 1000
_LONGEST_NS = (1 << 62) - 1


cdef class FeedbackDelay:
    """Base: the delay before a receiver reports a gap, and before it reports the gap again.

    Native subclasses override both methods; the base has no delay.
    """
    cdef int64_t first_delay_ns(self) noexcept nogil:
        return 0

    cdef int64_t retry_delay_ns(self) noexcept nogil:
        return 0

    def first(self) -> int:
        """Return the delay of the first report of a gap in ns, 0 or more."""
        return self.first_delay_ns()

    def retry(self) -> int:
        """Return the delay of the next report of a gap that is still open in ns, 0 or more."""
        return self.retry_delay_ns()


cdef class StaticDelay(FeedbackDelay):
    """Delays of constant length."""
    def __init__(self, first_ns: int, retry_ns: int) -> None:
        for value in (first_ns, retry_ns):
            if not 0 <= value <= _LONGEST_NS:
                raise ConfigurationError(
                    f"a delay of {value} ns cannot be kept; use 0 to {_LONGEST_NS}"
                )
        self._first_ns = first_ns
        self._retry_ns = retry_ns

    @classmethod
    def unicast(
        cls, delay_ns: int = 1000, retry_ratio: int = 100, nak_delay_ns: int | None = None
    ) -> StaticDelay:
        """Make the delay of the driver's settings, or of the channel's `nak-delay` instead.

        Args:
            delay_ns: `aeron.nak.unicast.delay`; below 1 us counts as 1 us.
            retry_ratio: `aeron.nak.unicast.retry.delay.ratio`, 1 or more.
            nak_delay_ns: the channel's `nak-delay`, 0 or more.

        Raises:
            ConfigurationError: a ratio below 1, or a delay that is negative or exceeds int64 when
                multiplied.
        """
        if retry_ratio < 1:
            raise ConfigurationError(f"retry delay ratio is {retry_ratio}; use 1 or more")
        first = max(delay_ns, MIN_UNICAST_DELAY_NS) if nak_delay_ns is None else nak_delay_ns
        return cls(first, max(first, MIN_UNICAST_DELAY_NS) * retry_ratio)

    @classmethod
    def unreliable(cls) -> StaticDelay:
        """Make a delay of 0: gaps of a stream that is not reliable are filled at once."""
        return cls(0, 0)

    cdef int64_t first_delay_ns(self) noexcept nogil:
        return self._first_ns

    cdef int64_t retry_delay_ns(self) noexcept nogil:
        return self._retry_ns


cdef class OptimalMulticastDelay(FeedbackDelay):
    """Random delays, so that few receivers of a group report the same loss."""
    def __init__(
        self, seed: int, max_backoff_ns: int = 10_000_000, group_size: int = 10
    ) -> None:
        """Make delays from a seed; the same seed gives the same delays.

        Args:
            seed: any integer; its low 64 bits count.
            max_backoff_ns: `aeron.nak.multicast.max.backoff`, the longest delay, 1 or more.
            group_size: `aeron.nak.multicast.group.size`, 1 or more.

        Raises:
            ConfigurationError: a value is out of range.
        """
        if not 1 <= max_backoff_ns <= _LONGEST_NS:
            raise ConfigurationError(f"longest backoff is {max_backoff_ns} ns; use 1 or more")
        if not 1 <= group_size <= 2**31 - 1:
            raise ConfigurationError(f"group size is {group_size}; use 1 to {2**31 - 1}")
        rate = natural_log(<double> group_size) + 1.0
        self._state = seed & 0xFFFF_FFFF_FFFF_FFFF
        self._span = rate / <double> max_backoff_ns
        self._scale = exp(rate) - 1.0

    cdef int64_t first_delay_ns(self) noexcept nogil:
        cdef double x = _uniform(&self._state) * self._span + self._span / self._scale
        cdef double delay = natural_log(x * self._scale / self._span) / self._span
        # Rounding may make the lowest draw slightly negative.
        return <int64_t> delay if delay > 0.0 else 0

    cdef int64_t retry_delay_ns(self) noexcept nogil:
        return self.first_delay_ns()


cdef double _uniform(uint64_t* state) noexcept nogil:
    """Return a number in [0, 1) from the splitmix64 sequence, by 53 bits of each word."""
    cdef uint64_t word
    state[0] += <uint64_t> 0x9E3779B97F4A7C15
    word = state[0]
    word = (word ^ (word >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
    word = (word ^ (word >> 27)) * <uint64_t> 0x94D049BB133111EB
    word ^= word >> 31
    return <double> (word >> 11) * (1.0 / 9007199254740992.0)


class Gap(NamedTuple):
    """Missing bytes of one term.

    Attributes:
        term_id: int32.
        term_offset: the offset of the first missing byte.
        length: in bytes, a multiple of 32.
    """
    term_id: int
    term_offset: int
    length: int


class LossScan(NamedTuple):
    """The result of one scan.

    Attributes:
        rebuild_position: the position of the first missing byte, or of the end of the frames.
        loss_found: whether there is a gap that was not the active one before.
        report: whether the gap is to be reported (or filled) now.
        gap: the first gap, None when nothing is missing.
    """
    rebuild_position: int
    loss_found: bool
    report: bool
    gap: Gap | None


cdef int32_t find_gap(
    const uint8_t* term, int32_t term_length, int32_t offset, int32_t limit, gap_t* gap
) noexcept nogil:
    cdef int32_t frame_length
    cdef int32_t end
    cdef int64_t room
    gap.term_offset = 0
    gap.length = 0
    limit = min(limit, term_length)
    if offset < 0:
        return offset
    # Words are read on the frame grid only, so that no read crosses the end of the term.
    offset &= ~<int32_t> (FRAME_ALIGNMENT - 1)
    while offset < limit:
        frame_length = load_acquire_i32(term + offset)
        if frame_length <= 0:
            break
        room = term_length - offset
        offset += <int32_t> min(align_frame(frame_length), room)
    if offset >= limit:
        return offset
    end = offset + FRAME_ALIGNMENT
    while end < limit and load_acquire_i32(term + end) == 0:
        end += FRAME_ALIGNMENT
    gap.term_offset = offset
    gap.length = end - offset
    return offset


cdef bint fill_gap(const log_buffer_t* log, const gap_t* gap) noexcept nogil:
    cdef uint8_t* frame
    cdef int32_t offset
    if (
        gap.term_offset < 0
        or gap.length < DATA_HEADER_LENGTH
        or gap.length > log.term_length - gap.term_offset
        or (gap.term_offset | gap.length) & (FRAME_ALIGNMENT - 1)
    ):
        return False
    frame = log.terms[index_by_term_count(wrapping_sub(gap.term_id, log.initial_term_id))]
    frame += gap.term_offset
    # Backwards: a late frame at the start of the gap is overwritten last.
    offset = gap.length - FRAME_ALIGNMENT
    while offset >= 0:
        if load_acquire_i32(frame + offset) != 0:
            return False
        offset -= FRAME_ALIGNMENT
    memcpy(
        frame + VERSION_OFFSET,
        log.meta + META_DEFAULT_HEADER + VERSION_OFFSET,
        DATA_HEADER_LENGTH - VERSION_OFFSET,
    )
    set_frame_type(frame, FRAME_PAD)
    put_i32(frame + TERM_OFFSET_OFFSET, gap.term_offset)
    put_i32(frame + TERM_ID_OFFSET, gap.term_id)
    commit_frame(frame, gap.length)
    return True


cdef inline bint _same(const gap_t* a, const gap_t* b) noexcept nogil:
    return a.term_id == b.term_id and a.term_offset == b.term_offset and a.length == b.length


cdef inline int64_t _wrapping_add_i64(int64_t a, int64_t b) noexcept nogil:
    return <int64_t> (<uint64_t> a + <uint64_t> b)


cdef inline bint _reached(int64_t deadline_ns, int64_t now_ns) noexcept nogil:
    """Compare times by their difference only, because the clock may wrap."""
    return <int64_t> (<uint64_t> deadline_ns - <uint64_t> now_ns) <= 0


cdef class LossDetector:
    """Finds the first gap of an image and decides when to report it.

    A gap that grows or shrinks is a new gap, whose delay starts again.
    """
    def __cinit__(self, FeedbackDelay delay not None) -> None:
        self._delay = delay
        self._active = gap_t(0, 0, 0)

    cdef void scan(
        self,
        const log_buffer_t* log,
        int64_t rebuild_position,
        int64_t hwm_position,
        int64_t now_ns,
        loss_scan_t* found,
    ) noexcept nogil:
        cdef int32_t offset = offset_by_position(log, rebuild_position)
        cdef int64_t term_begin = rebuild_position - offset
        cdef int32_t limit = log.term_length
        cdef int32_t reached
        found.rebuild_position = rebuild_position
        found.loss_found = False
        found.report = False
        found.gap = gap_t(0, 0, 0)
        if rebuild_position < 0 or rebuild_position >= hwm_position:
            return
        if hwm_position - term_begin < limit:
            limit = <int32_t> (hwm_position - term_begin)
        reached = find_gap(
            log.terms[index_by_position(log, rebuild_position)],
            log.term_length,
            offset,
            limit,
            &found.gap,
        )
        found.rebuild_position = max(rebuild_position, term_begin + reached)
        if found.gap.length == 0:
            return
        found.gap.term_id = term_id_by_position(log, rebuild_position)
        if not _same(&found.gap, &self._active):
            self._active = found.gap
            self._deadline_ns = _wrapping_add_i64(now_ns, self._delay.first_delay_ns())
            found.loss_found = True
        if _reached(self._deadline_ns, now_ns):
            found.report = True
            self._deadline_ns = _wrapping_add_i64(now_ns, self._delay.retry_delay_ns())

    @property
    def deadline_ns(self) -> int:
        """The time of the next report of the active gap."""
        return self._deadline_ns

    def scan_log(
        self, LogBuffers logs not None, rebuild_position: int, hwm_position: int, now_ns: int
    ) -> LossScan:
        """Scan from the rebuild position to the high-water mark, within the first one's term."""
        cdef loss_scan_t found
        self.scan(&logs.log, rebuild_position, hwm_position, now_ns, &found)
        gap = None
        if found.gap.length:
            gap = Gap(found.gap.term_id, found.gap.term_offset, found.gap.length)
        return LossScan(found.rebuild_position, found.loss_found, found.report, gap)


cdef class LossRanges:
    """The parts of an image's losses that the loss report already has."""
    def __cinit__(self) -> None:
        self._last = gap_t(0, 0, 0)

    cdef int32_t add_gap(self, const gap_t* gap) noexcept nogil:
        cdef int64_t end = <int64_t> gap.term_offset + gap.length
        cdef int64_t last_end = <int64_t> self._last.term_offset + self._last.length
        cdef int32_t extra
        if gap.length <= 0:
            return 0
        if (
            self._last.length == 0
            or gap.term_id != self._last.term_id
            or gap.term_offset >= last_end
        ):
            self._last = gap[0]
            return gap.length
        if end <= last_end:
            return 0
        extra = <int32_t> (end - last_end)
        self._last.length += extra
        return extra

    def add(self, gap: Gap) -> int:
        """Return how many bytes of the gap the report does not have yet."""
        cdef gap_t native = gap_t(gap.term_id, gap.term_offset, gap.length)
        return self.add_gap(&native)


def fill(LogBuffers logs not None, gap: Gap) -> bool:
    """Pad a gap of an unreliable stream; False when there is data in it or it is no valid gap."""
    cdef gap_t native = gap_t(gap.term_id, gap.term_offset, gap.length)
    return fill_gap(&logs.log, &native)
