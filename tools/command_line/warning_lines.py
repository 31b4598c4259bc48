"""Warnings of the package as lines of a command, each text once and not many of them."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from aerolog.tools.terminal.console import remark
from aerolog.transport.errors import AerologWarning
from aerolog.transport.secrets import without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Most texts that are printed; an archive has thousands of recordings, each with its own.
LINES_MAX: Final = 3


@contextmanager
def warning_lines() -> Iterator[None]:
    """Print warnings of the package to standard error; how many were left out stands at the end."""
    told: set[str] = set()
    others = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: Any, **given: Any) -> None:
        if not issubclass(category, AerologWarning):
            others(without_secrets(str(message)), category, *where, **given)
        elif (text := str(message)) not in told:
            told.add(text)
            if len(told) <= LINES_MAX:
                remark(f"warning: {text}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", AerologWarning)
        warnings.showwarning = show
        try:
            yield
        finally:
            if len(told) > LINES_MAX:
                remark(f"warning: {len(told) - LINES_MAX} more of this kind")
