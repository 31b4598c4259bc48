"""Entry of the ``aerolog`` command.

Exit codes: 0 done, 1 failed, 2 wrong usage or a missing extra, 130 interrupted, 143 terminated.
"""

from __future__ import annotations

import importlib.util
import io
import os
import sys
from typing import TYPE_CHECKING

from aerolog._version import __version__
from aerolog.tools.command_line import direct_start
from aerolog.tools.command_line.exit_codes import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_USAGE,
    discard_stdout,
    is_of_stdout,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command.

    Args:
        argv: arguments after the program's name. None takes those of the process, which is to
            end with this call's exit code; a signal that comes after the command does not change
            that.

    Returns:
        The exit code.
    """
    if argv is not None:
        return _main(list(argv))
    from aerolog.transport.concurrent.stop_signal import ignore_stop_signals

    code = _main(sys.argv[1:])
    ignore_stop_signals()
    return code


def _main(arguments: list[str]) -> int:
    """Runs one command; returns its exit code."""
    _open_closed_streams()
    missing = [name for name in ("typer", "rich") if importlib.util.find_spec(name) is None]
    if missing and arguments != ["--version"]:
        sys.stderr.write(
            f"aerolog: the command line needs {' and '.join(missing)}: pip install 'aerolog[cli]'\n"
            "Without it there are python -m aerolog.transport.driver and "
            "python -m aerolog.archive.service.\n"
        )
        return EXIT_USAGE
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A path or channel that the terminal's encoding lacks is no reason to fail.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        # While modules were being loaded, or twice.
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        discard_stdout()
        return 0
    except OSError as error:
        # Of what was still buffered: all else ended within the command.
        if not is_of_stdout(error):
            raise
        discard_stdout()
        sys.stderr.write(f"aerolog: standard output: {error.strerror}\n")
        return EXIT_FAILED
    return code


def _open_closed_streams() -> None:
    """Give a process that was started without a standard stream an empty one in its place.

    Files that the command opens would get the descriptor otherwise.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123


def _run(arguments: list[str]) -> int:
    if arguments == ["--version"]:
        sys.stdout.write(f"aerolog {__version__}\n")
        return 0
    if arguments[:1] == ["__complete"]:
        from aerolog.tools.shell.completion_candidates import answer

        return answer(arguments[1:])
    form = direct_start.direct_form(arguments)
    if form is not None:
        return direct_start.run(form)
    from aerolog.tools.command_line.invocation import run

    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
