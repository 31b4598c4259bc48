"""The classic form without the command line's machinery, which takes longer to load than it takes.

Only where ``--classic`` comes first, as scripts write it; whatever else is given between
``archive-tool`` and the folder is left to the machinery.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_FIRST: Final = ["archive-tool", "--classic"]
_OURS: Final = frozenset({"--help", "--debug", "--json", "--dry-run", "--yes", "--classic", "--"})


def classic_arguments(arguments: Sequence[str]) -> list[str] | None:
    """What the reference's tool would be given, None when that is not all there is."""
    given = list(arguments[2:])
    if list(arguments[:2]) != _FIRST or os.environ.get("AEROLOG_TRACEBACK"):
        return None
    return None if _OURS.intersection(given) else given


def direct_form(arguments: Sequence[str]) -> Callable[[], int] | None:
    """What runs the tool in its classic form, None when more than that is asked for."""
    given = classic_arguments(arguments)
    return None if given is None else partial(_run, given)


def _run(arguments: list[str]) -> int:
    from aerolog.tools.reference.archive_tool.classic_tool import run_classic
    from aerolog.tools.reference.tool_terminal import Terminal

    return run_classic(arguments, Terminal())
