"""Whether a command met pages that its mapped files did not have (docs/decisions/0018)."""

from __future__ import annotations

import sys


def last_missing() -> tuple[int, str]:
    """How many mapped files lacked a page that was read, and what is said of the last of them."""
    # A command that mapped nothing has not loaded the module, and need not wait for it.
    mapped_file = sys.modules.get("aerolog.transport.memory.mapped_file")
    return (0, "") if mapped_file is None else mapped_file.last_missing()


def missing_since(before: tuple[int, str]) -> str | None:
    """Why what was printed may be wrong, when a mapped file lacked a page meanwhile."""
    count, text = last_missing()
    return None if count == before[0] else f"{text}: what is said of it may be wrong"
