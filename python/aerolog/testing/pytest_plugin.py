"""pytest fixtures with media drivers in the test's process.

pytest finds it by itself where aerolog is installed; a ``pytest_plugins`` that lists it does no
harm. The driver is loaded when a test asks for one.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from aerolog.transport.driver import MediaDriver

MediaDriverFactory = Callable[..., "MediaDriver"]

_SMALL_BUFFERS = {
    "counters_buffer_length": "1m",
    "ipc_term_buffer_length": "64k",
    "term_buffer_length": "64k",
}


@pytest.fixture
def media_driver_dir() -> Iterator[Path]:
    """A path for a driver's directory, in shared memory where there is some; removed afterwards."""
    shm = Path("/dev/shm")  # noqa: S108 -- where drivers live
    parent = shm if shm.is_dir() else Path(gettempdir())
    path = parent / f"aerolog-test-{uuid.uuid4().hex[:12]}"
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def media_driver_factory() -> Iterator[MediaDriverFactory]:
    """Makes drivers with small buffers: ``media_driver_factory(timer_interval=0.1, …)``.

    Takes what `MediaDriver` takes; without a directory each gets one of its own. All are closed
    after the test, the last one first, and their directories removed.
    """
    from aerolog.transport.driver import MediaDriver

    drivers: list[MediaDriver] = []

    def make(*args: object, **options: object) -> MediaDriver:
        options = {**_SMALL_BUFFERS, "threading_mode": "SHARED", **options}
        make_one = MediaDriver if args or options.get("dir") else MediaDriver.embedded
        driver: MediaDriver = make_one(*args, **options)  # type: ignore[arg-type]  # passed on
        drivers.append(driver)
        return driver

    yield make
    for driver in reversed(drivers):
        driver.close()
        shutil.rmtree(driver.aeron_dir, ignore_errors=True)


@pytest.fixture
def media_driver(media_driver_factory: MediaDriverFactory) -> MediaDriver:
    """A running driver with small buffers on a directory of its own."""
    return media_driver_factory()
