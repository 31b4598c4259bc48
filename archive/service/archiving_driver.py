"""``ArchivingMediaDriver``: a driver and its archive in one process (spec archive-protocol 20)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.archive.format.mark_file import ArchiveMarkFile
from aerolog.archive.service.archive import Archive
from aerolog.archive.service.properties import REPLAY_LINGER, archive_folders
from aerolog.transport.config.sources import Properties
from aerolog.transport.driver.media_driver import MediaDriver
from aerolog.transport.driver.properties import PUBLICATION_LINGER_TIMEOUT, THREADING_MODE
from aerolog.transport.resource import Resource

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    from aerolog.transport.concurrent.clock import Clock
    from aerolog.transport.memory.filesystem import FileSystem


class ArchivingMediaDriver(Resource):
    """A driver and an archive that uses it; the driver starts first and the archive closes first.

    The driver counts and logs the archive's errors with its own, as the reference's does. When the
    driver has no thread of its own, the archive may not have one either, and ``do_work`` runs both.

    Args:
        aeron_dir: the driver's directory; by default as configured.
        archive_dir: the archive's folder; by default as configured.
        properties: settings of both by the reference's names; those of the environment when None.
        driver_options: settings of the driver by keyword.
        archive_options: settings of the archive by keyword.
        clock: source of wall-clock and monotonic time; the system's when None.
        file_system: where all files are; the machine's when None.
        termination_hook: called when the driver obeys a terminate command.
        on_fatal: called with the reason when driver or archive cannot go on.

    Attributes:
        driver: the running MediaDriver.
        archive: the running Archive.

    Raises:
        AerologError: any error of MediaDriver or Archive; neither is left running.
    """

    def __init__(
        self,
        aeron_dir: str | os.PathLike[str] | None = None,
        archive_dir: str | os.PathLike[str] | None = None,
        *,
        properties: Properties | None = None,
        driver_options: Mapping[str, object] | None = None,
        archive_options: Mapping[str, object] | None = None,
        clock: Clock | None = None,
        file_system: FileSystem | None = None,
        termination_hook: Callable[[], None] | None = None,
        on_fatal: Callable[[BaseException], None] | None = None,
    ) -> None:
        layers = Properties.from_environment() if properties is None else properties
        # Before the driver takes its directory over.
        folder, mark_dir = archive_folders(
            layers, {"archive_dir": archive_dir, **dict(archive_options or {})}
        )
        ArchiveMarkFile.check_free(folder, mark_dir=mark_dir, files=file_system, clock=clock)
        self.driver = driver = MediaDriver(
            aeron_dir,
            properties=layers,
            clock=clock,
            file_system=file_system,
            termination_hook=termination_hook,
            on_fatal=on_fatal,
            **dict(driver_options or {}),  # type: ignore[arg-type]  # settings by keyword
        )
        options = dict(archive_options or {})
        if REPLAY_LINGER.name not in layers and not _gives_linger(options):
            options["replay_linger_timeout_ns"] = driver.settings[PUBLICATION_LINGER_TIMEOUT]
        try:
            self.archive = Archive(
                archive_dir,
                driver.aeron_dir,
                properties=layers,
                clock=clock,
                file_system=file_system,
                driver_invoker=driver.do_work if _is_invoked(driver) else None,
                driver_bell=driver.wake,
                on_error=driver.context.errors.take,
                on_fatal=on_fatal,
                **options,  # type: ignore[arg-type]  # settings by keyword
            )
            # In one process neither may sleep while the other waits for its answer.
            driver.conductor.on_worked = self.archive.wake
        except BaseException:
            driver.close()
            raise

    def do_work(self) -> int:
        """Run one duty cycle of driver and archive, which are both in INVOKER mode."""
        return self.driver.do_work() + self.archive.do_work()

    @property
    def aeron_dir(self) -> str:
        """The directory that clients connect to."""
        return self.driver.aeron_dir

    @property
    def archive_dir(self) -> str:
        """The archive's folder."""
        return self.archive.archive_dir

    @property
    def is_closed(self) -> bool:
        """Whether driver or archive has ended."""
        return self.driver.is_closed or self.archive.is_closed

    def close(self) -> None:
        """Close the archive, then the driver."""
        try:
            self.archive.close()
        finally:
            self.driver.close()

    def __repr__(self) -> str:
        return f"<ArchivingMediaDriver of {self.driver!r} and {self.archive!r}>"


def _gives_linger(options: Mapping[str, object]) -> bool:
    return any(
        value is not None and name.startswith("replay_linger_timeout")
        for name, value in options.items()
    )


def _is_invoked(driver: MediaDriver) -> bool:
    return driver.settings[THREADING_MODE] == "INVOKER"
