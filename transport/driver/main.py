"""Runs a media driver in the foreground, from a command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.transport.agents.foreground import run_service, say_ready
from aerolog.transport.driver import properties as p
from aerolog.transport.driver.media_driver import MediaDriver
from aerolog.transport.driver.threading_mode import ThreadingMode, turning_idle_strategy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.transport.concurrent.stop_signal import ServiceStop
    from aerolog.transport.config.sources import Properties


def main(argv: Sequence[str]) -> int:
    """Run a driver until a signal or a terminate command.

    In INVOKER mode the calling thread runs the driver's agents. The driver writes one line to
    stdout when clients can connect; everything else goes to stderr.

    Args:
        argv: ``-Dname=value`` definitions and properties files; later ones override earlier ones.

    Returns:
        0 after an orderly stop, 1 when the driver could not start or has ended by itself, 2 for
        unusable arguments.
    """

    def run(properties: Properties, stop: ServiceStop) -> None:
        with MediaDriver(
            properties=properties, termination_hook=stop.stop, on_fatal=stop.fail
        ) as driver:
            mode = driver.settings[p.THREADING_MODE]
            say_ready(f"aerolog driver ready: {driver.aeron_dir} ({mode})")
            if mode == ThreadingMode.INVOKER.value:
                stop.turn(driver.do_work, turning_idle_strategy(driver.settings))
            else:
                stop.wait()

    return run_service(argv, run)
