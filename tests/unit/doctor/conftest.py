"""A clock that stands still: no finding depends on how long a test takes."""

from __future__ import annotations

import pytest

from aerolog.tools.doctor import examination

from .driver_files import NOW_MS


@pytest.fixture(autouse=True)
def _standing_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examination, "epoch_ms", lambda: NOW_MS)
