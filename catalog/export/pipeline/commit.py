"""The commit of a run, and the completion of runs that were interrupted behind theirs.

1. The run's files are staged, each complete.
2. Its manifest appears as a whole: this is the commit.
3. The files get their names, under which readers look for them.
4. One transaction notes marks, exports and the run in the catalog.

Nothing is seen of a run that ends before step 2. A run that ends after it is finished by the next
one, which may repeat steps 3 and 4. The rows of a target are therefore those of its commits, each
once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.catalog.export.layout import recording_key
from aerolog.catalog.export.manifest import Manifest, RangeEntry, RunEntry, publish
from aerolog.catalog.export.pipeline.output import COMMITS, STAGING
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

_DIGITS: Final = 8


class Commits:
    """The commits of a target, and the catalog in which they are noted."""

    def __init__(self, catalog: RecordingCatalog, store: Store, job: str, to: str) -> None:
        self._catalog = catalog
        self._store = store
        self._job = job
        self.output = without_secrets(to)
        self._older: list[str] | None = None
        self._last: dict[str, RangeEntry] = {}

    def latest(self) -> Manifest | None:
        """The last commit, None when there is none."""
        names = self._names()
        return self._read(names[-1]) if names else None

    def last_range(self, place: str, recording_id: int) -> RangeEntry | None:
        """The last range of a recording that was committed; commits are read as far as needed."""
        if self._older is None:
            self._older = self._names()
        key = recording_key(recording_id, place)
        while key not in self._last and self._older:
            for known, ranges in self._read(self._older.pop()).ranges.items():
                self._last.setdefault(known, ranges[-1])
        return self._last.get(key)

    def recover(self) -> tuple[str, ...]:
        """Finish runs that committed, remove the files of others; returns ids of finished runs."""
        undone = self.undone()
        for manifest in undone:
            self._publish(manifest)
            self._apply(manifest, commit_report(manifest, target=self.output))
        for run_id in self._store.names(STAGING):
            self._store.remove_tree(f"{STAGING}/{run_id}")
        return tuple(run_of(manifest).run_id for manifest in undone)

    def undone(self) -> list[Manifest]:
        """Commits that the catalog has not been told of, in order."""
        applied = applied_runs(self._catalog, self._job, self.output)
        undone: list[Manifest] = []
        for name in reversed(self._names()):
            manifest = self._read(name)
            if run_of(manifest).run_id in applied:
                break  # Commits are noted in order, so those before it are noted too.
            undone.append(manifest)
        return undone[::-1]

    def commit(self, manifest: Manifest, report: RunReport) -> list[str]:
        """Commit staged files, give them their names and note them in the catalog.

        Returns:
            What a person should know, a text each.

        Raises:
            FileExistsError: another run committed under this number.
        """
        path = f"{COMMITS}/{_name(manifest)}"
        self._store.write(path, manifest.to_bytes(), fresh=True)
        self._publish(manifest)
        return self._apply(manifest, report)

    def _names(self) -> list[str]:
        """Names of the commits, in order."""
        found = []
        for name in self._store.names(COMMITS):
            number, _, suffix = name.partition(".")
            if suffix == "json" and len(number) >= _DIGITS and number.isdigit():
                found.append(name)
        return sorted(found, key=lambda name: int(name.partition(".")[0]))

    def _read(self, name: str) -> Manifest:
        content = self._store.read(f"{COMMITS}/{name}")
        if content is None:
            raise FileNotFoundError(f"{COMMITS}/{name}")
        return Manifest.from_bytes(content, f"commit {name}")

    def _publish(self, manifest: Manifest) -> None:
        publish(self._store, manifest.unnamed(), f"commit {_name(manifest)}")
        self._store.remove_tree(f"{STAGING}/{run_of(manifest).run_id}")

    def _apply(self, manifest: Manifest, report: RunReport) -> list[str]:
        run = run_of(manifest)
        ranges = [
            AppliedRange(
                place=one.archive,
                recording_id=one.recording_id,
                from_position=one.from_position,
                until_position=one.until_position,
                rows=one.rows,
                files={
                    path: (file.rows, file.bytes, file.checksum)
                    for path in one.files
                    for file in [manifest.files[path]]
                },
            )
            for of_recording in manifest.ranges.values()
            for one in of_recording
        ]
        named = {"job": self._job, "output": self.output, "run_id": run.run_id}
        apply_commit(
            self._catalog,
            **named,
            time_ms=run.time_ms,
            ranges=ranges,
            totals=RunTotals(report.rows, report.file_bytes, report.rejected, report.to_json()),
        )
        return journal_commit(self._catalog, **named, ranges=ranges)


def run_of(manifest: Manifest) -> RunEntry:
    """The run whose commit a manifest is."""
    assert manifest.run is not None
    return manifest.run


def _name(manifest: Manifest) -> str:
    return f"{run_of(manifest).sequence:0{_DIGITS}d}.json"
