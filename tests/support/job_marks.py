"""Commits of a job, as its pipeline writes them to the catalog and to the folder's journal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from aerolog.catalog.index.job_runs import AppliedRange, RunTotals, apply_commit, journal_commit

if TYPE_CHECKING:
    from pathlib import Path

    from aerolog.catalog.index import RecordingCatalog


def commit(
    catalog: RecordingCatalog,
    folder: Path,
    marks: dict[int, int],
    *,
    number: int = 1,
    conditions: dict[str, Any] | None = None,
    job: str = "nightly",
) -> None:
    """Note a commit: how far the job has come, by recording id."""
    ranges = [
        AppliedRange(str(folder.resolve()), recording_id, 0, position, 1, {})
        for recording_id, position in marks.items()
    ]
    report = json.dumps({"target": "/lake", "conditions": conditions or {}})
    named = {"job": job, "output": "/lake", "run_id": f"run-{number}", "ranges": ranges}
    totals = RunTotals(1, 1, 0, report)
    apply_commit(catalog, time_ms=number, totals=totals, **named)
    assert journal_commit(catalog, **named) == []
