"""The classic form without the command line's machinery, which takes longer to load than it takes.

Only where ``--classic`` comes first, as scripts write it; whatever else is given between
``archive-tool`` and the folder is left to the machinery.
"""

from __future__ import annotations

import io
import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_FIRST: Final = ["archive-tool", "--classic"]
_OURS: Final = frozenset({"--help", "--debug", "--json", "--dry-run", "--yes", "--classic", "--"})


def classic_arguments(arguments: Sequence[str]) -> list[str] | None:
    """What the reference's tool would be given, None when that is not all there is."""
    given = list(arguments[2:])
    if list(arguments[:2]) != _FIRST or os.environ.get("AEROLOG_TRACEBACK"):
        return None
    return None if _OURS.intersection(given) else given


def run(arguments: list[str]) -> int:
    """Runs it; returns the exit code."""
    from aerolog.tools.archive_tool.classic_tool import run_classic
    from aerolog.tools.archive_tool.tool_terminal import Terminal

    if isinstance(sys.stdout, io.TextIOWrapper):
        # A channel that the terminal's encoding lacks is no reason to fail.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        return run_classic(arguments, Terminal())
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 - told by the machinery, as for all commands
        from aerolog.tools.command_line.invocation import ending

        return ending(partial(_raise, error))


def _raise(error: Exception) -> int:
    raise error
