"""The driver's settings, apart from the environment of the run."""

from collections.abc import Callable

import pytest

from aerolog.transport.config.settings import Settings
from aerolog.transport.config.sources import Properties
from aerolog.transport.driver.properties import driver_settings


@pytest.fixture
def settings() -> Callable[..., Settings]:
    """A function: settings with the given properties."""

    def make(given: dict[str, str] | None = None) -> Settings:
        options = [f"-D{name}={value}" for name, value in (given or {}).items()]
        return driver_settings(Properties.from_command_line(options, environ={}))

    return make
