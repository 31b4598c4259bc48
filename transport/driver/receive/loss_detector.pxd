"""Detection, delay, filling and accounting of gaps in an image (spec wire-protocol 9.3, 9.4)."""

from libc.stdint cimport int32_t, int64_t, uint64_t, uint8_t

from aerolog.transport.logbuffer.descriptor cimport log_buffer_t


cdef class FeedbackDelay:
    cdef int64_t first_delay_ns(self) noexcept nogil
    cdef int64_t retry_delay_ns(self) noexcept nogil


cdef class StaticDelay(FeedbackDelay):
    cdef int64_t _first_ns
    cdef int64_t _retry_ns


cdef class OptimalMulticastDelay(FeedbackDelay):
    cdef uint64_t _state
    cdef double _span       # lambda / T
    cdef double _scale      # e^lambda - 1


# A run of missing bytes, inside one term; the length is a multiple of 32 and above 0.
ctypedef struct gap_t:
    int32_t term_id
    int32_t term_offset
    int32_t length

# The result of a scan. report: tell the sender of the gap, or fill it, now.
ctypedef struct loss_scan_t:
    int64_t rebuild_position    # of the first missing byte, or of the end of the frames
    bint loss_found             # whether there is a gap that was not the active one before
    bint report
    gap_t gap                   # all 0 without a gap

# Offset of the first missing byte, which may be beyond the limit; gap.length is 0 without a gap.
# Looks at no byte outside the term, whatever the offsets and the frames say.
cdef int32_t find_gap(
    const uint8_t* term, int32_t term_length, int32_t offset, int32_t limit, gap_t* gap
) noexcept nogil

# Puts a padding frame over a gap of an unreliable stream; False when there is data already, or
# when the gap does not lie in a term.
cdef bint fill_gap(const log_buffer_t* log, const gap_t* gap) noexcept nogil


cdef class LossDetector:
    cdef FeedbackDelay _delay
    cdef gap_t _active
    cdef int64_t _deadline_ns
    cdef void scan(
        self,
        const log_buffer_t* log,
        int64_t rebuild_position,
        int64_t hwm_position,
        int64_t now_ns,
        loss_scan_t* found,
    ) noexcept nogil


cdef class LossRanges:
    cdef gap_t _last
    # The number of bytes of the gap that the loss report does not have yet; 0: nothing to write.
    cdef int32_t add_gap(self, const gap_t* gap) noexcept nogil
