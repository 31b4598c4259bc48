"""The agent that writes time notes, every 20 ms or when a ring buffer fills."""

from libc.stdint cimport int32_t, int64_t

from aerolog.archive.service.session_table cimport SessionTable
from aerolog.archive.time_index.notes cimport NOTES_CAPACITY, TimeNotes
from aerolog.transport.concurrent.agent cimport Agent
from aerolog.transport.memory.counter cimport counter_at, no_counter, store_counter
from aerolog.transport.memory.counters cimport CountersReader

cdef enum:
    INTERVAL_NS = 20_000_000
    MANY = NOTES_CAPACITY // 2


cdef class NotesAgent(Agent):
    """Writes the notes of recordings to their index files; subclasses implement ``control``.

    Args:
        capacity: most recordings at a time.
    """

    def __cinit__(self, *_, **__):
        self.table = SessionTable(1)
        self._entries_counter = no_counter()
        self._dropped_counter = no_counter()

    def __init__(self, int32_t capacity):
        super().__init__("archive-times")
        self.table = SessionTable(capacity)
        self._alive = {}

    cdef int duty_cycle(self, int64_t now_ns) noexcept nogil:
        cdef int32_t index, count, work = 0
        cdef void* pointer
        cdef bint is_time = now_ns >= self._next_ns
        if is_time:
            self._next_ns = now_ns + INTERVAL_NS
        for index in range(self.table.limit()):
            pointer = self.table.at(index)
            if pointer == NULL:
                continue
            if (<TimeNotes> pointer).is_closed():
                self.control_due = True
            elif is_time or (<TimeNotes> pointer).waiting() >= MANY:
                count = (<TimeNotes> pointer).drain()
                if count < 0:
                    self.control_due = True
                else:
                    work += count
        if work > 0:
            self._entries += work
            store_counter(&self._entries_counter, self._entries)
        return work

    def show_in(
        self, CountersReader counters not None, int32_t entries_id, int32_t dropped_id
    ) -> None:
        """Show the numbers of entries written and of notes lost in two counters."""
        self._counters = counters
        self._dropped_counter = counter_at(counters, dropped_id)
        self._entries_counter = counter_at(counters, entries_id)

    def add(self, TimeNotes notes not None) -> bool:
        """Start writing notes; returns False when there are too many; callable from any thread."""
        self._alive[id(notes)] = notes
        if self.table.add(notes):
            return True
        del self._alive[id(notes)]
        return False

    def take_ended(self) -> list:
        """Release and return notes that are closed or failed; called on the agent's thread."""
        ended = []
        for index, notes in self.table.sessions():
            if notes.closed or notes.failed_errno:
                self.table.release(index)
                ended.append(self._alive.pop(id(notes)))
                self._dropped += notes.dropped
        store_counter(&self._dropped_counter, self._dropped)
        return ended

    def turn(self, now_ns: int) -> int:
        """Run one duty cycle at a monotonic time in nanoseconds."""
        return self.duty_cycle(now_ns)
