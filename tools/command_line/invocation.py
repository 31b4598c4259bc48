"""Runs the application and turns whatever ends it into a message and an exit code."""

from __future__ import annotations

import errno
import io
import os
import signal
import traceback
from typing import TYPE_CHECKING, Any, Final

import typer

from aerolog.tools.command_line.application import application
from aerolog.tools.command_line.exit_codes import (
    EXIT_FAILED,
    EXIT_FAULT,
    EXIT_INTERRUPTED,
    EXIT_TERMINATED,
    EXIT_USAGE,
    discard_stdout,
    is_of_stdout,
)
from aerolog.tools.command_line.help import HouseGroup
from aerolog.tools.command_line.missing_pages import last_missing, missing_since
from aerolog.tools.command_line.warning_lines import warning_lines
from aerolog.tools.terminal.console import remark, write_error_text
from aerolog.transport.errors import AerologError, MissingExtraError
from aerolog.transport.memory.filesystem import has_inodes

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

# Typer carries its own click or depends on one, by version: found by what it raises.
_ClickException: type[Exception] = next(
    base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException"
)
_UsageError: type[Exception] = next(
    base for base in typer.BadParameter.__mro__ if base.__name__ == "UsageError"
)


class Terminated(BaseException):
    """SIGTERM came: a command ends as when it is interrupted, with another exit code."""


#: Anywhere on the command line: an error is told with its traceback.
_DEBUG: Final = "--debug"
#: The variable that does the same.
_TRACEBACK: Final = "AEROLOG_TRACEBACK"


def run(arguments: list[str]) -> int:
    """Runs one command; returns its exit code."""
    arguments, debug = _without_debug(arguments)
    previous = _terminate_like_interrupt()

    def invoke() -> Any:
        # Not main() of it: that has exit codes of its own for an interrupt and a closed pipe.
        command, context = _begun(application(), arguments)
        with context:
            return command.invoke(context)

    before = os.environ.get(_TRACEBACK)
    if debug:
        os.environ[_TRACEBACK] = "1"  # the services look there
    try:
        return ending(invoke, debug=debug)
    finally:
        if debug and before is None:
            del os.environ[_TRACEBACK]
        if previous is not None:
            signal.signal(signal.SIGTERM, previous)


def ending(work: Callable[[], Any], *, debug: bool = False) -> int:
    """Does a command's work, tells how it ended, and returns its exit code."""
    missing_before = last_missing()
    try:
        with warning_lines():
            result = work()
    except typer.Exit as stop:
        if not stop.exit_code and (missing := missing_since(missing_before)):
            return _fail(missing, EXIT_FAILED)
        return stop.exit_code
    except _ClickException as error:
        shown: Any = error
        text = io.StringIO()
        shown.show(text)
        write_error_text(text.getvalue())
        return EXIT_USAGE if isinstance(error, _UsageError) else EXIT_FAILED
    except Terminated:
        return EXIT_TERMINATED
    except (KeyboardInterrupt, typer.Abort):
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has had enough.
        discard_stdout()
        return 0
    except MissingExtraError as error:
        return _fail(str(error), EXIT_USAGE)
    except (AerologError, OSError) as error:
        return _fail(_text(error), EXIT_FAILED, debug=debug)
    except Exception as error:  # noqa: BLE001 - the last resort: told, with where to look
        if missing := missing_since(missing_before):
            return _fail(missing, EXIT_FAILED, debug=debug)
        if "embedded null" in str(error):  # as Python says it of each call that takes a path
            return _fail("the name of a file has a zero byte", EXIT_FAILED, debug=debug)
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        advice = "" if debug else "; --debug shows where"
        message = f"a fault of aerolog itself: {' '.join(what.split())}{advice}"
        return _fail(message, EXIT_FAULT, debug=debug)
    if missing := missing_since(missing_before):
        return _fail(missing, EXIT_FAILED)
    return result if isinstance(result, int) else 0


def _begun(root: Any, arguments: list[str]) -> tuple[Any, Any]:
    """The command that is meant, and its context, made of its own arguments.

    Groups have no options that a command's run needs, and are gone through here: to have Typer
    parse nothing for them takes longer than many commands take.
    """
    group, above, name, rest = root, None, "aerolog", arguments
    while rest and not rest[0].startswith("-"):
        here = group.context_class(group, info_name=name, parent=above)
        inner = group.get_command(here, rest[0])
        if inner is None:
            break  # the group says so
        above, name, rest = here, rest[0], rest[1:]
        if not isinstance(inner, HouseGroup):
            return inner, inner.make_context(name, rest, parent=above)
        group = inner
    return group, group.make_context(name, rest, parent=above)


def _without_debug(arguments: list[str]) -> tuple[list[str], bool]:
    """The arguments without the switch, and whether it or its variable is there."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    kept = [word for word in arguments[:end] if word != _DEBUG]
    debug = len(kept) < end or bool(os.environ.get(_TRACEBACK))
    return kept + arguments[end:], debug


def _terminate_like_interrupt() -> Any:
    def terminate(_number: int, _frame: FrameType | None) -> None:
        raise Terminated

    try:
        return signal.signal(signal.SIGTERM, terminate)
    except ValueError:
        # Not the main thread: signals belong to whoever called.
        return None


def _text(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        if is_of_stdout(error):
            discard_stdout()
            return f"standard output: {error.strerror}"
        where = f"{error.filename}: " if error.filename else ""
        lacking = ""
        if error.errno == errno.ENOSPC and error.filename and not has_inodes(error.filename):
            lacking = "; the file system has no inodes left for more files, remove some"
        return f"{where}{error.strerror}{lacking}"
    return str(error) or type(error).__name__


def _fail(message: str, code: int, *, debug: bool = False) -> int:
    if debug:
        write_error_text(traceback.format_exc())
    remark(f"aerolog: {message}")
    return code
