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

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aerolog.archive.format.layout import CATALOG_NAME
from aerolog.catalog.export.errors import ManifestError
from aerolog.catalog.export.manifest import Manifest, RangeEntry, RunEntry, publish
from aerolog.catalog.export.pipeline.errors import TargetError
from aerolog.catalog.export.pipeline.output import COMMITS, STAGING
from aerolog.catalog.export.pipeline.run_report import RunReport, commit_report
from aerolog.catalog.index.job_runs import (
    AppliedRange,
    KnownRecording,
    RunTotals,
    applied_runs,
    apply_commit,
    apply_ranges,
    drop_progress,
    journal_commit,
    known_recordings,
    load_marks,
)
from aerolog.catalog.locations import local_folder
from aerolog.transport.secrets import without_secrets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.catalog.export.pipeline.job import Job
    from aerolog.catalog.export.store import Store
    from aerolog.catalog.index.recording_catalog import RecordingCatalog

_DIGITS: Final = 8


class Commits:
    """The commits of a target, and the catalog in which they are noted."""

    def __init__(self, catalog: RecordingCatalog, store: Store, job: Job) -> None:
        self._catalog = catalog
        self._store = store
        self._job = job.name
        self._conditions = dict(job.conditions)
        self.output = without_secrets(job.output.to)

    def latest(self) -> Manifest | None:
        """The last commit, None when there is none."""
        names = self._names()
        return self._read(names[-1]) if names else None

    def loaded(self, known: Sequence[KnownRecording]) -> dict[tuple[str, int], RangeEntry]:
        """The last range of each recording that the target has, by place and recording id.

        Args:
            known: the recordings of the catalog. One whose archive's folder was moved, so that the
                commits name a folder that is not there any more, is found by its start time.
        """
        last: dict[tuple[str, int], RangeEntry] = {}
        for manifest in map(self._read, self._names()):
            for ranges in manifest.ranges.values():
                last[ranges[-1].archive, ranges[-1].recording_id] = ranges[-1]
        gone: dict[tuple[int, int], RangeEntry] = {}
        is_gone = {place: _is_gone(place) for place in {place for place, _ in last}}
        for one in sorted(last.values(), key=lambda one: one.until_position):
            if one.start_time_ms and is_gone[one.archive]:
                gone[one.recording_id, one.start_time_ms] = one
        for recording in known if gone else ():
            before = gone.get((recording.recording_id, recording.start_time_ms))
            if before is not None:
                last.setdefault((recording.place, recording.recording_id), before)
        return last

    def recover(self) -> tuple[str, ...]:
        """Finish runs that committed, and remove the files of others.

        The catalog's marks become what the commits say.

        Returns:
            The ids of the finished runs.
        """
        undone = self.undone()
        for manifest in undone:
            self._publish(manifest)
            report = commit_report(manifest, target=self.output, conditions=self._conditions)
            self._apply(manifest, report)
        for run_id in self._store.names(STAGING):
            self._store.remove_tree(f"{STAGING}/{run_id}")
        self._correct_marks()
        return tuple(run_of(manifest).run_id for manifest in undone)

    def _correct_marks(self) -> None:
        """Note the commits again for recordings whose marks differ: of a rebuilt catalog, say."""
        names = self._names()
        if not names:
            return
        marks = load_marks(self._catalog, self._job, self.output)
        known = known_recordings(self._catalog)
        loaded = self.loaded(known)
        wrong: dict[tuple[str, int], list[tuple[str, int]]] = {}
        keys = {(one.place, one.recording_id) for one in known}
        for key in keys:
            last = loaded.get(key)
            if marks.get(key) != (None if last is None else last.until_position):
                source = key if last is None else (last.archive, last.recording_id)
                wrong.setdefault(source, []).append(key)
        if not wrong:
            return
        for one in wrong.values():
            drop_progress(self._catalog, self._job, self.output, one)
        for name in names:
            manifest = self._read(name)
            run = run_of(manifest)
            ranges = [
                replace(part, place=place, recording_id=recording_id)
                for part in _applied(manifest)
                for place, recording_id in wrong.get((part.place, part.recording_id), ())
            ]
            named = {"job": self._job, "output": self.output, "run_id": run.run_id}
            apply_ranges(self._catalog, **named, time_ms=run.time_ms, ranges=ranges)
            journal_commit(self._catalog, **named, ranges=ranges)

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

    def check_staged(self, manifest: Manifest) -> None:
        """Check that all files are there that a commit will name.

        Raises:
            TargetError: one is gone.
        """
        for file in manifest.unnamed():
            # A run that another catalog allowed at the same time takes these files for left ones.
            if self._store.size(file.staged) != file.bytes:
                raise TargetError(
                    f"{file.staged} in {self.output} is gone, as when another run of the job has"
                    " cleaned up; nothing was loaded, run it again"
                )

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
        manifest = Manifest.from_bytes(content, f"commit {name}")
        if manifest.run is None:
            raise ManifestError(f"commit {name} names no run: no pipeline has written it")
        return manifest

    def _publish(self, manifest: Manifest) -> None:
        publish(self._store, manifest.unnamed(), f"commit {_name(manifest)}")
        self._store.remove_tree(f"{STAGING}/{run_of(manifest).run_id}")

    def _apply(self, manifest: Manifest, report: RunReport) -> list[str]:
        run = run_of(manifest)
        ranges = _applied(manifest)
        named = {"job": self._job, "output": self.output, "run_id": run.run_id}
        apply_commit(
            self._catalog,
            **named,
            time_ms=run.time_ms,
            ranges=ranges,
            totals=RunTotals(report.rows, report.file_bytes, report.rejected, report.to_json()),
        )
        return journal_commit(self._catalog, **named, ranges=ranges)


def _applied(manifest: Manifest) -> list[AppliedRange]:
    """The ranges of a commit as the catalog notes them."""
    return [
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


def _is_gone(place: str) -> bool:
    """Whether there is no archive in a folder of this machine any more."""
    folder = local_folder(place)
    return folder is not None and not Path(folder, CATALOG_NAME).exists()


def run_of(manifest: Manifest) -> RunEntry:
    """The run whose commit a manifest is."""
    assert manifest.run is not None
    return manifest.run


def _name(manifest: Manifest) -> str:
    return f"{run_of(manifest).sequence:0{_DIGITS}d}.json"
