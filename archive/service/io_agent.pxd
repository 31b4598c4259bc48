"""The agent of the recorder or the replayer, with the totals of what it wrote or read."""

from libc.stdint cimport int64_t, uint8_t

from aerolog.archive.service.session_table cimport SessionTable
from aerolog.transport.agents.doorbell cimport Doorbell
from aerolog.transport.concurrent.agent cimport Agent
from aerolog.transport.concurrent.clock cimport Clock
from aerolog.transport.memory.counter cimport counter_t
from aerolog.transport.memory.counters cimport CountersReader


cdef struct io_totals_t:
    int64_t bytes
    int64_t time_ns
    int64_t max_time_ns


cdef inline void add_io(io_totals_t* totals, int64_t length, int64_t took_ns) noexcept nogil:
    totals.bytes += length
    totals.time_ns += took_ns
    if took_ns > totals.max_time_ns:
        totals.max_time_ns = took_ns


cdef class IoAgent(Agent):
    cdef readonly SessionTable table
    cdef readonly Doorbell doorbell
    cdef readonly Clock clock
    cdef readonly int64_t buffer_length
    cdef uint8_t* buffer
    cdef io_totals_t totals
    cdef CountersReader _counters
    cdef counter_t _total_bytes
    cdef counter_t _total_time
    cdef counter_t _max_time
    # Shows the totals in their counters.
    cdef void publish_totals(self) noexcept nogil
