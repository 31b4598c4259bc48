"""The archive tool's JSON, and its lines where no test compares them with the reference's."""

from __future__ import annotations

import io
import json
import os
from typing import TYPE_CHECKING

import pytest
from archive_tool_runs import file_states
from damaged_archives import CATALOG_DAMAGES, MARK_DAMAGES, put
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aerolog.archive.format.catalog_file import CatalogFile
from aerolog.archive.protocol.enums import RecordingState
from aerolog.testing.recordings import RecordingBuilder
from aerolog.tools.main import main

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]):
    def run(*arguments: object) -> tuple[int, str, str]:
        code = main(["archive-tool", *map(str, arguments)])
        out, err = capsys.readouterr()
        return code, out, err

    return run


def test_describe_as_json_has_every_field(run, folder: Path) -> None:
    code, out, _ = run(folder, "describe-all", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["mark"]["pid"] == 4242
    assert found["catalog"]["valid"] == 16
    assert [one["stream_id"] for one in found["recordings"]] == list(range(100, 116))
    assert found["recordings"][15]["stop_position"] is None
    assert found["recordings"][2]["length"] == 32 + 64


def test_one_recording_is_described_whatever_its_state(run, folder: Path) -> None:
    with CatalogFile.open(folder) as catalog:
        catalog.change_state(3, RecordingState.DELETED)
    assert json.loads(run(folder, "describe", 3, "--json")[1])["state"] == "deleted"
    valid = json.loads(run(folder, "describe", "--json")[1])["recordings"]
    assert [one["recording_id"] for one in valid] == [0, 1, 2, *range(4, 16)]


@pytest.mark.parametrize("form", [(), ("--json",), ("--classic",)], ids=str)
def test_errors_are_the_references(
    run, tmp_path: Path, folder: Path, form: tuple[str, ...]
) -> None:
    code, out, err = run(*form, folder, "describe", 99)
    assert (code, out) == (1, "")
    assert err == (
        'Exception in thread "main" io.aeron.exceptions.AeronException: ERROR - no recording found'
        " with recordingId: 99\n"
    )
    code, out, err = run(*form, folder, "pid", "x")
    assert (code, err) == (255, "ERR: Invalid command\n")
    assert ("\n  describe-all: " in out) == ("--json" not in form)
    assert run(*form)[0] == 255
    code, _, err = run(*form, tmp_path / "no", "describe")
    assert (code, err) == (255, f"ERR: Archive folder not found: {tmp_path / 'no'}\n")


@pytest.mark.parametrize("option", ["--dry-run", "--yes"])
@pytest.mark.parametrize("tool", ["archive-tool", "cluster-tool"])
def test_an_option_of_other_commands_changes_nothing(
    folder: Path, tool: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = file_states(folder)
    for command in ("delete-orphaned-segments", "sort-recording-log", "abort"):
        assert main([tool, str(folder), command, option]) == 2
        assert f"the reference's tool has no {option}" in capsys.readouterr().err
    assert file_states(folder) == before


def test_counts_and_pid(run, folder: Path) -> None:
    assert run(folder, "count-entries") == run("--classic", folder, "count-entries")
    assert run(folder, "count-entries") == (0, "16\n", "")
    assert json.loads(run(folder, "count-entries", "--json")[1]) == {"valid": 16}
    assert run(folder, "pid") == (0, "4242\n", "")
    assert json.loads(run(folder, "pid", "--json")[1]) == {"pid": 4242, "active": False}
    assert "deprecated" in run(folder, "max-entries")[1]


def test_errors_of_an_archive_whose_driver_is_gone(run, folder: Path) -> None:
    assert "missing file for cnc" in run(folder, "errors")[2]
    code, out, _ = run(folder, "errors", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["archive"] == found["driver"] == []
    assert "missing file for cnc" in found["driver_problem"]


@pytest.mark.parametrize("command", ["compact", "delete-orphaned-segments", "migrate"])
def test_with_json_a_question_goes_to_standard_error(
    run, folder: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = file_states(folder)
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    code, out, err = run(folder, command, "--json")
    assert (code, out) == (0, "")
    assert "WARNING: " in err
    assert err.count("Continue? (y/n)") == 1
    assert file_states(folder) == before
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    code, out, _ = run(folder, command, "--json")
    assert code == 0
    assert json.loads(out)


def test_what_a_change_has_done_is_told_as_json(run, folder: Path) -> None:
    marked = json.loads(run(folder, "mark-invalid", 3, "--json")[1])
    assert marked == {
        "recording_id": 3,
        "before": "VALID",
        "after": "INVALID",
        "changed": True,
    }
    stored = json.loads(run(folder, "checksum", "CRC-32C", "-a", "--json")[1])
    assert (stored["recordings"], stored["problems"]) == (list(range(16)), [])
    code, out, _ = run(folder, "verify", "-a", "--json")
    rows = {row["recording_id"]: row for row in json.loads(out)}
    assert code == 0
    assert (rows[3]["state"], rows[15]["stop_position"] is None) == ("VALID", False)


def test_dump_shows_the_frames_of_each_recording(run, folder: Path) -> None:
    code, out, _ = run(folder, "dump", "--json")
    found = json.loads(out)["recordings"]
    assert code == 0
    assert [len(one["frames"]) for one in found[:4]] == [0, 1, 2, 5]
    assert [one["part"] for one in found[3]["frames"]] == [
        "whole",
        "whole",
        "first",
        "middle",
        "last",
    ]
    assert bytes.fromhex(found[2]["frames"][1]["payload"]) == b"x" * 16
    assert found[15]["frames"] == found[3]["frames"][:0] + found[15]["frames"]
    limited = json.loads(run(folder, "dump", 1, "--json")[1])["recordings"]
    assert [len(one["frames"]) for one in limited[:4]] == [0, 1, 1, 1]


def test_dump_says_where_a_segment_is_damaged_and_goes_on(run, folder: Path) -> None:
    put("2-0.rec", "i", 32, 1 << 30)(folder)
    (folder / "3-0.rec").unlink()
    code, out, _ = run(folder, "dump", "--json")
    found = json.loads(out)["recordings"]
    assert code == 1
    assert "passes its term" in found[2]["problem"]
    assert "3-0.rec" in found[3]["problem"]
    assert len(found) == 16


@pytest.mark.parametrize(
    "command", ["describe-all", "describe-all --json", "count-entries", "dump --json"]
)
@pytest.mark.parametrize("damage", CATALOG_DAMAGES, ids=str)
def test_a_damaged_catalog_gives_one_line_and_no_change(
    run, folder: Path, damage: str, command: str
) -> None:
    CATALOG_DAMAGES[damage](folder)
    before = file_states(folder)
    code, _, err = run(folder, *command.split())
    assert file_states(folder) == before
    assert err.count("\n") == (code != 0)
    if damage in {"missing", "empty", "garbage", "other version", "cut inside an entry"}:
        assert code == 1
        assert ": " in err


@pytest.mark.parametrize("command", ["pid", "errors --json"])
@pytest.mark.parametrize("damage", MARK_DAMAGES, ids=str)
def test_a_damaged_mark_file_gives_one_line_and_no_change(
    run, folder: Path, damage: str, command: str
) -> None:
    MARK_DAMAGES[damage](folder)
    before = file_states(folder)
    code, _, err = run(folder, *command.split())
    assert file_states(folder) == before
    assert err.count("\n") == (code != 0)
    served = {"ended in good order", "header length not told"}
    if command == "pid":
        served.add("string of half a gigabyte")  # no string is read
    assert (code == 0) == (damage in served)


def test_a_recording_that_starts_inside_a_term_is_dumped_from_there(run, tmp_path: Path) -> None:
    builder = RecordingBuilder(start_position=70_016)
    builder.add(b"first")
    builder.write(tmp_path)
    (frame,) = json.loads(run(tmp_path, "dump", "--json")[1])["recordings"][0]["frames"]
    assert (frame["position"], frame["term_offset"]) == (70_016, 70_016 - 65_536)


@given(st.data())
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_bytes_give_one_line_at_most(run, folder: Path, data: st.DataObject) -> None:
    path = folder / data.draw(st.sampled_from(["archive.catalog", "archive-mark.dat", "3-0.rec"]))
    sound = path.read_bytes()
    content = bytearray(sound)
    for _ in range(data.draw(st.integers(1, 6))):
        content[data.draw(st.integers(0, 2000))] = data.draw(st.integers(0, 255))
    del content[data.draw(st.integers(0, 4000) | st.just(len(content))) :]
    path.write_bytes(content)
    try:
        before = file_states(folder)
        for command in ("describe-all", "describe", "dump 3", "count-entries", "pid", "errors"):
            code, _, err = run(folder, *command.split(), "--json")
            assert code in (0, 1)
            assert err.count("\n") == (code if "dump" not in command else err.count("\n") and 1)
        assert file_states(folder) == before
    finally:
        path.write_bytes(sound)


def test_a_catalog_that_is_a_folder_is_no_catalog(run, folder: Path) -> None:
    (folder / "archive.catalog").unlink()
    (folder / "archive.catalog").mkdir()
    code, out, err = run(folder, "describe")
    assert (code, out) == (1, "")
    assert "java.io.IOException: No such device" in err


@pytest.mark.parametrize(
    ("name", "command"), [("archive.catalog", "describe"), ("archive-mark.dat", "pid")]
)
def test_a_pipe_is_not_waited_for(run, folder: Path, name: str, command: str) -> None:
    (folder / name).unlink()
    os.mkfifo(folder / name)
    code, out, err = run(folder, command)
    assert (code, out) == (1, "")
    assert err.count("\n") == 1
