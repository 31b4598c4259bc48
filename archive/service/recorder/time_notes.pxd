"""The agent that writes the notes of all recordings to their index files."""

from libc.stdint cimport int64_t

from aerolog.archive.service.session_table cimport SessionTable
from aerolog.transport.concurrent.agent cimport Agent
from aerolog.transport.memory.counter cimport counter_t
from aerolog.transport.memory.counters cimport CountersReader


cdef class NotesAgent(Agent):
    cdef readonly SessionTable table
    cdef dict _alive
    cdef int64_t _next_ns
    cdef int64_t _entries
    cdef int64_t _dropped
    cdef CountersReader _counters
    cdef counter_t _entries_counter
    cdef counter_t _dropped_counter
