"""Tasks that run when a test says so, in place of a thread."""

from collections import deque
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class TurnedTasks:
    """Tasks of which each waits for `run`; outcomes wait for the next `poll`."""

    def __init__(self, ring: Callable[[], object]) -> None:
        self._ring = ring
        self._tasks: deque[Callable[[], Callable[[], None]]] = deque()
        self._outcomes: deque[Callable[[], None]] = deque()
        self.is_closed = False

    def __len__(self) -> int:
        return len(self._tasks)

    def submit(
        self,
        task: Callable[[], T],
        then: Callable[[T], None],
        failed: Callable[[Exception], None],
    ) -> bool:
        def run() -> Callable[[], None]:
            try:
                result = task()
            except Exception as error:
                found = error
                return lambda: failed(found)

            def tell() -> None:
                try:
                    then(result)
                except Exception as error:
                    failed(error)

            return tell

        self._tasks.append(run)
        return True

    def run(self, count: int = 1) -> None:
        """Run the tasks that wait longest."""
        for _ in range(count):
            self._outcomes.append(self._tasks.popleft()())
        self._ring()

    def poll(self) -> int:
        count = len(self._outcomes)
        for _ in range(count):
            self._outcomes.popleft()()
        return count

    def close(self) -> None:
        self.is_closed = True
        self._tasks.clear()
        self._outcomes.clear()
