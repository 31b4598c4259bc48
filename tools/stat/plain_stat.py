"""The plain forms of ``stat`` without the command line's machinery.

That takes longer to load than 10,000 counters take to print. Whatever is not understood here is
left to it: help, watching, usage errors, ``--debug``.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_FORMS: Final = frozenset({"--json", "--classic"})
_FILTERS: Final = ("type=", "identity=", "session=", "stream=", "channel=")
_ONCE: Final = "watch=false"


@dataclass(frozen=True, slots=True)
class Look:
    """A look at a driver's counters, with the options of the command line."""

    aeron_dir: str | None
    form: str | None
    arguments: tuple[str, ...]


def plain_look(arguments: Sequence[str]) -> Look | None:
    """What is asked for, None when it is not one plain look."""
    if not arguments or arguments[0] != "stat" or os.environ.get("AEROLOG_TRACEBACK"):
        return None
    aeron_dir, form = os.environ.get("AERON_DIR") or None, None
    words: list[str] = []
    rest: Iterator[str] = iter(arguments[1:])
    for word in rest:
        if word == "--aeron-dir":
            aeron_dir = next(rest, None)
            if aeron_dir is None or aeron_dir.startswith("-"):
                return None
        elif word in _FORMS and form in {None, word}:
            form = word
        elif word.startswith(_FILTERS) or word == _ONCE:
            words.append(word)
        else:
            return None
    if (form == "--classic") != (_ONCE in words):
        return None
    if form != "--classic" and not all(_compiles(word.partition("=")[2]) for word in words):
        return None
    return Look(aeron_dir, form, tuple(words))


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True


def direct_form(arguments: Sequence[str]) -> Callable[[], None] | None:
    """What prints the look that is asked for, None when it is not one plain look."""
    look = plain_look(arguments)
    return None if look is None else partial(_show, look)


def _show(look: Look) -> None:
    from aerolog.tools.stat import counter_forms

    if look.form == "--classic":
        counter_forms.classic(look.aeron_dir, look.arguments, {})
        return
    filters = counter_forms.filters_of(look.arguments, {})
    counter_forms.show_once(look.aeron_dir, filters, as_json=look.form == "--json")
