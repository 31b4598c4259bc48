"""Runs a driver, an archive or a part of a cluster in the foreground, from a command line."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from aerolog.transport.concurrent.stop_signal import ServiceStop, say_failure
from aerolog.transport.config.sources import Properties
from aerolog.transport.errors import AerologError, ConfigurationError
from aerolog.transport.text_output import write_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_USAGE = 2


def run_service(
    argv: Sequence[str],
    run: Callable[[Properties, ServiceStop], None],
    check: Callable[[Properties], None] | None = None,
) -> int:
    """Run a service in the foreground.

    Args:
        argv: ``-Dname=value`` definitions and properties files; later ones override earlier ones.
        run: runs the service until a signal or a failure stops its second argument.
        check: raises ConfigurationError for settings that cannot be used, before anything starts.

    Returns:
        0 after an orderly stop, 1 when the service could not start or go on, 2 for settings that
        cannot be used.
    """
    try:
        properties = Properties.from_command_line(argv)
        if check is not None:
            check(properties)
        with ServiceStop() as stop:
            run(properties, stop)
    except ConfigurationError as error:
        return say_failure(error, EXIT_USAGE)
    except (AerologError, OSError) as error:
        return say_failure(error, EXIT_FAILED)
    return EXIT_OK if stop.failure is None else say_failure(stop.failure, EXIT_FAILED)


def say_ready(line: str) -> None:
    """Write to stdout that clients can connect, for whoever started the service."""
    write_text(line + "\n", sys.stdout)
