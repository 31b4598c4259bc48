"""The order of commands: a client whose command goes on later is held, and other clients are not.

A command goes on later when it waits for a log that is being made, its own or another one to which
it refers. Further commands of that client then wait, so that each client's commands are answered in
the order in which they came. Conductor only.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.transport.protocol.commands import Command

#: As many commands may wait for their clients' turns before no further ones are read.
WAITING_LIMIT: Final = 1024


class PublicationAwaitedError(Exception):
    """A command refers to a publication whose log is being made.

    The command has changed nothing yet; it is to run again once the publication is there, or
    cannot be made.

    Attributes:
        waiting: the clients that are released then; the client of the command joins them.
    """

    def __init__(self, waiting: list[int]) -> None:
        super().__init__("the log of the publication is being made")
        self.waiting = waiting


class CommandOrder:
    """Runs commands in the order of each client.

    Args:
        execute: runs a command; it may call `hold`.
        refuse: answers a command that fails, given its correlation id and the error.
    """

    def __init__(
        self, execute: Callable[[Command], None], refuse: Callable[[int, Exception], None]
    ) -> None:
        self._execute = execute
        self.refuse = refuse
        self._held: dict[int, deque[Command]] = {}
        self._released: deque[int] = deque()
        self._count = 0

    @property
    def is_full(self) -> bool:
        """Whether so many commands wait that no further ones are to be read."""
        return self._count >= WAITING_LIMIT

    @property
    def is_ready(self) -> bool:
        """Whether a command that has waited can run."""
        return bool(self._released)

    def take(self, command: Command) -> None:
        """Run a command that was read, or keep it while its client is held."""
        waiting = self._held.get(command.client_id)
        if waiting is None:
            self._execute(command)
        else:
            waiting.append(command)
            self._count += 1

    def run_next(self) -> None:
        """Run one command of a client that was released."""
        client_id = self._released.popleft()
        waiting = self._held.pop(client_id)
        if not waiting:
            return
        command = waiting.popleft()
        self._count -= 1
        self._held[client_id] = waiting  # a command that holds its client finds those after it
        self._released.append(client_id)
        self._execute(command)

    def hold(self, client_id: int) -> None:
        """Keep the further commands of a client until `release`."""
        self._held.setdefault(client_id, deque())
        if client_id in self._released:
            self._released.remove(client_id)

    def fail(self, command: Command, error: Exception) -> None:
        """Answer a command that failed, or keep it when it only waits for a publication."""
        if isinstance(error, PublicationAwaitedError):
            self.hold(command.client_id)
            self._held[command.client_id].appendleft(command)
            self._count += 1
            error.waiting.append(command.client_id)
        else:
            self.refuse(command.correlation_id, error)

    def release(self, client_id: int) -> None:
        """Let the commands of a client that is held go on."""
        if self._held[client_id]:
            self._released.append(client_id)
        else:
            del self._held[client_id]

    def drop(self, client_id: int) -> None:
        """Release a client that is gone, without the commands that it has left."""
        self._count -= len(self._held[client_id])
        self._held[client_id].clear()
        self.release(client_id)
