"""The options of a client (spec client 1)."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from aerolog.transport.concurrent.clock import SystemClock
from aerolog.transport.config import Declare, Properties, Settings
from aerolog.transport.config.known_names import STRICT
from aerolog.transport.config.values import duration_to_ns
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.memory.aeron_directory import unconfigured_aeron_dir
from aerolog.transport.memory.filesystem import RealFileSystem
from aerolog.transport.text_output import logger
from aerolog.transport.time_units import NS_PER_MS, NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta

    from aerolog.transport.client.client_events import PublicationErrorFrame
    from aerolog.transport.client.image import Image
    from aerolog.transport.concurrent.clock import Clock
    from aerolog.transport.memory.counters import CountersReader
    from aerolog.transport.memory.filesystem import FileSystem

    ImageHandler = Callable[[Image], object]
    CounterHandler = Callable[[CountersReader, int, int], object]

MAX_CLIENT_NAME_LENGTH = 100

_declare: Final = Declare()
AERON_DIR: Final = _declare.text("aeron.dir", None, "directory of the driver", keyword="aeron_dir")
DRIVER_TIMEOUT: Final = _declare.millis(
    "aeron.driver.timeout", 10_000, "wait for a driver and for its answers"
)
IDLE_SLEEP: Final = _declare.duration(
    "aeron.client.idle.sleep.duration",
    16_000_000,
    "sleep of the client thread between two looks",
    high=NS_PER_S,
    keyword="idle_sleep",
)
NAME: Final = _declare.text("aeron.client.name", "", "shown beside the heartbeat", keyword="name")
PRE_TOUCH: Final = _declare.boolean(
    "aeron.pre.touch.mapped.memory",
    False,
    "touch every page of a log when it is mapped",
    keyword="pre_touch",
    env="AERON_CLIENT_PRE_TOUCH_MAPPED_MEMORY",
)

#: Every property of a client.
PROPERTIES: Final = (*_declare.table, STRICT)
LOG: Final = logger("aerolog.client")


def log_change(client_id: int, change: str, resource: object) -> None:
    """Log that a resource was connected, closed or the like; a log record does not hold it."""
    if LOG.isEnabledFor(logging.DEBUG):
        LOG.debug("client %d: %s %s", client_id, change, repr(resource))


def chosen_aeron_dir(folder: str | os.PathLike[str] | None) -> str:
    """The path of a driver's directory; the default one of this user when None."""
    return default_aeron_dir() if folder is None else os.fspath(folder)


def default_aeron_dir() -> str:
    """The directory that a driver of this user uses by default.

    ``AERON_DIR`` in the environment, else ``/dev/shm/aeron-<user>``, or the temporary folder where
    there is no ``/dev/shm``.
    """
    named = Settings((AERON_DIR,))[AERON_DIR]
    if named is not None:
        return named
    return unconfigured_aeron_dir()


@dataclass(slots=True, kw_only=True)
class ClientOptions:
    """The checked options of ``Aeron``; ``of`` makes them.

    Attributes:
        aeron_dir: the driver's directory.
        driver_timeout_ns: age at which a driver counts as gone, and the time for its answers.
        keepalive_interval_ns: the time between two heartbeats of the client.
        idle_sleep_ns: the time that the client's thread sleeps between two checks for messages.
        name: shown in the label of the heartbeat.
        invoker: whether the client has no thread, so that the program calls ``do_work``.
        driver_invoker: called while the client waits, to turn an embedded driver.
        driver_bell: called after each command, to wake a driver of the same process.
        strict: whether an unknown property or channel parameter is an error.
        pre_touch: whether to touch every page of a log when it is mapped.
    """

    aeron_dir: str
    driver_timeout_ns: int
    keepalive_interval_ns: int
    idle_sleep_ns: int
    name: str
    pre_touch: bool
    strict: bool = False
    invoker: bool = False
    driver_invoker: Callable[[], object] | None = None
    driver_bell: Callable[[], object] | None = None
    on_error: Callable[[BaseException], object] | None = None
    on_close: Callable[[], object] | None = None
    on_image: ImageHandler | None = None
    on_image_gone: ImageHandler | None = None
    on_counter: CounterHandler | None = None
    on_counter_gone: CounterHandler | None = None
    on_publication_error: Callable[[PublicationErrorFrame], object] | None = None
    clock: Clock = field(default_factory=SystemClock)
    file_system: FileSystem = field(default_factory=RealFileSystem)

    @classmethod
    def of(
        cls,
        aeron_dir: str | None,
        *,
        keepalive_interval: float | timedelta | str = 0.5,
        properties: Properties | None = None,
        **options: Any,
    ) -> ClientOptions:
        """Make options from keywords, then from properties, then from defaults.

        Args:
            aeron_dir: the driver's directory, None for the one of the properties or the user.
            keepalive_interval: seconds between two heartbeats.
            properties: texts of the reference's property names; the environment when None.
            options: ``driver_timeout``, ``idle_sleep``, ``name``, ``pre_touch`` and ``strict``,
                which have properties too, and the other attributes of this class.

        Raises:
            ConfigurationError: unknown options, or values that cannot be used.
        """
        named = {prop.keyword for prop in PROPERTIES}
        keywords = {key: options.pop(key) for key in list(options) if key in named}
        unknown = options.keys() - {name for name in cls.__slots__ if name not in named}
        if unknown:
            raise ConfigurationError(f"unknown option {min(unknown)!r} for a client")
        settings = Settings(PROPERTIES, properties, {**keywords, "aeron_dir": aeron_dir})
        settings.report(LOG.warning)
        return cls(
            aeron_dir=settings[AERON_DIR] or default_aeron_dir(),
            driver_timeout_ns=settings[DRIVER_TIMEOUT] * NS_PER_MS,
            keepalive_interval_ns=duration_to_ns("keepalive_interval", keepalive_interval),
            idle_sleep_ns=settings[IDLE_SLEEP],
            name=settings[NAME],
            pre_touch=settings[PRE_TOUCH],
            strict=settings.strict,
            **options,
        )

    def __post_init__(self) -> None:
        if len(self.name) > MAX_CLIENT_NAME_LENGTH:
            raise ConfigurationError(
                f"a client name has at most {MAX_CLIENT_NAME_LENGTH} characters, "
                f"this one {len(self.name)}"
            )
        if self.driver_invoker is not None and not self.invoker:
            raise ConfigurationError("a driver_invoker needs a client with invoker=True")

    @property
    def driver_timeout(self) -> float:
        """The driver timeout in seconds."""
        return self.driver_timeout_ns / NS_PER_S
