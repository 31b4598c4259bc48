from aerolog.archive.service.session_table import SessionTable
from aerolog.archive.times.notes import TimeNotes
from aerolog.transport.concurrent.agent import Agent
from aerolog.transport.memory.counters import CountersReader

class NotesAgent(Agent):
    """Writes the notes of recordings to their index files; ``control`` is the subclass's.

    Args:
        capacity: recordings at a time.
    """

    table: SessionTable
    def __init__(self, capacity: int) -> None: ...
    def show_in(self, counters: CountersReader, entries_id: int, dropped_id: int) -> None:
        """Count the entries written, and the notes lost, in two counters."""

    def add(self, notes: TimeNotes) -> bool:
        """Have notes written from now on; False when there are too many. From any thread."""

    def take_ended(self) -> list[TimeNotes]:
        """Let go of notes that are closed or failed; on the agent's thread only."""

    def turn(self, now_ns: int) -> int: ...
