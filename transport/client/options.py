"""How a client is set up (spec client section 1)."""

from __future__ import annotations

import getpass
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aerolog.transport.concurrent.clock import SystemClock
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.memory.filesystem import RealFileSystem

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.transport.client.events import PublicationErrorFrame
    from aerolog.transport.client.image import Image
    from aerolog.transport.concurrent.clock import Clock
    from aerolog.transport.memory.counters import CountersReader
    from aerolog.transport.memory.filesystem import FileSystem

    ImageHandler = Callable[[Image], object]
    CounterHandler = Callable[[CountersReader, int, int], object]

MAX_CLIENT_NAME_LENGTH = 100
MAX_IDLE_SLEEP = 1.0
NS_PER_SECOND = 1_000_000_000


def default_aeron_dir() -> str:
    """The directory that a driver of this user uses when nothing else is said.

    ``AERON_DIR`` in the environment, else ``/dev/shm/aeron-<user>``, or the temporary folder where
    there is no ``/dev/shm``.
    """
    named = os.environ.get("AERON_DIR")
    if named:
        return named
    shared_memory = Path("/dev/shm")  # noqa: S108 - where the reference puts it
    parent = shared_memory if shared_memory.is_dir() else Path(tempfile.gettempdir())
    return str(parent / f"aeron-{getpass.getuser()}")


def seconds_to_ns(name: str, seconds: float) -> int:
    """A duration given as seconds, in nanoseconds."""
    if not seconds >= 0:
        raise ConfigurationError(f"{name} is a number of seconds from 0 on, not {seconds!r}")
    return round(seconds * NS_PER_SECOND)


@dataclass(slots=True, kw_only=True)
class ClientOptions:
    """Everything that ``Aeron`` takes, checked. Durations are in seconds."""

    aeron_dir: str
    driver_timeout: float = 10.0
    keepalive_interval: float = 0.5
    idle_sleep: float = 0.016
    name: str = ""
    invoker: bool = False
    pre_touch: bool = False
    driver_invoker: Callable[[], object] | None = None
    on_error: Callable[[BaseException], object] | None = None
    on_close: Callable[[], object] | None = None
    on_image: ImageHandler | None = None
    on_image_gone: ImageHandler | None = None
    on_counter: CounterHandler | None = None
    on_counter_gone: CounterHandler | None = None
    on_publication_error: Callable[[PublicationErrorFrame], object] | None = None
    clock: Clock = field(default_factory=SystemClock)
    file_system: FileSystem = field(default_factory=RealFileSystem)

    def __post_init__(self) -> None:
        if len(self.name) > MAX_CLIENT_NAME_LENGTH:
            raise ConfigurationError(
                f"a client name has at most {MAX_CLIENT_NAME_LENGTH} characters, "
                f"this one {len(self.name)}"
            )
        if not 0 <= self.idle_sleep <= MAX_IDLE_SLEEP:
            raise ConfigurationError(f"idle_sleep is 0 to 1 second, not {self.idle_sleep!r}")
        if self.driver_invoker is not None and not self.invoker:
            raise ConfigurationError("a driver_invoker needs a client with invoker=True")
        seconds_to_ns("driver_timeout", self.driver_timeout)
        seconds_to_ns("keepalive_interval", self.keepalive_interval)

    @property
    def driver_timeout_ns(self) -> int:
        """Age at which a driver counts as gone, and the time for an answer of it."""
        return seconds_to_ns("driver_timeout", self.driver_timeout)

    def describe(self) -> dict[str, Any]:
        """The plain values, for ``repr``."""
        return {"aeron_dir": self.aeron_dir, "name": self.name, "invoker": self.invoker}
