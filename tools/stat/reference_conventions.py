"""Ways of the reference that all its tools share: paths, uncaught errors.

Spec stat-tools 1.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

from aerolog.tools.command_line.exit_codes import EXIT_FAILED
from aerolog.tools.command_line.java_error import AERON_ERROR, ILLEGAL_STATE, OUT_OF_BOUNDS
from aerolog.tools.terminal.terminal_text import write_fit
from aerolog.tools.views.driver_view import DriverView
from aerolog.tools.views.errors import Trouble, ViewError
from aerolog.transport.memory.aeron_directory import unconfigured_aeron_dir
from aerolog.transport.memory.cnc_header import FILE_NAME, HEADER_LENGTH, VERSION, version_text

if TYPE_CHECKING:
    from collections.abc import Iterator


def file_path(aeron_dir: str | None, name: str = FILE_NAME) -> str:
    """A file of the directory as the reference writes its path."""
    folder = unconfigured_aeron_dir() if aeron_dir is None else aeron_dir
    folder = re.sub("/+", "/", folder)
    return f"{folder.rstrip('/')}/{name}" if folder else name


def uncaught(java_class: str, message: str) -> NoReturn:
    """Ends as the reference does when an error comes out of its main method, without frames.

    Raises:
        typer.Exit: with 1.
    """
    import typer  # here, for what goes well should not wait for it

    sys.stdout.flush()
    write_fit([f'Exception in thread "main" {java_class}: {message}'], sys.stderr)
    raise typer.Exit(EXIT_FAILED)


@contextmanager
def errors_as_java(path: str, *, missing: str = "file not found: {}") -> Iterator[None]:
    """Tells of files that cannot be looked at as the reference's tools do.

    Args:
        path: the path of the file, as printed.
        missing: the message when there is no file; braces stand for the absolute path.
    """
    try:
        yield
    except ViewError as error:
        if error.trouble in {Trouble.MISSING, Trouble.HALF_DELETED}:
            uncaught(ILLEGAL_STATE, missing.format(_absolute(path)))
        if error.trouble is Trouble.VERSION and error.version is not None:
            app, file = version_text(VERSION), version_text(error.version)
            uncaught(AERON_ERROR, f"ERROR - CnC version not compatible: app={app} file={file}")
        if error.length is not None and error.length < HEADER_LENGTH:
            bounds = f"Range [0, 0 + {HEADER_LENGTH}) out of bounds for length {error.length}"
            uncaught(OUT_OF_BOUNDS, bounds)
        uncaught(ILLEGAL_STATE, f"{error.path}: {error.reason}")


def open_view(aeron_dir: str | None, *, missing: str = "file not found: {}") -> DriverView:
    """A driver's view; what is wrong with it is told as the reference does."""
    with errors_as_java(file_path(aeron_dir), missing=missing):
        return DriverView.open(aeron_dir)
    raise AssertionError("unreachable: errors_as_java ends the command")


def _absolute(path: str) -> str:
    # Not abspath(): the reference leaves "." and ".." in the text.
    return path if path.startswith("/") else f"{os.getcwd()}/{path}"  # noqa: PTH109
