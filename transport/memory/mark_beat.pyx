"""Signs of life in a mark file, without the interpreter (spec archive-files 2)."""

from libc.stdint cimport int64_t

from aerolog.transport.concurrent.atomic cimport load_acquire_i64, store_release_i64
from aerolog.transport.concurrent.clock cimport Clock
from aerolog.transport.memory.mapped_file cimport MappedFile
from aerolog.transport.time_units cimport NS_PER_S


cdef class MarkBeat:
    """Stores signs of life for an owner whose interpreter may be held by other code.

    Args:
        mapped: the mark file.
        clock: gives the time that is stored, epoch milliseconds.
        activity_offset: where the time of the last sign of life is.
        pid_offset: where the owner's process id is.
        started_offset: where the time of its start is.
        pid: the owner; where the file has another one, nothing is stored.
        started: the time of its start.
    """

    def __cinit__(
        self,
        MappedFile mapped not None,
        Clock clock not None,
        *,
        activity_offset: int,
        pid_offset: int,
        started_offset: int,
        pid: int,
        started: int,
    ) -> None:
        self._mapped = mapped
        self._clock = clock
        self._activity = <int64_t*> mapped.section(activity_offset, sizeof(int64_t))
        self._pid = <const int64_t*> mapped.section(pid_offset, sizeof(int64_t))
        self._started = <const int64_t*> mapped.section(started_offset, sizeof(int64_t))
        self._own_pid = pid
        self._own_started = started

    cdef void beat(self, int64_t now_ns) noexcept nogil:
        if now_ns < self._next_ns:
            return
        self._next_ns = now_ns + NS_PER_S
        if (
            load_acquire_i64(self._pid) == self._own_pid
            and load_acquire_i64(self._started) == self._own_started
        ):
            store_release_i64(self._activity, self._clock.epoch_ms())
