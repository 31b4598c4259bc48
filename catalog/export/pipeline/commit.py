"""The commit of a run, and the end of what an earlier run left undone.

1. The run's files are staged, each complete.
2. Its manifest is put in place: the commit.
3. The files are moved to where readers look.
4. One transaction notes marks, exports and the run in the catalog.

A run that ends before 2 never was. One that ends after it is finished by the next: steps 3 and 4
may be repeated. So the rows of a target are those of its commits, each once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.catalog.export.pipeline.commit_manifest import (
    Manifest,
    publish,
    put_manifest,
    read_manifest,
    remove_staged,
    sequences,
)
from aerolog.catalog.export.pipeline.run_report import RunReport, commit_report
from aerolog.catalog.index.job_runs import (
    AppliedRange,
    RunTotals,
    applied_runs,
    apply_commit,
    journal_commit,
)
from aerolog.catalog.locations import without_secrets

if TYPE_CHECKING:
    from aerolog.catalog.export.store import Store
    from aerolog.catalog.index.recording_catalog import RecordingCatalog


class Commits:
    """A target's commits, and the catalog that notes them."""

    def __init__(self, catalog: RecordingCatalog, store: Store, job: str, to: str) -> None:
        self._catalog = catalog
        self._store = store
        self._job = job
        self.output = without_secrets(to)

    def latest(self) -> Manifest | None:
        """The last commit, None when there is none."""
        numbers = sequences(self._store)
        return read_manifest(self._store, numbers[-1]) if numbers else None

    def recover(self) -> tuple[str, ...]:
        """Finish runs that committed, remove the files of others; returns ids of finished runs."""
        undone = self.undone()
        for manifest in undone:
            publish(self._store, manifest)
            self._apply(manifest, commit_report(manifest, target=self.output))
        remove_staged(self._store)
        return tuple(manifest.run_id for manifest in undone)

    def undone(self) -> list[Manifest]:
        """Commits that the catalog has not been told of, in order."""
        applied = applied_runs(self._catalog, self._job, self.output)
        undone: list[Manifest] = []
        for sequence in reversed(sequences(self._store)):
            manifest = read_manifest(self._store, sequence)
            if manifest.run_id in applied:
                break  # Commits are noted in order.
            undone.append(manifest)
        return undone[::-1]

    def commit(self, manifest: Manifest, report: RunReport) -> list[str]:
        """From staged files to a commit that everybody sees; returns what a person should know."""
        put_manifest(self._store, manifest)
        publish(self._store, manifest)
        return self._apply(manifest, report)

    def _apply(self, manifest: Manifest, report: RunReport) -> list[str]:
        files = {file.path: (file.rows, file.bytes, file.sha256) for file in manifest.files}
        ranges = [
            AppliedRange(
                place=one.place,
                recording_id=one.recording_id,
                from_position=one.from_position,
                until_position=one.until_position,
                rows=one.rows,
                files={path: files[path] for path in one.files},
            )
            for one in manifest.ranges
        ]
        named = {"job": self._job, "output": self.output, "run_id": manifest.run_id}
        apply_commit(
            self._catalog,
            **named,
            time_ms=manifest.time_ms,
            ranges=ranges,
            totals=RunTotals(report.rows, report.file_bytes, report.rejected, report.to_json()),
        )
        return journal_commit(self._catalog, **named, ranges=ranges)
