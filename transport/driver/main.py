"""Runs a media driver in the foreground, from a command line."""

from __future__ import annotations

import os
import sys
import traceback
from typing import TYPE_CHECKING

from aerolog.transport.concurrent.stop_signal import StopSignal
from aerolog.transport.config.sources import Properties
from aerolog.transport.driver import properties as p
from aerolog.transport.driver.media_driver import MediaDriver
from aerolog.transport.driver.threading_mode import ThreadingMode, turning_idle_strategy
from aerolog.transport.errors import AerologError, ConfigurationError

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
        return _fail(error, EXIT_USAGE)
    except (AerologError, OSError) as error:
        return _fail(error, EXIT_FAILED)


def _run(properties: Properties) -> int:
    closing = False
    failed = False
    with StopSignal() as stop:

        def on_ended() -> None:
            nonlocal failed
            failed = not closing
            stop.stop()

        with MediaDriver(
            properties=properties, termination_hook=stop.stop, ended_hook=on_ended
        ) as driver:
            mode = driver.settings[p.THREADING_MODE]
            sys.stdout.write(f"aerolog driver ready: {driver.aeron_dir} ({mode})\n")
            sys.stdout.flush()
            if mode == ThreadingMode.INVOKER.value:
                stop.turn(driver.do_work, turning_idle_strategy(driver.settings))
            else:
                stop.wait()
            closing = True
    if failed:
        return _fail(RuntimeError("the conductor has ended by itself"), EXIT_FAILED)
    return EXIT_OK


def _fail(error: Exception, exit_code: int) -> int:
    if os.environ.get("AEROLOG_TRACEBACK"):
        traceback.print_exception(error)
    sys.stderr.write(f"ERROR: {error}\n")
    return exit_code
