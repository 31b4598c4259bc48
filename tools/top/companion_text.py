"""What lies beside an archive's recordings, in a few words: time indexes, health, retention."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from aerolog.tools.top import number_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aerolog.tools.views.companion_views import HealthView, IndexView, RetentionView

#: Of health, the worst first.
_STATES: Final = ("damaged", "missing", "changed", "unreadable", "unchecked", "sound")
_BAD: Final = frozenset(_STATES[:3])


def is_bad(state: str) -> bool:
    """Whether a state of health means that data is concerned."""
    return state in _BAD


def index_words(recordings: int, indexes: Mapping[int, IndexView]) -> str:
    """How many recordings have an index; nothing where there is none."""
    if not indexes:
        return ""
    faulty = sum(bool(one.problems) for one in indexes.values())
    told = f", {faulty} faulty" if faulty else ""
    return f"{len(indexes):,}/{recordings:,}{told}"


def health_words(health: Mapping[int, HealthView]) -> str:
    """How many recordings are in which state, the worst first; nothing where none is verified.

    Those that are sound are told where there are no others.
    """
    states = Counter(one.state for one in health.values())
    told = [f"{states[state]:,} {state}" for state in _STATES[:-1] if states[state]]
    return ", ".join(told) or (f"{states['sound']:,} sound" if states["sound"] else "")


def retention_words(seen: RetentionView | None, now_ms: int) -> str:
    """When the last run was and what it let go; nothing where there never was one."""
    if seen is None:
        return ""
    held = sum(not one.is_over(now_ms) for one in seen.holds)
    holds = f", {held:,} held" if held else ""
    last = seen.last_run
    if seen.is_running:
        words = "runs"
    elif last is None:
        words = "never ran"
    else:
        when = last.begin_ms if last.end_ms is None else last.end_ms
        failed = "failed " if is_failed(seen) else ""
        words = f"{failed}{number_text.age((now_ms - when) / 1000)} ago"
    gone = f", -{number_text.size(last.bytes)}" if last is not None else ""
    return f"{words}{gone}{holds}"


def is_failed(seen: RetentionView | None) -> bool:
    """Whether the last run did not come to its end, or something cannot be read."""
    if seen is None:
        return False
    last = seen.last_run
    was_cut = last is not None and last.end_ms is None and not seen.is_running
    return bool(seen.problems) or was_cut or (last is not None and last.error is not None)
