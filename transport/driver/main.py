"""Runs a media driver in the foreground, from a command line."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from aerolog.transport.concurrent.stop_signal import ServiceStop, say_failure
from aerolog.transport.config.sources import Properties
from aerolog.transport.driver import properties as p
from aerolog.transport.driver.media_driver import MediaDriver
from aerolog.transport.driver.threading_mode import ThreadingMode, turning_idle_strategy
from aerolog.transport.errors import AerologError, ConfigurationError
from aerolog.transport.text_output import write_text

if TYPE_CHECKING:
    from collections.abc import Sequence

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_USAGE = 2


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
    try:
        properties = Properties.from_command_line(argv)
        return _run(properties)
    except ConfigurationError as error:
        return say_failure(error, EXIT_USAGE)
    except (AerologError, OSError) as error:
        return say_failure(error, EXIT_FAILED)


def _run(properties: Properties) -> int:
    with (
        ServiceStop() as stop,
        MediaDriver(
            properties=properties, termination_hook=stop.stop, on_fatal=stop.fail
        ) as driver,
    ):
        mode = driver.settings[p.THREADING_MODE]
        write_text(f"aerolog driver ready: {driver.aeron_dir} ({mode})\n", sys.stdout)
        if mode == ThreadingMode.INVOKER.value:
            stop.turn(driver.do_work, turning_idle_strategy(driver.settings))
        else:
            stop.wait()
    return EXIT_OK if stop.failure is None else say_failure(stop.failure, EXIT_FAILED)
