"""The command: what it prints, its exit codes, and what it does with bad input."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aerolog.testing.recordings import RecordingBuilder
from aerolog.tools.doctor.check_groups import all_kinds
from aerolog.tools.main import main
from aerolog.transport.concurrent.clock import SystemClock

from .driver_files import DriverFiles

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def files(tmp_path):
    return DriverFiles(tmp_path / "aeron")


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "archive"
    made.mkdir()
    builder = RecordingBuilder()
    for n in range(200):
        builder.add(bytes([n]) * 1000)
    builder.write(made)
    return made


@pytest.fixture
def doctor(capsys):
    """Runs the command; its exit code and what it printed."""

    def run(*arguments: object) -> tuple[int, str, str]:
        code = main(["doctor", "--interval", "0", *map(str, arguments)])
        out, err = capsys.readouterr()
        return code, out, err

    return run


def notices(*extra: str) -> list[str]:
    """Options that leave out what depends on where the tests lie."""
    return [part for code in ("driver-not-in-memory", *extra) for part in ("--ignore", code)]


def test_a_healthy_driver_ends_with_0_and_one_line(doctor, files):
    code, out, err = doctor("--aeron-dir", files.folder, *notices())
    assert (code, err) == (0, "")
    heading, _, summary = out.splitlines()
    assert heading.startswith(f"driver {files.folder}, process {os.getpid()}, alive")
    assert summary.startswith("nothing is wrong; 0 counters, 0 streams; one look")


def test_warnings_end_with_3_and_critical_ones_with_4(doctor, files):
    files.beat(age_ms=5_000)
    assert doctor("--aeron-dir", files.folder, *notices())[0] == 3
    files.beat(age_ms=50_000)
    code, out, _ = doctor("--aeron-dir", files.folder, *notices())
    assert code == 4
    assert "CRITICAL  driver-stuck" in out
    assert "  why: " in out
    assert "  do: " in out


@pytest.mark.parametrize(
    ("fail_on", "code"), [("notice", 3), ("warning", 3), ("critical", 0), ("never", 0)]
)
def test_the_exit_code_heeds_what_is_bad_enough(doctor, files, fail_on, code):
    files.beat(age_ms=5_000)
    assert doctor("--aeron-dir", files.folder, "--fail-on", fail_on)[0] == code


def test_what_is_ignored_does_not_count(doctor, files):
    files.beat(age_ms=5_000)
    code, out, _ = doctor("--aeron-dir", files.folder, *notices("driver-late"))
    assert code == 0
    assert "driver-late" not in out


def test_a_finding_that_does_not_exist_cannot_be_ignored(doctor, files):
    code, _, err = doctor("--aeron-dir", files.folder, "--ignore", "driver-lat")
    assert code == 2
    assert "no finding is called driver-lat" in err


def test_json_is_one_document_with_everything(doctor, files, folder):
    (folder / "0-65536.rec").unlink()
    code, out, _ = doctor("--aeron-dir", files.folder, "--archive-dir", folder, "--json")
    report = json.loads(out)
    assert code == 4
    assert report["status"] == "critical"
    assert report["counts"]["critical"] == 1
    first = report["findings"][0]
    assert (first["code"], first["subject"]) == ("segment-missing", "recording 0")
    assert first["figures"]["first"] == 65_536
    assert report["looked_at"]["driver"]["alive"] is True
    assert report["looked_at"]["archive"]["recordings"] == 1
    assert report["looked_at"]["archive"]["bytes_read"] > 0


def test_two_looks_are_told_with_their_interval(capsys, files):
    main(["doctor", "--aeron-dir", str(files.folder), "--interval", "20ms", "--json"])
    assert json.loads(capsys.readouterr().out)["looked_at"]["interval_s"] >= 0.02


def test_watching_prints_a_report_a_round(doctor, files):
    code, out, _ = doctor(
        "--aeron-dir", files.folder, "--watch", "--rounds", 3, "--interval", "10ms", "--json"
    )
    reports = [json.loads(line) for line in out.splitlines()]
    assert len(reports) == 3
    assert code == 0


def test_a_driver_that_goes_and_comes_while_it_is_watched(monkeypatch, capsys, tmp_path, files):
    gone, sleeps = tmp_path / "gone", []

    def pass_time(_seconds):
        sleeps.append(len(sleeps))
        if len(sleeps) == 1:
            files.folder.rename(gone)
        else:
            gone.rename(files.folder)

    monkeypatch.setattr("time.sleep", pass_time)
    options = ["--interval", "0", "--watch", "--rounds", "3", "--json", *notices()]
    main(["doctor", "--aeron-dir", str(files.folder), *options])
    reports = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [[one["code"] for one in report["findings"]] for report in reports] == [
        [],
        ["driver-unreadable"],
        [],
    ]


def test_control_characters_of_others_do_not_reach_the_terminal(doctor, files):
    files.cnc.error_log(SystemClock()).record("\x1b[2Jgot you")
    _, out, _ = doctor("--aeron-dir", files.folder)
    assert "got you" in out
    assert "\x1b" not in out


def test_a_watch_ends_when_it_is_interrupted(files):
    command = [sys.executable, "-m", "aerolog.tools.main", "doctor", "--watch", "--interval"]
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        watching = subprocess.Popen(
            [*command, "50ms", "--aeron-dir", str(files.folder)], stdout=subprocess.PIPE, text=True
        )
        with watching:
            assert watching.stdout is not None
            assert watching.stdout.readline().startswith("driver ")
            watching.send_signal(number)
            watching.stdout.read()
        assert watching.returncode == code


def test_a_deep_look_reads_all_segments(doctor, folder):
    _, out, _ = doctor("--archive-dir", folder, "--deep", "--json")
    seen = json.loads(out)["looked_at"]["archive"]
    assert seen["deep"] is True
    assert seen["bytes_read"] > 3 * 65_536


def test_the_list_says_all_that_can_be_found(doctor):
    _, out, _ = doctor("--list", "--json")
    assert [one["code"] for one in json.loads(out)] == [kind.code for kind in all_kinds()]
    _, out, _ = doctor("--list")
    assert all(kind.code in out for kind in all_kinds())


def test_nothing_there_is_a_line_and_exit_code_1(doctor, tmp_path):
    (tmp_path / "empty").mkdir()
    for option in ("--aeron-dir", "--archive-dir"):
        for path in (tmp_path / "none", tmp_path / "empty"):
            code, out, err = doctor(option, path)
            assert (code, out) == (1, "")
            assert err.startswith(f"aerolog: {path}")
            assert err.count("\n") == 1


def test_a_version_that_nobody_knows_is_a_line(doctor, files):
    cnc = files.folder / "cnc.dat"
    data = bytearray(cnc.read_bytes())
    data[2] = 9
    cnc.write_bytes(data)
    code, _, err = doctor("--aeron-dir", files.folder)
    assert code == 1
    assert "version 9." in err
    assert err.count("\n") == 1


def test_a_folder_in_place_of_a_file_is_a_line(doctor, folder, tmp_path):
    (tmp_path / "odd" / "cnc.dat").mkdir(parents=True)
    code, _, err = doctor("--aeron-dir", tmp_path / "odd")
    assert (code, err.count("\n")) == (1, 1)
    (folder / "archive.catalog").unlink()
    (folder / "archive.catalog").mkdir()
    code, _, err = doctor("--archive-dir", folder)
    assert (code, err.count("\n")) == (1, 1)


def test_a_driver_beside_a_broken_archive_is_still_looked_at(doctor, files, tmp_path):
    code, out, _ = doctor("--aeron-dir", files.folder, "--archive-dir", tmp_path / "none")
    assert code == 4
    assert "archive-unreadable" in out
    assert f"driver {files.folder}" in out


def snapshot(*folders: Path) -> dict[Path, bytes]:
    """All files below folders."""
    return {path: path.read_bytes() for one in folders for path in one.rglob("*") if path.is_file()}


def test_nothing_is_changed(doctor, files, folder):
    before = snapshot(files.folder, folder)
    doctor("--aeron-dir", files.folder, "--archive-dir", folder, "--deep")
    assert snapshot(files.folder, folder) == before


FUZZ = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@FUZZ
@given(at=st.integers(0, 130_000), data=st.binary(min_size=1, max_size=64), cut=st.booleans())
def test_garbage_in_cnc_dat_is_survived(doctor, tmp_path_factory, at, data, cut):
    files = DriverFiles(tmp_path_factory.mktemp("fuzz") / "aeron")
    log = files.publication(position=8192, read=4096, committed=8192)
    for path in (files.folder / "cnc.dat", log):
        content = bytearray(path.read_bytes())
        start = at % len(content)
        content[start : start + len(data)] = data
        path.write_bytes(content[:at] if cut else content)
    code, _, err = doctor("--aeron-dir", files.folder)
    assert code in {0, 1, 3, 4}
    assert "Traceback" not in err


@FUZZ
@given(
    name=st.sampled_from(["archive.catalog", "0-0.rec", "0-65536.rec", "0-196608.rec"]),
    at=st.integers(0, 65_535),
    data=st.binary(min_size=1, max_size=64),
    cut=st.booleans(),
)
def test_garbage_in_an_archive_is_survived(doctor, tmp_path_factory, name, at, data, cut):
    folder = tmp_path_factory.mktemp("fuzz")
    builder = RecordingBuilder()
    for n in range(200):
        builder.add(bytes([n]) * 1000)
    builder.write(folder)
    builder.write(folder, stopped=False)
    path = folder / name
    content = bytearray(path.read_bytes())
    start = at % len(content)
    content[start : start + len(data)] = data
    path.write_bytes(content[:start] if cut else content)
    code, _, err = doctor("--archive-dir", folder, "--deep")
    assert code in {0, 1, 3, 4}
    assert "Traceback" not in err
