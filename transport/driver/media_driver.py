"""The media driver: it claims a directory, runs its agents and leaves the directory in order."""

from __future__ import annotations

import os
import random
import sys
import uuid
from contextlib import ExitStack
from pathlib import PurePath
from typing import TYPE_CHECKING, Self

from aerolog._version import __version__
from aerolog.transport.agents.life_cycle import LifeCycle
from aerolog.transport.concurrent.agent_runner import AgentRunner
from aerolog.transport.concurrent.clock import Clock, SystemClock
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.driver import properties as p
from aerolog.transport.driver.conductor.driver_conductor import DriverConductor
from aerolog.transport.driver.context import DriverContext
from aerolog.transport.driver.counters.system_allocation import allocate_system_counters
from aerolog.transport.driver.error_recorder import ErrorRecorder
from aerolog.transport.driver.events.driver_events import driver_events
from aerolog.transport.driver.events.logged_network import logged
from aerolog.transport.driver.logs.log_store import IMAGES, PUBLICATIONS, LogStore
from aerolog.transport.driver.names.driver_names import DriverNames
from aerolog.transport.driver.network_supplier import rehearsed
from aerolog.transport.driver.printout import format_configuration
from aerolog.transport.driver.threading_mode import (
    CONDUCTOR,
    RECEIVER,
    SENDER,
    ThreadingMode,
    make_runners,
)
from aerolog.transport.driver.validation import cnc_lengths, loss_report_length, validate
from aerolog.transport.errors import ConfigurationError, ResourceClosedError, StorageSpaceError
from aerolog.transport.memory.aeron_directory import AeronDirectory, unconfigured_aeron_dir
from aerolog.transport.memory.cnc import CncFile, CncHeader
from aerolog.transport.memory.cycle_histograms import FILE_NAME as CYCLES_FILE
from aerolog.transport.memory.cycle_histograms import CycleHistograms
from aerolog.transport.memory.filesystem import FileSystem, RealFileSystem
from aerolog.transport.memory.loss_report import FILE_NAME as LOSS_REPORT_FILE
from aerolog.transport.memory.loss_report import LossReport
from aerolog.transport.network.networks import SYSTEM_NETWORK, Network
from aerolog.transport.text_output import write_text
from aerolog.transport.time_units import NS_PER_MS

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.transport.config.settings import Settings
    from aerolog.transport.config.sources import Properties

# Stands where the reference shows the commit of its build.
BUILD = f"aerolog-{__version__}"


class MediaDriver(LifeCycle):
    """A media driver in this process. It runs from its construction until ``close``.

    A context manager; ``close`` is idempotent. In INVOKER mode there is no thread and the owner
    calls ``do_work``; one thread at a time may do so.

    Args:
        dir: the Aeron directory; by default the configured one, else the reference's default.
        threading_mode: DEDICATED, SHARED_NETWORK, SHARED or INVOKER.
        clock: the source of the driver's time.
        file_system: the file system that holds the directory.
        properties: settings by the reference's names; the environment when None.
        termination_validator: decides on a client's terminate command, given directory and token;
            by default as configured, and the default configuration denies it.
        termination_hook: called on the conductor's thread when a terminate command is obeyed.
        ended_hook: called when the conductor has ended, whether or not the driver was closed.
        on_fatal: called with the reason when the driver cannot go on; on the thread that failed.
        random_source: the source of session ids, initial term ids and receiver ids.
        network: opens ports and knows interfaces and hosts; by default the machine's.
        **options: settings by keyword, the strongest: a property's name in snake case without
            ``aeron.``, durations in seconds or text, sizes in bytes or text.

    Attributes:
        failure: why it cannot go on; None while it can.

    Raises:
        ConfigurationError: a setting cannot be used.
        ActiveDriverError: a live driver uses the directory.
        StorageSpaceError: the disk has no room for the driver's files.
    """

    def __init__(
        self,
        dir: str | os.PathLike[str] | None = None,  # noqa: A002 -- the property's name
        *,
        threading_mode: str | ThreadingMode | None = None,
        clock: Clock | None = None,
        file_system: FileSystem | None = None,
        properties: Properties | None = None,
        termination_validator: Callable[[str, bytes], bool] | None = None,
        termination_hook: Callable[[], None] | None = None,
        ended_hook: Callable[[], None] | None = None,
        on_fatal: Callable[[BaseException], None] | None = None,
        random_source: random.Random | None = None,
        network: Network = SYSTEM_NETWORK,
        **options: object,
    ) -> None:
        mode = threading_mode.value if isinstance(threading_mode, ThreadingMode) else threading_mode
        settings = p.driver_settings(properties, {"dir": dir, "threading_mode": mode, **options})
        validate(settings, network)
        super().__init__(on_fatal)
        self._pid = os.getpid()
        self._settings = settings
        self._files: FileSystem = file_system or RealFileSystem()
        self._clock = clock or SystemClock()
        self._directory = p.aeron_dir(settings)
        settings.report()
        self._claim()
        with ExitStack() as undo:
            self._events = driver_events(settings, self._clock)
            undo.callback(self._events.close)
            for line in settings.adjusted:
                self._events.text(line)
            undo.callback(self._delete_directory_if_configured)
            self._context = self._create(
                termination_validator or _configured_validator(settings),
                termination_hook or _nothing,
                ended_hook or _nothing,
                random_source or random.SystemRandom(),
                network,
            )
            undo.callback(self._context.names.close)
            if settings[p.PRINT_CONFIGURATION]:
                write_text(format_configuration(self._directory, settings), sys.stdout)
            self._conductor = DriverConductor(self._context)
            self.runners = make_runners(self._context, self._conductor.agents, self._fail)
            self._conductor.on_rung = self.wake
            self._context.cnc.to_driver.consumer_heartbeat_ms = self._clock.now_epoch_ms()
            self._context.cnc.publish()
            undo.pop_all()
        try:
            for runner in self.runners:
                runner.start()
        except BaseException:
            self.close()
            raise

    @classmethod
    def embedded(cls, **options: object) -> Self:
        """Start a driver on a directory of its own, which is deleted when the driver is closed."""
        options.setdefault("dir", f"{unconfigured_aeron_dir()}-{uuid.uuid4()}")
        options.setdefault("dir_delete_on_shutdown", True)
        return cls(**options)  # type: ignore[arg-type]  # the keywords of the constructor

    @property
    def aeron_dir(self) -> str:
        """The absolute path of the directory that clients connect to."""
        return self._directory

    @property
    def settings(self) -> Settings:
        """The driver's configuration."""
        return self._settings

    @property
    def context(self) -> DriverContext:
        """The driver's counters, error log, clock and other shared state."""
        return self._context

    @property
    def conductor(self) -> DriverConductor:
        """The driver's conductor; only the conductor's thread may call it."""
        return self._conductor

    @property
    def is_closed(self) -> bool:
        """Whether the driver has been closed, or its agents have ended."""
        return self._closed or any(runner.is_closed for runner in self.runners)

    def wake(self) -> None:
        """Wake the conductor, so that it reads commands at once; any thread may call this."""
        conductor = self.runners[0]
        if isinstance(conductor, AgentRunner):
            conductor.wake()

    def do_work(self) -> int:
        """Run one duty cycle of every agent, in INVOKER mode.

        Returns:
            A work count, 0 when there was nothing to do.

        Raises:
            ConfigurationError: the driver runs its agents on threads of its own.
            ResourceClosedError: the driver is closed.
        """
        if self._settings[p.THREADING_MODE] != ThreadingMode.INVOKER.value:
            raise ConfigurationError(
                f"threading mode {self._settings[p.THREADING_MODE]}: the driver turns itself; "
                f"do_work is for {ThreadingMode.INVOKER.value}"
            )
        if self._closed or self.failure is not None:
            raise ResourceClosedError(
                f"the media driver on {self._directory} is closed"
            ) from self.failure
        return self.runners[0].invoke()

    def _fail(self, reason: BaseException) -> None:
        """End all agents after one has failed, on its thread and before it is closed."""
        super()._fail(reason)
        self._end_runners()

    def _end_runners(self) -> None:
        """End the conductor last, which frees what sender and receiver use."""
        for runner in reversed(self.runners):
            runner.close()  # of its own thread, this only asks for the end

    def close(self) -> None:
        """Stop the agents and leave the directory as clients and operators expect it."""
        if os.getpid() == self._pid:  # a forked child leaves the driver to its parent
            super().close()

    def _close_parts(self) -> None:
        self._end_runners()
        self._conductor.close_network()
        self._events.close()
        self._delete_directory_if_configured()

    def __repr__(self) -> str:
        state = "closed" if self._closed else self._settings[p.THREADING_MODE]
        return f"<MediaDriver {self._directory} {state}>"

    def _claim(self) -> None:
        AeronDirectory(
            self._directory,
            timeout_ms=self._settings[p.DRIVER_TIMEOUT],
            file_system=self._files,
            clock=self._clock,
        ).claim(
            delete_on_start=self._settings[p.DIR_DELETE_ON_START],
            warn_if_exists=self._settings[p.DIR_WARN_IF_EXISTS],
            log=sys.stderr,
        )

    def _create(
        self,
        may_terminate: Callable[[str, bytes], bool],
        on_terminate: Callable[[], None],
        on_ended: Callable[[], None],
        random_source: random.Random,
        network: Network,
    ) -> DriverContext:
        settings = self._settings
        header = CncHeader(
            cnc_lengths(settings),
            settings[p.CLIENT_LIVENESS_TIMEOUT],
            self._clock.now_epoch_ms(),
            os.getpid(),
            settings[p.FILE_PAGE_SIZE],
        )
        cnc = CncFile.create(self._files, self._directory, header)
        reuse_ns = settings[p.COUNTERS_FREE_TO_REUSE_TIMEOUT]
        counters = cnc.counters_manager(self._clock, -(-reuse_ns // NS_PER_MS))
        allocate_system_counters(
            counters,
            mode=settings[p.THREADING_MODE],
            commit=BUILD,
            threshold_ns=lambda counter: settings[_THRESHOLDS[counter]],
            driver_name=settings[p.DRIVER_RESOLVER_NAME],
        )
        directory = PurePath(self._directory)
        for folder in (PUBLICATIONS, IMAGES):
            self._files.make_dirs(str(directory / folder))
        loss_report = self._files.create_mapped(
            str(directory / LOSS_REPORT_FILE), loss_report_length(settings)
        )
        counters.set_value(
            SystemCounter.BYTES_CURRENTLY_MAPPED, header.file_length + loss_report.length
        )
        cnc.to_driver.next_correlation_id()  # the first id is the driver's: clients begin at 1
        errors = ErrorRecorder(cnc.error_log(self._clock), counters)
        return DriverContext(
            directory=self._directory,
            settings=settings,
            clock=self._clock,
            cnc=cnc,
            counters=counters,
            to_clients=cnc.transmitter(),
            errors=errors,
            events=self._events,
            logs=LogStore(
                self._directory,
                settings,
                self._files,
                counters,
                errors,
                self._clock,
                has_thread=settings[p.THREADING_MODE] != ThreadingMode.INVOKER.value,
            ),
            loss_report=LossReport(loss_report),
            cycles=self._cycle_histograms(errors),
            names=DriverNames(
                settings,
                clock=self._clock,
                counters=counters,
                errors=errors,
                events=self._events,
                network=network,
            ),
            network=logged(rehearsed(network, settings, self._clock, random_source), self._events),
            socket_limits=network.socket_limits(),
            random=random_source,
            may_terminate=may_terminate,
            on_terminate=on_terminate,
            on_ended=on_ended,
        )

    def _cycle_histograms(self, errors: ErrorRecorder) -> CycleHistograms | None:
        """Create the file of duty cycle histograms; the driver runs without it on a full disk."""
        path = str(PurePath(self._directory) / CYCLES_FILE)
        try:
            return CycleHistograms.create(self._files, path, (CONDUCTOR, SENDER, RECEIVER))
        except StorageSpaceError as error:
            errors.record(error)
            return None

    def _delete_directory_if_configured(self) -> None:
        if self._settings[p.DIR_DELETE_ON_SHUTDOWN]:
            self._files.remove_tree(self._directory)


_THRESHOLDS = {
    SystemCounter.CONDUCTOR_CYCLE_TIME_THRESHOLD_EXCEEDED: p.DRIVER_CONDUCTOR_CYCLE_THRESHOLD,
    SystemCounter.SENDER_CYCLE_TIME_THRESHOLD_EXCEEDED: p.DRIVER_SENDER_CYCLE_THRESHOLD,
    SystemCounter.RECEIVER_CYCLE_TIME_THRESHOLD_EXCEEDED: p.DRIVER_RECEIVER_CYCLE_THRESHOLD,
    SystemCounter.NAME_RESOLVER_TIME_THRESHOLD_EXCEEDED: p.NAME_RESOLVER_THRESHOLD,
}


def _configured_validator(settings: Settings) -> Callable[[str, bytes], bool]:
    allowed = settings[p.DRIVER_TERMINATION_VALIDATOR] == "allow"
    return lambda _directory, _token: allowed


def _nothing() -> None:
    """Ignore a terminate command: the process that embeds the driver decides when it ends."""
