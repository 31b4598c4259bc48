"""Seeds of tests that draw what they do at random: a few in every run, more in `make test-long`."""

from __future__ import annotations

from typing import Any

import pytest


def seeds(quick: int, long: int) -> list[Any]:
    """Seeds from 1 on, of which those that are not quick are marked slow."""
    return [
        seed if seed <= quick else pytest.param(seed, marks=pytest.mark.slow)
        for seed in range(1, long + 1)
    ]
