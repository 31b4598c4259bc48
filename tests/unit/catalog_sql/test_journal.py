"""The journal: facts are in the tables and in the folder, and in a catalog that is made anew."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from sql_content import at_once, column, content

from aerolog.catalog.index import RecordingCatalog, rebuild, sync_folder
from aerolog.catalog.index.errors import JournalError
from aerolog.catalog.index.facts import FIELDS, OF_AN_ARCHIVE, Fact, checked
from aerolog.catalog.index.journal import record, record_all
from aerolog.catalog.index.journal_file import JOURNAL_NAME, JournalFile
from aerolog.catalog.index.models import Archive, Mark, Name, PipelineRun, Tag

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Some start processes, and some sync a folder many times over.
pytestmark = pytest.mark.timeout(400)

EXPORT = {"target": "/out", "from_position": 0, "until_position": 640, "rows": 3, "bytes": 600}
FILE = {**EXPORT, "path": "a.parquet", "checksum": "ab12", "state": "complete"}
FACTS: list[tuple[str, dict[str, Any]]] = [
    ("tag", {"recording_id": 0, "key": "carrier", "value": "AA"}),
    ("tag", {"recording_id": 0, "key": "carrier", "value": "BA é 漢"}),
    ("tag", {"recording_id": 1, "key": "gone", "value": "x"}),
    ("tag", {"recording_id": 1, "key": "gone", "value": None}),
    ("name", {"recording_id": 1, "name": "orders", "given": True}),
    ("name", {"recording_id": 2, "name": "orders", "given": True}),
    ("name", {"recording_id": 1, "name": "orders", "given": False}),  # no longer that one's
    ("export", {"recording_id": 0, **EXPORT, "state": "running", "time_ms": 1}),
    ("export-file", {"recording_id": 0, **FILE}),
    ("export-file", {"recording_id": 0, **FILE, "path": "b.parquet"}),
    ("export-gone", {"recording_id": 0, "target": "/out", "path": "a.parquet"}),
    (
        "export",
        {"recording_id": 0, **EXPORT, "state": "complete", "time_ms": 2, "checksum": "ff"},
    ),
    ("export", {"recording_id": 1, **EXPORT, "state": "failed", "time_ms": 2}),
    ("export-gone", {"recording_id": 1, "target": "/out"}),
    (
        "lineage",
        {
            "recording_id": 2,
            "lineage": "replication",
            "from_position": 0,
            "source_archive": "aeron:udp?endpoint=other:8010",
            "source_recording_id": 2**40,
            "time_ms": 3,
        },
    ),
    ("mark", {"recording_id": 2, "job": "daily", "output": "o", "position": 64, "time_ms": 4}),
    ("mark", {"recording_id": 2, "job": "daily", "output": "o", "position": 128, "time_ms": 5}),
    (
        "run",
        {
            "run_id": "r1",
            "job": "daily",
            "state": "complete",
            "started_ms": 1,
            "finished_ms": 2,
            "rows": 1,
            "bytes": 2,
            "rejected": 0,
            "report": "{}",
        },
    ),
]


def note(catalog: RecordingCatalog, folder: Path) -> None:
    for kind, values in FACTS:
        record(catalog, folder, kind, **values)


@pytest.fixture
def lite(folder: Path) -> Iterator[RecordingCatalog]:
    """The catalog in the folder, synced."""
    with RecordingCatalog.open(archive_dir=folder) as opened:
        sync_folder(opened, folder)
        yield opened


def test_every_kind_of_fact_survives_a_rebuild_and_a_new_database(
    catalog: RecordingCatalog, folder: Path, tmp_path: Path
) -> None:
    sync_folder(catalog, folder, fingerprints=True)
    note(catalog, folder)
    before = content(catalog)
    assert {kind for kind, _ in FACTS} | {"gone", "job-gone"} == set(FIELDS)
    assert [row[-1] for row in before["tags"]] == ["BA é 漢"]
    assert len(before["names"]) == len(before["exports"]) == len(before["export_files"]) == 1
    assert len(before["lineage"]) == len(before["marks"]) == len(before["pipeline_runs"]) == 1
    report = rebuild(catalog, folder)
    assert (report.facts, report.problems) == (len(FACTS), [])
    assert content(catalog) == before
    with RecordingCatalog.open(f"sqlite:///{tmp_path / 'other.db'}") as other:
        sync_folder(other, folder, fingerprints=True)
        assert content(other) == before
        record(other, folder, "tag", recording_id=3, key="from", value="other")
        assert sync_folder(catalog, folder).facts == 1
        assert content(catalog) == content(other)


def test_a_fact_that_cannot_be_is_noted_nowhere(lite: RecordingCatalog, folder: Path) -> None:
    record(lite, folder, "tag", recording_id=0, key="a", value="b")
    before, text = content(lite), (folder / JOURNAL_NAME).read_bytes()
    bad: list[tuple[str, dict[str, Any]]] = [
        ("nonsense", {}),
        ("tag", {"recording_id": 99, "key": "a", "value": "b"}),
        ("tag", {"recording_id": 0, "key": "a"} | {"more": 1}),
        ("tag", {"recording_id": 0, "key": 1, "value": "b"}),
        ("tag", {"recording_id": 0, "key": "a\0", "value": "b"}),
        ("tag", {"recording_id": 0, "key": "a", "value": "\ud800"}),
        ("tag", {"recording_id": True, "key": "a", "value": "b"}),
        ("mark", {"recording_id": 0, "job": "j", "output": "o", "position": 2**63, "time_ms": 0}),
        ("export-file", {"recording_id": 0, **FILE, "state": "much too long"}),
        ("run", {"run_id": "x"}),
    ]
    for kind, values in bad:
        with pytest.raises(JournalError):
            record_all(lite, [Fact(str(folder), kind, values)])
    with pytest.raises(JournalError, match="catalog sync"):
        record(lite, folder.parent, "tag", recording_id=0, key="a", value="b")
    assert content(lite) == before
    assert (folder / JOURNAL_NAME).read_bytes() == text


def test_facts_that_belong_together_are_all_noted_or_none(
    lite: RecordingCatalog, folder: Path
) -> None:
    good = Fact(str(folder), "tag", {"recording_id": 0, "key": "a", "value": "b"})
    with pytest.raises(JournalError, match="recording 99"):
        record_all(lite, [good, Fact(str(folder), "tag", {**good.values, "recording_id": 99})])
    assert content(lite)["tags"] == []
    record_all(lite, [good, Fact(str(folder), "name", FACTS[4][1])])
    lines = (folder / JOURNAL_NAME).read_text().splitlines()
    assert [len(json.loads(line)["facts"]) for line in lines[1:]] == [2]


def test_a_fact_of_a_disk_that_is_full_is_noted_nowhere(
    lite: RecordingCatalog, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(lite, folder, "tag", recording_id=0, key="a", value="b")
    before, text = content(lite), (folder / JOURNAL_NAME).read_bytes()

    def full(_fd: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(JournalError, match="nothing was noted"):
            record(lite, folder, "tag", recording_id=0, key="c", value="d")
    assert content(lite) == before
    assert (folder / JOURNAL_NAME).read_bytes() == text


def test_after_a_crash_before_the_commit_the_tables_catch_up(
    catalog: RecordingCatalog, folder: Path
) -> None:
    sync_folder(catalog, folder)

    def die(_connection: object) -> None:
        raise KeyboardInterrupt

    for number, how in enumerate(["sync", "record", "rebuild"]):
        sa.event.listen(catalog.engine, "commit", die)
        with pytest.raises(KeyboardInterrupt):
            record(catalog, folder, "tag", recording_id=number, key="kept", value=how)
        sa.event.remove(catalog.engine, "commit", die)
        assert len(column(catalog, Tag, "value")) == number
        if how == "sync":
            assert sync_folder(catalog, folder).facts == 1
        elif how == "record":
            record(catalog, folder, "name", recording_id=3, name="n", given=True)
        else:
            rebuild(catalog, folder)
        assert column(catalog, Tag, "value")[number] == (how,)
    assert sync_folder(catalog, folder).is_unchanged


def test_a_journal_cut_off_anywhere_keeps_the_facts_of_whole_lines(
    folder: Path, tmp_path: Path
) -> None:
    with RecordingCatalog.open(f"sqlite:///{tmp_path / 'first.db'}") as first:
        sync_folder(first, folder)
        for number in range(4):
            record(first, folder, "tag", recording_id=number, key="n", value=str(number))
    path = folder / JOURNAL_NAME
    whole = path.read_bytes()
    ends = [at + 1 for at, byte in enumerate(whole) if byte == ord("\n")]
    with RecordingCatalog.open("sqlite://") as catalog:
        for length in sorted({*range(0, len(whole), 61), *ends, *(end - 1 for end in ends)}):
            path.write_bytes(whole[:length])
            sync_folder(catalog, folder)
            kept = max(sum(end <= length for end in ends) - 1, 0)
            rebuild(catalog, folder, without_journal=True)
            assert len(column(catalog, Tag, "value")) == kept
            record(catalog, folder, "tag", recording_id=3, key="after", value="cut")
            assert rebuild(catalog, folder).problems == []
            assert len(column(catalog, Tag, "value")) == kept + 1


@pytest.mark.parametrize(
    "line",
    [
        b"nonsense",
        b"{}",
        b'{"facts": 7}',
        b'{"facts": [7]}',
        b'{"facts": [{"kind": "tag"}]}',
        b'{"facts": [{"kind": "tag", "recording_id": 500, "key": "a", "value": "b"}]}',
        b'{"facts": [{"kind": ["tag"]}]}',
        b"[" * 100_000,
        b"\xff\xfe\0",
    ],
)
def test_a_damaged_line_is_named_and_the_others_count(
    lite: RecordingCatalog, folder: Path, line: bytes
) -> None:
    record(lite, folder, "tag", recording_id=0, key="before", value="x")
    with (folder / JOURNAL_NAME).open("ab") as file:
        file.write(line + b"\n")
    record(lite, folder, "tag", recording_id=0, key="after", value="y")
    assert [row[0] for row in column(lite, Tag, "key")] == ["after", "before"]
    report = rebuild(lite, folder)
    assert [row[0] for row in column(lite, Tag, "key")] == ["after", "before"]
    assert len(report.problems) == 1
    assert JOURNAL_NAME in report.problems[0]
    assert "offset" in report.problems[0]


def test_a_journal_that_is_gone_is_named_and_a_rebuild_asks(
    lite: RecordingCatalog, folder: Path
) -> None:
    record(lite, folder, "tag", recording_id=0, key="a", value="b")
    (folder / JOURNAL_NAME).unlink()
    assert any("is gone" in problem for problem in sync_folder(lite, folder).problems)
    with pytest.raises(JournalError, match="--without-journal"):
        rebuild(lite, folder)
    assert column(lite, Tag, "key") == [("a",)]
    rebuild(lite, folder, without_journal=True)
    assert column(lite, Tag, "key") == []
    assert sync_folder(lite, folder).problems == []


def test_a_journal_of_a_newer_version_is_refused(lite: RecordingCatalog, folder: Path) -> None:
    (folder / JOURNAL_NAME).write_text('{"journal": "x", "version": 2}\n')
    with pytest.raises(JournalError, match="version 2"):
        sync_folder(lite, folder)


def test_facts_of_another_recording_with_the_same_id_are_not_taken_over(
    lite: RecordingCatalog, folder: Path
) -> None:
    record(lite, folder, "tag", recording_id=0, key="of", value="the first")
    text = (folder / JOURNAL_NAME).read_text()
    assert '"start_time_ms":1700000000000' in text
    (folder / JOURNAL_NAME).write_text(text.replace("1700000000000", "1600000000000"))
    rebuild(lite, folder)
    assert column(lite, Tag, "key") == []


def test_facts_of_several_archives_are_in_the_journal_of_each(
    catalog: RecordingCatalog, folder: Path, golden: Path
) -> None:
    run = dict(FACTS[-1][1])
    facts = []
    for place in (folder, golden):
        sync_folder(catalog, place)
        mark = {"job": "j", "output": "o", "position": 32, "run_id": "r1", "time_ms": 1}
        facts += [Fact(str(place), "mark", {"recording_id": 0, **mark})]
        facts += [Fact(str(place), "run", run)]
    record_all(catalog, facts)
    before = content(catalog)
    assert (len(before["marks"]), len(before["pipeline_runs"])) == (2, 1)
    for place in (folder, golden):
        rebuild(catalog, place)
    assert content(catalog) == before
    assert len(column(catalog, Mark, "job")) == len(column(catalog, PipelineRun, "job")) + 1


def test_every_field_that_is_left_out_is_none_or_missed() -> None:
    for kind, fields in FIELDS.items():
        values = {
            name: next(one for one in (0, "x", False) if type(one) is types[0])
            for name, types in fields.items()
        } | ({} if kind in OF_AN_ARCHIVE else {"recording_id": 0})
        assert checked(kind, values) == values
        for name, types in fields.items():
            rest = {key: value for key, value in values.items() if key != name}
            if type(None) in types:
                assert checked(kind, rest)[name] is None
            else:
                with pytest.raises(JournalError, match=name):
                    checked(kind, rest)


NOTING = """
import sys
from aerolog.catalog.index import RecordingCatalog, sync_folder
from aerolog.catalog.index.journal import record

sys.stdin.read()
with RecordingCatalog.open(sys.argv[1]) as catalog:
    for number in range(8):
        key = f"{sys.argv[3]}-{number}"
        record(catalog, sys.argv[2], "tag", recording_id=number % 4, key=key, value="v")
    sync_folder(catalog, sys.argv[2])
"""


def test_processes_that_note_at_once_lose_nothing(url: str, folder: Path, tmp_path: Path) -> None:
    second = f"sqlite:///{tmp_path / 'second.db'}"
    for one in (url, second):
        with RecordingCatalog.open(one) as catalog:
            sync_folder(catalog, folder)
    at_once(
        [
            [NOTING, url, str(folder), "a"],
            [NOTING, url, str(folder), "b"],
            [NOTING, second, str(folder), "c"],
        ]
    )
    with RecordingCatalog.open(url) as catalog, RecordingCatalog.open(second) as other:
        for one in (catalog, other):
            sync_folder(one, folder)
            assert len(column(one, Tag, "key")) == 24
            assert rebuild(one, folder).facts == 24
        assert content(catalog) == content(other)


def test_the_lock_of_a_journal_is_waited_for_and_let_go(folder: Path) -> None:
    with JournalFile.locked(folder) as nothing:
        assert nothing is None
    with JournalFile.locked(folder, create=True) as journal:
        assert journal is not None
        journal_id = journal.journal_id
    with JournalFile.locked(folder) as journal:
        assert journal is not None
        assert journal.journal_id == journal_id


def test_names_are_unique_in_an_archive(lite: RecordingCatalog, folder: Path) -> None:
    record(lite, folder, "name", recording_id=0, name="n", given=True)
    record(lite, folder, "name", recording_id=1, name="n", given=True)
    assert len(column(lite, Name, "name")) == 1
    assert len(column(lite, Archive, "place")) == 1
