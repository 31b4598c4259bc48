"""A clock that stands still: no finding depends on how long a test takes."""

from __future__ import annotations

import pytest

from aerolog.tools.doctor import examination
from aerolog.transport.concurrent.clock import SystemClock

from .driver_files import NOW_MS


class StandingClock(SystemClock):
    """The machine's monotonic clock, beside a time of day that stands still."""

    def now_epoch_ms(self) -> int:
        return NOW_MS


@pytest.fixture(autouse=True)
def _standing_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examination, "SystemClock", StandingClock)
