"""``max-entries``: deprecated, and without an effect."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.tools.reference.tool_terminal import Terminal

_DEPRECATED = "max-entries is deprecated please use capacity."


def max_entries(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Say what to use instead."""
    del folder, arguments
    terminal.result({"problem": _DEPRECATED}, _DEPRECATED)
    return 0
