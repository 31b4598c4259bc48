"""The agent of the recorder or the replayer, with the totals of what it wrote or read."""

from libc.stdint cimport int64_t
from libc.stdlib cimport free
from posix.stdlib cimport posix_memalign

from aerolog.archive.service.session_table cimport SessionTable
from aerolog.transport.agents.doorbell cimport Doorbell
from aerolog.transport.concurrent.agent cimport Agent
from aerolog.transport.concurrent.clock cimport Clock
from aerolog.transport.memory.counter cimport counter_at, store_counter
from aerolog.transport.memory.counters cimport CountersReader

cdef enum:
    BUFFER_ALIGNMENT = 4096


cdef class IoAgent(Agent):
    """Writes or reads files for the sessions of a table, and shows how much and how long.

    Args:
        role: what the agent is, ``recorder`` or ``replayer``.
        table: where the conductor adds sessions.
        doorbell: rung when a session has been released or needs the conductor.
        clock: measures the duration of writes or reads.
        buffer_length: bytes of the agent's own memory, 0 for none.
        counters: the driver's counters.
        counter_ids: ids of the counters of bytes, of nanoseconds spent, and of the nanoseconds
            of the longest write or read.
    """

    def __init__(
        self,
        str role,
        SessionTable table not None,
        Doorbell doorbell not None,
        Clock clock not None,
        *,
        int64_t buffer_length,
        CountersReader counters not None,
        tuple counter_ids,
    ):
        super().__init__(f"archive-{role}")
        self.table = table
        self.doorbell = doorbell
        self.clock = clock
        self.buffer_length = buffer_length
        self._counters = counters
        total_bytes_id, total_time_id, max_time_id = counter_ids
        self._total_bytes = counter_at(counters, total_bytes_id)
        self._total_time = counter_at(counters, total_time_id)
        self._max_time = counter_at(counters, max_time_id)
        if (
            self._total_bytes.value == NULL
            or self._total_time.value == NULL
            or self._max_time.value == NULL
        ):
            raise ValueError(f"a counter of the {role} is out of range, or is free: {counter_ids}")
        if self.buffer != NULL:
            raise RuntimeError("already initialised")
        if buffer_length > 0 and posix_memalign(
            <void**> &self.buffer, BUFFER_ALIGNMENT, buffer_length
        ):
            raise MemoryError()

    def __dealloc__(self) -> None:
        free(self.buffer)

    cdef void publish_totals(self) noexcept nogil:
        store_counter(&self._total_bytes, self.totals.bytes)
        store_counter(&self._total_time, self.totals.time_ns)
        store_counter(&self._max_time, self.totals.max_time_ns)
