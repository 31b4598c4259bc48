"""The tool without the command line's machinery, which takes longer to load than it takes.

Help, JSON, ``--debug``, options of other commands and what stands after ``--`` are left to it.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_OF_MACHINERY: Final = frozenset({"--help", "--debug", "--json", "--", "--dry-run", "--yes", "-y"})


def plain_arguments(arguments: Sequence[str]) -> list[str] | None:
    """What the reference's tool would be given, None when that is not all there is."""
    if list(arguments[:1]) != ["archive-tool"] or os.environ.get("AEROLOG_TRACEBACK"):
        return None
    given = [one for one in arguments[1:] if one != "--classic"]
    return None if _OF_MACHINERY.intersection(given) else given


def direct_form(arguments: Sequence[str]) -> Callable[[], int] | None:
    """What runs the tool, None when more than that is asked for."""
    given = plain_arguments(arguments)
    return None if given is None else partial(_run, given)


def _run(arguments: list[str]) -> int:
    from aerolog.tools.reference.archive_tool.archive_tool import run
    from aerolog.tools.reference.tool_terminal import Terminal

    return run(arguments, Terminal())
