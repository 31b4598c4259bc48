"""The archive tool's own forms: tables and JSON."""

from __future__ import annotations

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


def test_describe_lists_valid_recordings_and_the_archive(run, folder: Path) -> None:
    with CatalogFile.open(folder) as catalog:
        catalog.change_state(3, RecordingState.INVALID)
    code, out, err = run(folder, "describe")
    assert (code, err) == (0, "")
    assert "not running" in out
    assert "ended in good order" in out
    assert "15 valid recordings" in out
    assert " 103 " not in out
    assert " 104 " in out


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
    assert "deleted" in run(folder, "describe", 3)[1]
    code, out, err = run(folder, "describe", 99)
    assert (code, out) == (1, "")
    assert "has no recording 99: describe-all lists" in err


def test_without_a_mark_file_describe_says_so_and_goes_on(run, folder: Path) -> None:
    (folder / "archive-mark.dat").unlink()
    code, out, _ = run(folder, "describe")
    assert code == 0
    assert "no archive has run in this folder" in out
    assert " 104 " in out


def test_counts_pid_and_capacity(run, folder: Path) -> None:
    before = (folder / "archive.catalog").stat().st_size
    assert run(folder, "count-entries")[1] == "16\n"
    assert json.loads(run(folder, "count-entries", "--json")[1]) == {"valid": 16}
    assert run(folder, "pid")[1] == "4242\n"
    assert json.loads(run(folder, "pid", "--json")[1]) == {"pid": 4242, "active": False}
    assert run(folder, "capacity")[1] == f"{before}\n"
    assert run(folder, "capacity", "64k", "--dry-run")[1] == f"{before} -> 65536\n"
    assert (folder / "archive.catalog").stat().st_size == before
    assert run(folder, "capacity", "64k")[1] == f"{before} -> 65536\n"
    assert (folder / "archive.catalog").stat().st_size == 65536
    assert run(folder, "capacity", "4k")[1] == "65536\n"
    assert run(folder, "count-entries")[1] == "16\n"
    assert "deprecated" in run(folder, "max-entries")[1]


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
    shown = run(folder, "dump", 1)[1]
    assert "Recording 0 (valid), stream 100" in shown
    assert "no frames" in shown
    assert "no stop position" in shown


def test_dump_says_where_a_segment_is_damaged_and_goes_on(run, folder: Path) -> None:
    put("2-0.rec", "i", 32, 1 << 30)(folder)
    (folder / "3-0.rec").unlink()
    code, out, _ = run(folder, "dump", "--json")
    found = json.loads(out)["recordings"]
    assert code == 1
    assert "passes its term" in found[2]["problem"]
    assert "3-0.rec" in found[3]["problem"]
    assert len(found) == 16
    code, out, _ = run(folder, "dump")
    assert code == 1
    assert out.count("damaged: ") == 2


def test_errors_of_an_archive_whose_driver_is_gone(run, folder: Path) -> None:
    code, out, _ = run(folder, "errors")
    assert code == 0
    assert "Archive: no distinct errors" in out
    assert "that driver is gone" in out
    found = json.loads(run(folder, "errors", "--json")[1])
    assert found["archive"] == found["driver"] == []
    assert "gone" in found["driver_problem"]


@pytest.mark.parametrize("command", ["describe-all", "count-entries", "capacity", "dump"])
@pytest.mark.parametrize("damage", CATALOG_DAMAGES, ids=str)
def test_a_damaged_catalog_gives_one_line_and_no_change(
    run, folder: Path, damage: str, command: str
) -> None:
    CATALOG_DAMAGES[damage](folder)
    before = file_states(folder)
    code, _, err = run(folder, command)
    assert file_states(folder) == before
    assert err.count("\n") == (code != 0)
    if damage in {"missing", "empty", "garbage", "other version", "cut inside an entry"}:
        assert code == 1
        assert ": " in err


@pytest.mark.parametrize("command", ["pid", "errors"])
@pytest.mark.parametrize("damage", MARK_DAMAGES, ids=str)
def test_a_damaged_mark_file_gives_one_line_and_no_change(
    run, folder: Path, damage: str, command: str
) -> None:
    MARK_DAMAGES[damage](folder)
    before = file_states(folder)
    code, _, err = run(folder, command)
    assert file_states(folder) == before
    assert err.count("\n") == (code != 0)
    assert (code == 0) == (damage in {"ended in good order", "header length not told"})


def test_what_is_no_folder_or_no_command(run, tmp_path: Path, folder: Path) -> None:
    assert run(tmp_path / "no", "describe")[0] == 1
    assert "no such folder" in run(tmp_path / "no", "describe")[2]
    assert "is no folder" in run(folder / "archive.catalog", "describe")[2]
    for arguments in ([], [folder], [folder, "nonsense"], [folder, "pid", "x"]):
        code, out, err = run(*arguments)
        assert (code, out) == (2, "")
        assert err
    assert run(folder, "describe", "x")[0] == 2
    assert run("--classic", "--json", folder, "describe")[0] == 2


def test_classic_exit_codes_reach_the_shell(run, folder: Path) -> None:
    assert run("--classic", folder, "pid") == (0, "4242\n", "")
    assert run("--classic", folder, "describe", 99)[0] == 1
    code, out, err = run("--classic", folder, "pid", "x")
    assert (code, err) == (255, "ERR: Invalid command\n")
    assert "\n  describe-all: " in out
    assert run("--classic")[0] == 255


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
    assert "archive.catalog cannot be read" in err


@pytest.mark.parametrize(
    ("name", "command"), [("archive.catalog", "describe"), ("archive-mark.dat", "pid")]
)
def test_a_pipe_is_not_waited_for(run, folder: Path, name: str, command: str) -> None:
    (folder / name).unlink()
    os.mkfifo(folder / name)
    code, out, err = run(folder, command)
    assert (code, out) == (1, "")
    assert f"{name} cannot be read: it is no regular file" in err
    assert run("--classic", folder, command)[0] == 1
