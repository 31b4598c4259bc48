"""Command lines that start without Typer: loading it takes longer than what they ask for.

A command that has such forms names a module here. The module's ``direct_form`` says what a command
line asks for, or gives None to leave it to Typer: help, wrong usage, ``--debug`` and all else.
"""

from __future__ import annotations

import importlib
import os
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NoReturn

from aerolog.tools.command_line.missing_pages import last_missing, missing_since

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_PACKAGE: Final = "aerolog.tools."
_MODULES: Final = {
    "driver": "services.direct_service",
    "archiving-driver": "services.direct_service",
    "archive": "services.direct_service",
    "clustered-driver": "services.direct_service",
    "consensus-module": "services.direct_service",
    "service-container": "services.direct_service",
    "stat": "stat.plain_stat",
    "archive-tool": "reference.archive_tool.plain_archive_tool",
}


def direct_form(arguments: Sequence[str]) -> Callable[[], int | None] | None:
    """What a command line asks for, None where Typer is to read it."""
    module = _MODULES.get(arguments[0]) if arguments else None
    if module is None:
        return None
    found: Any = importlib.import_module(_PACKAGE + module)
    form: Callable[[], int | None] | None = found.direct_form(arguments)
    return form


def run(form: Callable[[], int | None]) -> int:
    """Does it; returns the exit code, and tells of errors as all commands do."""
    missing_before = last_missing()
    try:
        code = form() or 0
    except Exception as error:  # noqa: BLE001 - told below, by what Typer's commands use
        return _told(error, missing_since(missing_before))
    missing = None if code else missing_since(missing_before)
    return code if missing is None else _told(None, missing)


def _told(error: Exception | None, missing: str | None) -> int:
    """Tells of an error, or of pages that were missing where it is none or may come of them."""
    from aerolog.tools.command_line.invocation import ending
    from aerolog.transport.errors import AerologError

    if missing is not None and not isinstance(error, (AerologError, OSError)):
        error = AerologError(missing)
    assert error is not None
    return ending(partial(_raise, error), debug=bool(os.environ.get("AEROLOG_TRACEBACK")))


def _raise(error: Exception) -> NoReturn:
    raise error
