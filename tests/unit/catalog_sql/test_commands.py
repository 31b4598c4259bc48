"""``aerolog catalog sync``, ``rebuild`` and ``migrate``, as they are typed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from aerolog.catalog.index.migration import migrate, revisions
from aerolog.catalog.index.recording_catalog import DATABASE_NAME, open_engine
from aerolog.tools.command_line.exit_codes import EXIT_FAILED, EXIT_USAGE
from aerolog.tools.main import main

if TYPE_CHECKING:
    from pathlib import Path


def test_sync_says_what_it_did_and_names_what_it_passed_over(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "77-0.rec").write_bytes(b"")
    assert main(["catalog", "sync", "--archive-dir", str(folder)]) == 0
    said = capsys.readouterr()
    assert "added             4" in said.out
    assert "passed over: segment file of no recording" in said.err
    assert "77-0.rec" in said.err


def test_sync_and_rebuild_say_the_same_as_json(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--archive-dir", str(folder), "--catalog", f"sqlite:///{tmp_path / 'c.db'}", "--json"]
    reports = []
    for name in ("sync", "rebuild", "sync"):
        assert main(["catalog", name, "--fingerprints", *where]) == 0
        reports.append(json.loads(capsys.readouterr().out))
    assert reports[0] == reports[1]
    assert (reports[0]["added"], reports[0]["fingerprints"] > 0) == (4, True)
    assert (reports[2]["added"], reports[2]["fingerprints"]) == (0, 0)
    assert not (folder / DATABASE_NAME).exists()


def test_migrate_brings_the_tables_up(
    folder: Path, newer_revision: str, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = open_engine(archive_dir=folder)
    migrate(engine, revisions()[0])
    engine.dispose()
    where = ["--archive-dir", str(folder)]
    assert main(["catalog", "sync", *where]) == EXIT_FAILED
    assert "aerolog catalog migrate" in capsys.readouterr().err
    assert main(["catalog", "migrate", "--json", *where]) == 0
    moved = json.loads(capsys.readouterr().out)
    assert moved == {"from": revisions()[0], "to": newer_revision}
    assert main(["catalog", "migrate", *where]) == 0
    assert "already" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["sync", "rebuild"])
def test_a_folder_has_to_be_named_and_to_be_an_archives(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["catalog", name, "--catalog", "sqlite://"]) == EXIT_USAGE
    assert "--archive-dir" in capsys.readouterr().err
    assert main(["catalog", name, "--archive-dir", str(tmp_path)]) == EXIT_FAILED
    assert "archive.catalog" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    assert main(["catalog", name, "--archive-dir", str(tmp_path / "nowhere")]) == EXIT_FAILED
