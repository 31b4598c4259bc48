"""Pipes and devices in place of files: commands refuse them, or go on without, and never wait."""

from __future__ import annotations

import io
import os
import re
import shutil
from typing import TYPE_CHECKING

import pytest
from fuzzed_commands import check_end, said

if TYPE_CHECKING:
    from pathlib import Path

#: What a command is given in a folder, by the file that is none; {} is the folder.
IN_PLACE_OF = {
    "archive.catalog": ["recordings list", "catalog sync", "export --all --to {}/out", "doctor"],
    "archive-mark.dat": ["recordings list", "retention apply --everything --max-age 1s --yes"],
    "aerolog-catalog.db": ["catalog search", "catalog sync"],
    "1-0.rec": [
        "verify", "recordings describe 1", "export 1 --to {}/out", "recordings times 1 --rebuild",
        "catalog sql SELECT\u00a0*\u00a0FROM\u00a0frames", "doctor --deep",
    ],
    "aerolog/times/1.time": ["recordings times 1", "export 1 --to {}/out"],
    "aerolog/health/1.health": ["verify --note", "recordings describe 1"],
    "aerolog/retention/holds.json": ["retention status", "retention hold 1 --reason x"],
    "aerolog/retention/journal.jsonl": ["retention status", "retention release 1"],
    "aerolog/retention/lock": ["retention apply --everything --max-age 1s --yes"],
    "aerolog/retention/step.lock": ["retention hold 1 --reason x"],
}  # fmt: skip
OF_TOOL = ("describe", "dump", "verify -a", "errors", "pid", "compact", "migrate", "mark-invalid 1")
TOOL_FILES = ("archive.catalog", "archive-mark.dat", "1-0.rec")
#: Commands that are given the file itself.
NAMED = [
    "pipeline run {}/odd", "pipeline status {}/odd", "passwords list {}/odd", "driver {}/odd",
    "retention plan --policies {}/odd --archive-dir {}", "explain {}/odd", "errors --file {}/odd",
    "export 1 --archive-dir {} --to {}/out --decoder avro --decoder-option schema_file={}/odd",
]  # fmt: skip


def make_odd(path: Path, kind: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")


@pytest.fixture
def folder(archive: Path, tmp_path: Path) -> Path:
    return shutil.copytree(archive, tmp_path / "archive")


@pytest.mark.parametrize("kind", ["pipe", "device"])
@pytest.mark.parametrize("name", IN_PLACE_OF)
def test_in_an_archive_s_folder(folder: Path, name: str, kind: str) -> None:
    make_odd(folder / name, kind)
    for command in IN_PLACE_OF[name]:
        words = [word.format(folder) for word in command.split(" ")]
        more = ["--interval", "0", "--aeron-dir", "missing"] if words[0] == "doctor" else []
        check_end(*said(*words, *more, "--archive-dir", folder), (name, words))


@pytest.mark.parametrize("kind", ["pipe", "device"])
@pytest.mark.parametrize("name", TOOL_FILES)
def test_the_archive_tool(
    folder: Path, name: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_odd(folder / name, kind)
    for command in OF_TOOL:
        for form in (["--json"], []):
            monkeypatch.setattr("sys.stdin", io.StringIO("y\n" * 100))
            words = ["archive-tool", *form, str(folder), *command.split(" ")]
            check_end(*said(*words), words)


@pytest.mark.parametrize("kind", ["pipe", "device"])
@pytest.mark.parametrize("command", NAMED)
def test_a_file_that_is_named(folder: Path, command: str, kind: str) -> None:
    make_odd(folder / "odd", kind)
    code, error = said(*(word.replace("{}", str(folder)) for word in command.split(" ")))
    assert code in {1, 2}, error
    assert re.search(
        r"no(t a)? regular file|is no file of a driver or an archive", error.replace("\n", " ")
    ), error


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", ["pipe", "device"])
@pytest.mark.parametrize(
    "command",
    [
        "export 1 --to {}/out --archive-dir {}",
        "export --check --to {}/out",
        "retention plan --everything --max-size 1m --archive-dir {} --export {}/out",
    ],
)
def test_the_manifest_of_an_export(folder: Path, command: str, kind: str) -> None:
    code, error = said("export", "1", "--to", folder / "out", "--archive-dir", folder)
    assert code == 0, error
    make_odd(folder / "out" / "_aerolog_manifest.json", kind)
    code, error = said(*(word.replace("{}", str(folder)) for word in command.split(" ")))
    assert code == 1, error
    assert "no regular file" in " ".join(error.split()), error


@pytest.mark.parametrize(
    ("name", "leads_to", "command"),
    [
        ("aerolog-catalog.db", "none.db", "catalog sync"),
        ("aerolog/retention", "", "retention apply --everything --max-size 1m --yes"),
        ("aerolog/retention", "none", "retention hold 1 --reason x"),
        ("aerolog/times", "", "recordings times 1 --rebuild"),
        ("aerolog/health", "", "verify --note"),
        ("aerolog", "", "retention apply --everything --max-size 1m --yes"),
    ],
)
def test_a_link_makes_no_file_elsewhere(
    folder: Path, tmp_path: Path, name: str, leads_to: str, command: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.rmtree(folder / name, ignore_errors=True)
    (folder / name).unlink(missing_ok=True)
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).symlink_to(elsewhere / leads_to)
    code, error = said(*command.split(" "), "--archive-dir", folder)
    assert "is a link" in " ".join(error.split()), (code, error)
    assert list(elsewhere.iterdir()) == []
