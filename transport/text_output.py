"""Texts that leave the program without a command's console: standard streams and log records.

Services, clients and threads that have no console write through here, so that what they quote is
without secrets, see ``aerolog.transport.secrets``.
"""

from __future__ import annotations

import logging
import sys
import traceback
from contextlib import suppress
from typing import TYPE_CHECKING

from aerolog.transport.secrets import without_secrets

if TYPE_CHECKING:
    from typing import TextIO


def write_text(text: str, out: TextIO | None = None) -> None:
    """Write a text without secrets, and flush it.

    Args:
        text: with its line breaks.
        out: the stream; standard error when None.
    """
    if out is not None:
        out.write(without_secrets(text))
        out.flush()
        return
    # Whoever read standard error may have gone: the service goes on.
    with suppress(OSError, ValueError):
        sys.stderr.write(without_secrets(text))
        sys.stderr.flush()


def write_traceback(error: BaseException) -> None:
    """Write an exception with its causes and frames to standard error, without secrets."""
    write_text("".join(traceback.format_exception(error)))


def logger(name: str) -> logging.Logger:
    """Return the logger of a part of the package, whose records have no secrets in their texts.

    Args:
        name: of the logger.
    """
    found = logging.getLogger(name)
    if _without_secrets not in found.filters:
        found.addFilter(_without_secrets)
    return found


def _without_secrets(record: logging.LogRecord) -> bool:
    """Replace the texts of a record that have secrets in them; every record passes."""
    text = record.getMessage()
    shown = without_secrets(text)
    if shown != text:
        record.msg, record.args = shown, None
    if record.exc_info:
        trace = logging.Formatter().formatException(record.exc_info)
        shown = without_secrets(trace)
        if shown != trace:
            # A handler takes the text where it has no exception to make one of.
            record.exc_info, record.exc_text = None, shown
    return True
