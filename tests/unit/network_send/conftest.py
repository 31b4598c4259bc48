"""The driver's settings apart from the environment, and a sender with scripted receivers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from aerolog.transport.config.sources import Properties
from aerolog.transport.driver.properties import driver_settings

# Tests of other folders use the station as well.
sys.path.insert(0, str(Path(__file__).parent))

from sending_station import Bench, Stream

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.transport.config.settings import Settings


@pytest.fixture
def settings() -> Callable[..., Settings]:
    """A function: settings with the given properties."""

    def make(given: dict[str, str] | None = None) -> Settings:
        options = [f"-D{name}={value}" for name, value in (given or {}).items()]
        return driver_settings(Properties.from_command_line(options, environ={}))

    return make


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def make_bench() -> Callable[..., Bench]:
    return Bench


@pytest.fixture
def make_stream() -> Callable[..., Stream]:
    return Stream
