"""Trackers of duty cycles in counters, and by duration, in powers of two nanoseconds."""

from libc.stdint cimport int64_t, uint64_t

from aerolog.transport.concurrent.agent_runner cimport DutyCycleTracker
from aerolog.transport.concurrent.atomic cimport load_plain_i64, store_release_i64
from aerolog.transport.memory.counter cimport counter_at, counter_t
from aerolog.transport.memory.counters cimport CountersReader
from aerolog.transport.memory.mapped_file cimport MappedFile

cdef extern from *:
    """
    static inline int aerolog_log2(uint64_t value) { return 63 - __builtin_clzll(value | 1); }
    """
    int log2_of "aerolog_log2" (uint64_t value) noexcept nogil

cdef enum:
    BUCKETS = 64


cdef class HistogramTracker(DutyCycleTracker):
    """A DutyCycleTracker that also counts every cycle in one of 64 words of a file.

    Args:
        threshold_ns: cycles longer than this are counted separately, nanoseconds.
        file: a writable mapping, which the tracker keeps alive.
        offset: offset of the 64 words in the file, a multiple of 8.

    Raises:
        ValueError: if the words reach beyond the end of the file.
    """

    def __cinit__(self, threshold_ns: int, MappedFile file not None, offset: int) -> None:
        if offset < 0 or offset % 8 or offset + 8 * BUCKETS > file.length:
            raise ValueError(f"offset={offset}: no {BUCKETS} words in {file.length} bytes")
        if not file.writable:
            raise ValueError(f"{file.path} is not mapped for writing")
        self._file = file
        self._buckets = <int64_t*> (file.address + <int64_t> offset)

    cdef void measure_and_update(self, int64_t now_ns) noexcept nogil:
        cdef int64_t cycle_ns = now_ns - self._last_update_ns
        cdef int64_t* bucket
        DutyCycleTracker.measure_and_update(self, now_ns)
        if cycle_ns < 0:
            return
        bucket = self._buckets + log2_of(<uint64_t> cycle_ns)
        store_release_i64(bucket, load_plain_i64(bucket) + 1)

    def measure(self, now_ns: int) -> None:
        """Record that a cycle ends at this time, nanoseconds, as a runner does in its loop."""
        self.measure_and_update(now_ns)


def cycle_tracker(
    CountersReader counters not None,
    max_cycle_id: int,
    exceeded_id: int,
    threshold_ns: int,
    histograms: object = None,
    agent: str = "",
) -> DutyCycleTracker:
    """Return a tracker that shows an agent's duty cycles in two counters.

    Args:
        counters: the driver's counters, which the tracker keeps alive.
        max_cycle_id: the counter of the longest cycle, in nanoseconds.
        exceeded_id: the counter of the cycles that were longer than the threshold.
        threshold_ns: that threshold, nanoseconds.
        histograms: the driver's CycleHistograms, to count the cycles by duration as well.
        agent: the agent's name there.
    """
    cdef DutyCycleTracker tracker
    cdef counter_t max_cycle = counter_at(counters, max_cycle_id)
    cdef counter_t exceeded = counter_at(counters, exceeded_id)
    if histograms is None:
        tracker = DutyCycleTracker(threshold_ns)
    else:
        tracker = HistogramTracker(threshold_ns, histograms.mapped, histograms.offset_of(agent))
    tracker.bind(&max_cycle, &exceeded, counters)
    return tracker
