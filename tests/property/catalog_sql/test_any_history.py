"""Any history of a folder, with crashes at any statement: a sync ends where the folder is.

The model is the folder itself, looked at with our readers of archive folders, and a list of what
was noted. A crash ends whatever runs, before a statement of the database or in its commit.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from sql_content import column, compact, content

from aerolog.archive.format.archive_folder import ArchiveFolder
from aerolog.archive.format.archive_folder import Recording as FolderRecording
from aerolog.archive.format.catalog_file import CatalogFile
from aerolog.archive.format.catalog_map import CatalogReader
from aerolog.archive.format.segment import parse_segment_name
from aerolog.archive.protocol.enums import RecordingState
from aerolog.archive.retention.holds import Holds
from aerolog.archive.time_index import index_path
from aerolog.catalog.index import RecordingCatalog, rebuild, sync_folder, sync_recordings
from aerolog.catalog.index import folder_sync as syncing_module
from aerolog.catalog.index.journal import record
from aerolog.catalog.index.models import Recording, Segment, Tag
from aerolog.testing.recordings import RecordingBuilder, write_time_index

pytestmark = pytest.mark.timeout(600)

SEGMENT = 64 * 1024
LARGE = 12_000
HOUR_NS = 3600 * 10**9


class Crash(BaseException):
    """The process ends here."""


class FolderHistory(RuleBasedStateMachine):
    """A folder that changes, and a catalog that is synced now and then, or dies at it."""

    @initialize()
    def make(self) -> None:
        self.home = tempfile.TemporaryDirectory()
        self.folder = Path(self.home.name, "archive")
        self.folder.mkdir()
        self.tags: dict[tuple[int, str], str] = {}
        self.gone: set[int] = set()
        self.in_sync = False
        self.statements_left: int | None = None
        self.open()
        self.add(1, True)

    def open(self) -> None:
        self.catalog = RecordingCatalog.open(archive_dir=self.folder)
        sa.event.listen(self.catalog.engine, "before_cursor_execute", self.count)
        sa.event.listen(self.catalog.engine, "commit", self.count)

    def count(self, *_: object) -> None:
        if self.statements_left is not None:
            self.statements_left -= 1
            if self.statements_left < 0:
                raise Crash

    def ids(self, state: RecordingState = RecordingState.VALID) -> list[int]:
        with CatalogReader.open(self.folder) as archive:
            return [one.descriptor.recording_id for one in archive.entries() if one.state == state]

    def pick(self, number: int) -> int | None:
        known = self.ids()
        return known[number % len(known)] if known else None

    @rule(messages=st.integers(0, 20), stopped=st.booleans())
    def add(self, messages: int, stopped: bool) -> None:
        builder = RecordingBuilder(stream_id=messages % 3)
        for _ in range(messages):
            builder.add(bytes(LARGE))
        builder.write(self.folder, stopped=stopped)
        self.in_sync = False

    @rule(number=st.integers(0, 99))
    def stop_or_extend(self, number: int) -> None:
        recording_id = self.pick(number)
        if recording_id is None:
            return
        with ArchiveFolder(self.folder) as folder:
            recording = folder.recording(recording_id)
        with CatalogFile.open(self.folder) as archive:
            if recording.descriptor.is_active:
                archive.recording_stopped(recording_id, recording.end_position, 1_700_000_002_000)
            else:
                archive.extend_recording(recording_id, 1, 1, 4242)
        self.in_sync = False

    @rule(number=st.integers(0, 99), detach=st.booleans())
    def purge_a_segment(self, number: int, detach: bool) -> None:
        recording_id = self.pick(number)
        if recording_id is None:
            return
        with ArchiveFolder(self.folder) as folder:
            recording = folder.recording(recording_id)
        base = recording.descriptor.segment_base(recording.start_position)
        if base + SEGMENT >= recording.end_position:
            return
        with CatalogFile.open(self.folder) as archive:
            archive.update_start_position(recording_id, base + SEGMENT)
        if not detach:
            (self.folder / f"{recording_id}-{base}.rec").unlink(missing_ok=True)
        self.in_sync = False

    @rule(number=st.integers(0, 99))
    def lose_a_segment(self, number: int) -> None:
        names = sorted(self.folder.glob("*.rec"))
        if names:
            names[number % len(names)].unlink()
            self.in_sync = False

    @rule(number=st.integers(0, 99), invalid=st.booleans(), with_files=st.booleans())
    def purge(self, number: int, invalid: bool, with_files: bool) -> None:
        recording_id = self.pick(number)
        if recording_id is None:
            return
        state = RecordingState.INVALID if invalid else RecordingState.DELETED
        with CatalogFile.open(self.folder) as archive:
            archive.change_state(recording_id, state)
        if with_files:
            for path in self.folder.glob(f"{recording_id}-*.rec"):
                path.unlink()
        self.in_sync = False

    @precondition(lambda self: self.in_sync)
    @rule(number=st.integers(0, 99))
    def compact(self, number: int) -> None:
        aside = self.ids(RecordingState.INVALID) + self.ids(RecordingState.DELETED)
        if aside:
            recording_id = aside[number % len(aside)]
            compact(self.folder, recording_id)
            self.gone.add(recording_id)
            self.in_sync = False

    @rule(number=st.integers(0, 99), key=st.sampled_from("ab"), value=st.sampled_from(["x", None]))
    def tag(self, number: int, key: str, value: str | None) -> None:
        known = column(self.catalog, Recording, "recording_id")
        if not known:
            return
        recording_id = known[number % len(known)][0]
        record(self.catalog, self.folder, "tag", recording_id=recording_id, key=key, value=value)
        self.note(recording_id, key, value)

    def note(self, recording_id: int, key: str, value: str | None) -> None:
        self.tags.pop((recording_id, key), None)
        if value is not None:
            self.tags[recording_id, key] = value

    @precondition(lambda self: self.in_sync)
    @rule(number=st.integers(0, 99), statements=st.integers(0, 12))
    def die_while_tagging(self, number: int, statements: int) -> None:
        known = column(self.catalog, Recording, "recording_id")
        recording_id = known[number % len(known)][0]
        values: dict[str, Any] = {"recording_id": recording_id, "key": "c", "value": "z"}
        self.dying(statements, lambda: record(self.catalog, self.folder, "tag", **values))
        # Noted or not, as a crash leaves it: the journal says.
        sync_folder(self.catalog, self.folder)
        if (recording_id, "c") in self.found_tags():
            self.note(recording_id, "c", "z")

    @rule(fingerprints=st.booleans())
    def sync(self, fingerprints: bool) -> None:
        sync_folder(self.catalog, self.folder, fingerprints=fingerprints)
        self.in_sync = True

    @rule(numbers=st.lists(st.integers(0, 20), max_size=4))
    def sync_some(self, numbers: list[int]) -> None:
        sync_recordings(self.catalog, self.folder, numbers)

    @rule(statements=st.integers(0, 40), what=st.sampled_from([sync_folder, rebuild]))
    def die_while_syncing(self, statements: int, what: Any) -> None:
        self.dying(statements, lambda: what(self.catalog, self.folder, fingerprints=True))

    @rule(number=st.integers(0, 99), hours=st.lists(st.integers(-3, 30), max_size=6))
    def index(self, number: int, hours: list[int]) -> None:
        """The time index of a recording comes, is made anew, or goes."""
        recording_id = self.pick(number)
        if recording_id is None:
            return
        if not hours:
            Path(index_path(self.folder, recording_id)).unlink(missing_ok=True)
            return
        start = 1_700_000_000_000_000_000
        entries = [(start + hour * HOUR_NS, 4096 * at) for at, hour in enumerate(hours)]
        write_time_index(self.folder, recording_id, entries)

    @rule(number=st.integers(0, 99), holds=st.booleans())
    def hold(self, number: int, holds: bool) -> None:
        recording_id = self.pick(number)
        if recording_id is None:
            return
        if holds:
            Holds.open(self.folder).add(recording_id, "audit", now_ms=1)
        else:
            Holds.open(self.folder).remove(recording_id)

    @rule()
    def make_anew(self) -> None:
        # A rebuild computes fingerprints where there are any.
        noted = any(one for (one,) in column(self.catalog, Segment, "fingerprint"))
        sync_folder(self.catalog, self.folder, fingerprints=noted)
        before = content(self.catalog)
        rebuild(self.catalog, self.folder)
        assert content(self.catalog) == before
        self.in_sync = True

    def dying(self, statements: int, call: Any) -> None:
        self.statements_left = statements
        try:
            call()
        except Crash:
            pass
        finally:
            self.statements_left = None
        self.catalog.close()
        self.open()

    def found_tags(self) -> dict[tuple[int, str], str]:
        ids = dict(column(self.catalog, Recording, "id", "recording_id"))
        rows = column(self.catalog, Tag, "recording_fk", "key", "value")
        return {(ids[owner], key): value for owner, key, value in rows}

    @invariant()
    def every_tag_is_there(self) -> None:
        assert self.found_tags() == self.tags

    @precondition(lambda self: self.in_sync)
    @invariant()
    def the_tables_are_the_folder(self) -> None:
        ids = dict(column(self.catalog, Recording, "id", "recording_id"))
        names = ("recording_id", "state", "start_position", "stop_position", "size_bytes")
        rows = {row[0]: row[1:] for row in column(self.catalog, Recording, *names)}
        found: dict[int, dict[int, str]] = {one: {} for one in rows}
        for owner, base, state in column(
            self.catalog, Segment, "recording_fk", "base_position", "state"
        ):
            found[ids[owner]][base] = state
        with ArchiveFolder(self.folder) as folder:
            entries = list(folder.catalog.entries())
            here = {one.descriptor.recording_id for one in entries}
            assert rows.keys() == here | self.gone
            assert {one for one, row in rows.items() if row[0] == "purged"} == self.gone
            assert all(not found[one] for one in self.gone)
            for entry in entries:
                recording = FolderRecording(folder, entry)
                self.check(entry.state, recording, rows, found)

    def check(
        self,
        state: int,
        recording: FolderRecording,
        rows: dict[int, tuple[Any, ...]],
        found: dict[int, dict[int, str]],
    ) -> None:
        descriptor = recording.descriptor
        there = {
            parse_segment_name(path.name).base_position
            for path in self.folder.glob(f"{recording.recording_id}-*.rec")
        }
        row, segments = rows[recording.recording_id], found[recording.recording_id]
        if state != RecordingState.VALID:
            assert row[0] == ("deleted" if state == RecordingState.DELETED else "invalid")
            assert segments == dict.fromkeys(there, "present")
            return
        active, end = descriptor.is_active, recording.end_position
        assert row == (
            "active" if active else "stopped",
            descriptor.start_position,
            None if active else descriptor.stop_position,
            end - descriptor.start_position,
        )
        first = descriptor.segment_base(descriptor.start_position)
        wanted = set(range(first, end, SEGMENT))
        expected = dict.fromkeys(wanted - there, "missing")
        for base in there:
            is_part = first <= base <= end - end % SEGMENT
            expected[base] = "present" if is_part else "detached"
        assert segments == expected

    def teardown(self) -> None:
        if hasattr(self, "catalog"):
            self.catalog.close()
            self.home.cleanup()


class SmallChunks(FolderHistory):
    """The same with two recordings in a transaction."""

    def dying(self, statements: int, call: Any) -> None:
        kept = syncing_module.CHUNK
        syncing_module.CHUNK = 2  # type: ignore[misc]
        try:
            super().dying(statements, call)
        finally:
            syncing_module.CHUNK = kept  # type: ignore[misc]


TestSmallChunks = SmallChunks.TestCase
TestSmallChunks.settings = settings(
    max_examples=8,
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
