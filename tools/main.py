"""Entry of the ``aerolog`` command.

Exit codes: 0 done, 1 failed, 2 wrong usage or a missing extra, 130 interrupted, 143 terminated.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import TYPE_CHECKING, Final

from aerolog.tools.command_line.exit_codes import EXIT_INTERRUPTED, EXIT_USAGE, discard_stdout

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


#: Command -> module and function that runs the service.
_SERVICES: Final = {
    "driver": ("aerolog.transport.driver", "main"),
    "archiving-driver": ("aerolog.archive.service", "main_archiving_driver"),
    "archive": ("aerolog.archive.service", "main_archive"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command.

    Args:
        argv: arguments after the program's name; those of the process when None.

    Returns:
        The exit code.
    """
    missing = [name for name in ("typer", "rich") if importlib.util.find_spec(name) is None]
    if missing:
        sys.stderr.write(
            f"aerolog: the command line needs {' and '.join(missing)}: pip install 'aerolog[cli]'\n"
            "Without it there are python -m aerolog.transport.driver and "
            "python -m aerolog.archive.service.\n"
        )
        return EXIT_USAGE
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        code = _run_service(arguments) if _is_plain_service(arguments) else _run(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        # While modules were being loaded, or twice.
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        discard_stdout()
        return 0
    return code


def _is_plain_service(arguments: list[str]) -> bool:
    """Whether a service is asked for with properties and files alone.

    It then starts without the command line's machinery: that takes longer to load than a driver
    takes to be ready.
    """
    return (
        bool(arguments)
        and arguments[0] in _SERVICES
        and all(
            argument.startswith("-D") or not argument.startswith("-") for argument in arguments[1:]
        )
    )


def _run_service(arguments: list[str]) -> int:
    module, function = _SERVICES[arguments[0]]
    run: Callable[[Sequence[str]], int] = getattr(importlib.import_module(module), function)
    return run(arguments[1:])


def _run(arguments: list[str]) -> int:
    if arguments[:1] == ["__complete"]:
        from aerolog.tools.shell.completion_candidates import answer

        return answer(arguments[1:])
    if arguments[:1] == ["stat"]:
        from aerolog.tools.stat import plain_stat

        look = plain_stat.plain_look(arguments)
        if look is not None:
            return plain_stat.run(look)
    if arguments[:1] == ["archive-tool"]:
        from aerolog.tools.archive_tool import plain_archive_tool as quick_tool

        given = quick_tool.classic_arguments(arguments)
        if given is not None:
            return quick_tool.run(given)
    from aerolog.tools.command_line.invocation import run

    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
