"""The configuration printout of ``aeron.print.configuration`` (configuration 19)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def configuration_text(title: str, fields: Iterable[tuple[str, object]]) -> str:
    """The reference's layout: a title line, braces, a field a line with four blanks before it."""
    lines = [f"    {name}={_shown(value)}" for name, value in fields]
    return "\n".join([title, "{", *lines, "}"])


def _shown(value: object) -> object:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return value
