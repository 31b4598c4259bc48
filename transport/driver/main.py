"""Runs a media driver in the foreground, from a command line."""

from __future__ import annotations

import signal
import sys
import threading
from typing import TYPE_CHECKING

from aerolog.transport.config.sources import Properties
from aerolog.transport.driver import properties as p
from aerolog.transport.driver.media_driver import MediaDriver
from aerolog.transport.driver.runners import ThreadingMode
from aerolog.transport.errors import AerologError, ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main(argv: Sequence[str]) -> int:
    """Run a driver until a signal or a terminate command.

    Writes one line to stdout when clients can connect; everything else goes to stderr.

    Args:
        argv: ``-Dname=value`` definitions and properties files, the later ones stronger.

    Returns:
        0 after an orderly stop, 1 when the driver could not start, 2 for unusable arguments.
    """
    stop, ended = threading.Event(), threading.Event()

    def on_ended() -> None:
        ended.set()
        stop.set()

    try:
        properties = Properties.from_command_line(argv)
        if p.driver_settings(properties)[p.THREADING_MODE] == ThreadingMode.INVOKER.value:
            raise ConfigurationError(
                f"{p.THREADING_MODE.name}={ThreadingMode.INVOKER.value} is for embedded drivers"
            )
    except ConfigurationError as error:
        return _fail(error, EXIT_USAGE)
    previous = {number: signal.signal(number, lambda *_: stop.set()) for number in _SIGNALS}
    try:
        with MediaDriver(
            properties=properties, termination_hook=stop.set, ended_hook=on_ended
        ) as driver:
            mode = driver.settings[p.THREADING_MODE]
            sys.stdout.write(f"aerolog driver ready: {driver.aeron_dir} ({mode})\n")
            sys.stdout.flush()
            stop.wait()
            failed = ended.is_set()
    except ConfigurationError as error:
        return _fail(error, EXIT_USAGE)
    except (AerologError, OSError) as error:
        return _fail(error, EXIT_FAILED)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    if failed:
        return _fail(RuntimeError("the conductor has ended by itself"), EXIT_FAILED)
    return EXIT_OK


def _fail(error: Exception, exit_code: int) -> int:
    sys.stderr.write(f"ERROR: {error}\n")
    return exit_code
