"""The thread that pushes metrics: what it does when there is nothing to push."""

from __future__ import annotations

from typing import Any

import pytest
from waits import wait_until

from aerolog.tools.metrics.otlp import Pusher
from aerolog.transport.concurrent.clock import SystemClock


class Failing:
    """An exporter whose first collections raise."""

    clock = SystemClock()

    def __init__(self, failures: list[BaseException]) -> None:
        self._failures = failures
        self.calls = 0

    def collect(self) -> list[Any]:
        self.calls += 1
        if self._failures:
            raise self._failures.pop()
        return []


@pytest.mark.parametrize("kind", [OSError, SystemExit])
def test_a_collection_that_fails_is_told_of_and_the_next_is_made(kind: type[BaseException]) -> None:
    exporter = Failing([kind("gone"), kind("gone")])
    told: list[str | None] = []
    with Pusher(exporter, "http://127.0.0.1:9/v1/metrics", 0.01, told.append):  # type: ignore[arg-type]
        wait_until(lambda: exporter.calls > 2, "a third collection")
    assert told[0] is not None
    assert f"nothing was pushed: {kind.__name__}: gone" in told[0]
    assert len([text for text in told if text is not None and "gone" in text]) == 1
