"""Messages that services offer into the log and that do not stand there yet (spec cluster 18)."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

POLL_LIMIT: Final = 20
_SERVICE_SHIFT: Final = 56
_SIGN: Final = 1 << 63


def first_session_id(service_id: int) -> int:
    """Return the number before the first of a service's messages, which is negative."""
    return (service_id << _SERVICE_SHIFT) - _SIGN


def service_of(session_id: int) -> int:
    """Return the service that a negative session id in the log names."""
    return (session_id + _SIGN) >> _SERVICE_SHIFT


class PendingMessages:
    """The queue of one service.

    Attributes:
        service_id: the service.
        next_service_session_id: the number of its next message.
        log_service_session_id: the number of its last message that stands in the log.
    """

    def __init__(self, service_id: int) -> None:
        self.service_id = service_id
        self.log_service_session_id = first_session_id(service_id)
        self.next_service_session_id = self.log_service_session_id + 1
        self._queue: deque[tuple[int, bytes]] = deque()

    def __len__(self) -> int:
        return len(self._queue)

    def restore(self, next_id: int, log_id: int) -> None:
        """Take the numbers of a snapshot; its messages follow through `add`."""
        self.next_service_session_id = next_id
        self.log_service_session_id = log_id
        self._queue.clear()

    def restore_message(self, session_id: int, payload: bytes) -> None:
        """Take a message of a snapshot, which has its number already."""
        self._queue.append((session_id, payload))

    def add(self, payload: bytes) -> None:
        """Queue a message, under the next number."""
        # After a restart a service offers again what the log has already, and is not heard twice.
        if self.next_service_session_id > self.log_service_session_id:
            self._queue.append((self.next_service_session_id, payload))
        self.next_service_session_id += 1

    def poll(self, append: Callable[[int, bytes], bool]) -> int:
        """Append queued messages, at most 20; returns how many stand in the log now."""
        done = 0
        while self._queue and done < POLL_LIMIT:
            session_id, payload = self._queue[0]
            if not append(session_id, payload):
                break
            self._queue.popleft()
            self.log_service_session_id = session_id
            done += 1
        return done

    def take_back(self, session_id: int, payload: bytes) -> None:
        """Queue a message again that was appended last, and that the log has lost."""
        self._queue.appendleft((session_id, payload))
        self.log_service_session_id = session_id - 1

    def on_log_message(self, session_id: int) -> None:
        """Note a message that a replayed log has."""
        self.log_service_session_id = session_id
        while self._queue and self._queue[0][0] <= session_id:
            self._queue.popleft()

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Give what is queued: the number and the payload of each message."""
        return iter(self._queue)
