"""Runs an archive in the foreground from a command line, alone or together with a driver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.archive.service import properties as p
from aerolog.archive.service.archive import Archive
from aerolog.archive.service.archiving_driver import ArchivingMediaDriver
from aerolog.transport.agents.foreground import run_service, say_ready
from aerolog.transport.client import driver_is_active
from aerolog.transport.client.announcement import announced
from aerolog.transport.client.options import default_aeron_dir
from aerolog.transport.driver.properties import THREADING_MODE, driver_settings
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.text_output import write_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.transport.concurrent.stop_signal import ServiceStop
    from aerolog.transport.config.sources import Properties


def main_archive(argv: Sequence[str]) -> int:
    """Run an archive next to a running driver until a signal comes.

    It writes one line to stdout when clients can connect; everything else goes to stderr.

    Args:
        argv: ``-Dname=value`` definitions and properties files; later ones override earlier ones.

    Returns:
        0 after an orderly stop, 1 when the archive could not start or lost its driver, 2 for
        invalid arguments.
    """

    def run(properties: Properties, stop: ServiceStop) -> None:
        aeron_dir = p.ArchiveConfig(properties)[p.AERON_DIR] or default_aeron_dir()
        with announced(lambda: _say_wait(aeron_dir)):
            made = Archive(properties=properties, on_fatal=stop.fail)
        with made as archive:
            say_ready(f"aerolog archive ready: {archive.archive_dir} on {archive.aeron_dir}")
            stop.wait()

    return run_service(argv, run, _check)


def main_archiving_driver(argv: Sequence[str]) -> int:
    """Run a driver and an archive in one process until a signal or a terminate command comes.

    Args:
        argv: arguments as for ``main_archive``.

    Returns:
        An exit code as ``main_archive`` returns it.
    """

    def run(properties: Properties, stop: ServiceStop) -> None:
        _refuse_invoker(driver_settings(properties)[THREADING_MODE], THREADING_MODE.name)
        with ArchivingMediaDriver(
            properties=properties, on_fatal=stop.fail, termination_hook=stop.stop
        ) as both:
            say_ready(
                f"aerolog archiving driver ready: {both.driver.aeron_dir},"
                f" archive {both.archive.archive_dir}"
            )
            stop.wait()

    return run_service(argv, run, _check)


def _check(properties: Properties) -> None:
    _refuse_invoker(p.ArchiveConfig(properties)[p.THREADING_MODE], p.THREADING_MODE.name)


def _refuse_invoker(mode: str, name: str) -> None:
    if mode == "INVOKER":
        raise ConfigurationError(f"{name}=INVOKER is for embedded archives: nobody turns this one")


def _say_wait(aeron_dir: str) -> None:
    if not driver_is_active(aeron_dir):
        write_text(f"aerolog archive: waiting for a media driver in {aeron_dir}\n")
