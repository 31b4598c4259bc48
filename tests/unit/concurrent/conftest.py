"""Waiting for what another thread does."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable


def wait_until(condition: Callable[[], object], timeout_s: float = 30.0) -> None:
    """Give the processor away until something is true; fail after a while."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail(f"still not true after {timeout_s} s")
        time.sleep(0.001)


@pytest.fixture
def until() -> Callable[..., None]:
    return wait_until
