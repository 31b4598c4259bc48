"""What a verification has found, as a table and as JSON, and doing what follows from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from aerolog.archive.protocol.enums import RecordingState
from aerolog.tools.reference.archive_tool.change_plan import TablePlan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.tools.archive_files.verdicts import Verdict

_COLUMNS: Final = ("recording", "verdict", "what", "change")


def row(verdict: Verdict, *, cut: bool) -> dict[str, Any]:
    """A verdict as JSON."""
    unverified = verdict.unverified
    return {
        "recording_id": verdict.entry.recording_id,
        "verdict": word(verdict),
        "problem": _problem(verdict),
        "file": verdict.path,
        "unverified_frame": None
        if unverified is None
        else {
            "file": unverified.path,
            "offset": unverified.offset,
            "position": unverified.position,
            "is_cut": cut,
        },
        "changes": [
            {"field": name, "before": before, "after": after}
            for name, before, after in changes(verdict)
        ],
    }


def word(verdict: Verdict) -> str:
    """ok, skipped, faulty, or unreadable, which says nothing of what is in the file."""
    if verdict.skipped:
        return "skipped"
    if verdict.is_unreadable:
        return "unreadable"
    return "ok" if verdict.problem is None else "faulty"


def changes(verdict: Verdict) -> list[tuple[str, Any, Any]]:
    """Fields of the catalog that are to change: name, before, after."""
    entry = verdict.entry
    found: list[tuple[str, Any, Any]] = []
    if verdict.stop_position is not None:
        before = None if entry.is_active else entry.stop_position
        found.append(("stop_position", before, verdict.stop_position))
    if verdict.state is not None and verdict.state != entry.state:
        found.append(("state", entry.state_name, RecordingState(verdict.state).name))
    return found


def plan(verdicts: Sequence[Verdict], *, cut: bool) -> TablePlan:
    """The plan for all verdicts; people are shown those that are not simply in order."""
    shown = [v for v in verdicts if v.problem is not None or v.changes or v.unverified]
    counts = {
        name: sum(word(v) == name for v in verdicts)
        for name in ("ok", "faulty", "unreadable", "skipped")
    }
    unreadable = f" {counts['unreadable']} that cannot be read," if counts["unreadable"] else ""
    return TablePlan(
        f"{len(verdicts)} recordings: {counts['ok']} in order, {counts['faulty']} faulty,"
        f"{unreadable} {counts['skipped']} skipped,"
        f" {sum(v.changes for v in verdicts)} to be changed",
        _COLUMNS,
        [_table_row(verdict, cut=cut) for verdict in shown],
        details={**counts, "recordings": [row(verdict, cut=cut) for verdict in verdicts]},
        right=("recording",),
    )


def _table_row(verdict: Verdict, *, cut: bool) -> list[Any]:
    told = [
        f"{name} {'none' if before is None else before} -> {after}"
        for name, before, after in changes(verdict)
    ]
    problem = _problem(verdict) or ""
    if verdict.path is not None:
        problem = f"{verdict.path}: {problem}"
    if verdict.unverified is not None:
        doubt = (
            f"the last frame, at position {verdict.unverified.position}, spans pages and cannot be"
            " told to be whole"
        )
        problem = "; ".join(part for part in (problem, doubt) if part)
        told.append("it is cut off" if cut else "it is kept (-cut takes it away)")
    return [verdict.entry.recording_id, word(verdict), problem, ", ".join(told)]


def _problem(verdict: Verdict) -> str | None:
    if verdict.error is None:
        return verdict.problem
    return f"{verdict.problem}: {verdict.error.rpartition('Exception: ')[2]}"
