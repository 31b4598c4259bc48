"""``aerolog export``: layouts, decoders, checks, exit codes."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from aerolog.testing.recordings import RecordingBuilder
from aerolog.tools.main import main

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def archive(empty_archive: Path) -> Path:
    for text in (b"good", b"\xff\xfe"):
        builder = RecordingBuilder()
        for index in range(1500):
            builder.add(text * (index % 90))
        builder.write(empty_archive)
    return empty_archive


def run(capfd: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, Any, str]:
    code = main(["export", *map(str, arguments), "--json"])
    out, err = capfd.readouterr()
    return code, json.loads(out) if out else None, err


def test_all_recordings_go_to_folders_and_a_check_says_so(
    archive: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "out"
    to = ("--to", target, "--archive-dir", archive)
    layout = ("--partition-by", "recording_id,date", "--file-size", "64k", "--time-source", "none")
    code, results, err = run(capfd, "--all", *to, *layout)
    assert (code, err) == (0, "")
    assert [one["rows"] for one in results] == [1500, 1500]
    assert results[0]["files"] == len(list((target / "recording_id=0").rglob("*.parquet"))) > 1
    code, report, _ = run(capfd, "--to", target, "--check")
    assert (code, report["rows"], report["problems"]) == (0, 3000, [])
    next(target.rglob("*.parquet")).write_bytes(b"")
    code, report, _ = run(capfd, "--to", target, "--check")
    assert code == 1
    assert len(report["problems"]) == 1
    assert main(["export", "--to", str(target), "--check"]) == 1
    out = capfd.readouterr().out
    assert "0 bytes" in out
    assert "not sound" in out


def test_rows_without_times_are_told_once(
    archive: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, _, err = run(capfd, "1", "--to", tmp_path / "out", "--archive-dir", archive)
    assert code == 0
    assert [line.partition(":")[0] for line in err.splitlines()] == ["warning"]
    assert f"recordings of {archive} have no time index: " in err


def test_decoded_columns_and_rejects(
    archive: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, results, err = run(
        capfd, 1, "--to", tmp_path / "out", "--archive-dir", archive, "--decoder", "text"
    )
    assert code == 0
    assert results[0]["rejected"] > 1400
    assert "recording 1: " in err
    assert "rejects/" in err


def test_damage_is_told_with_recording_and_position_and_the_exit_code_is_1(
    archive: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (archive / "0-65536.rec").unlink()
    target = tmp_path / "out"
    code, results, err = run(
        capfd, 0, 1, "--to", target, "--archive-dir", archive, "--partition-by", "recording_id"
    )
    assert code == 1
    assert results[0]["until_position"] <= 65536
    assert f"exported up to position {results[0]['until_position']} only" in err
    assert "0-65536.rec" in err
    assert results[1]["rows"] == 1500


@pytest.mark.parametrize("layout", [[], ["--partition-by", "recording_id"]])
@pytest.mark.parametrize("decoder", [[], ["--decoder", "raw"]])
def test_what_is_behind_damage_is_exported_with_a_word(
    archive: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    layout: list[str],
    decoder: list[str],
) -> None:
    (archive / "0-65536.rec").unlink()
    target = tmp_path / "out"
    arguments = (0, "--to", target, "--archive-dir", archive, *layout, *decoder)
    code, (stopped,), _ = run(capfd, *arguments)
    assert code == 1
    code, report, _ = run(capfd, "--to", target, "--check")
    assert (code, report["problems"]) == (1, [])
    (missing,) = report["missing"]
    assert (missing["recording_id"], missing["until_position"]) == (0, None)
    assert "0-65536.rec" in missing["reason"]
    assert main(["export", "--to", str(target), "--check"]) == 1
    out = capfd.readouterr().out
    assert "bytes: sound, incomplete" in out
    assert f"recording 0 lacks the rows from position {missing['from_position']} to its end" in out

    code, (result,), err = run(capfd, *arguments, "--skip-damage")
    assert code == 0
    assert result["damage"] is None
    assert [(gap["from_position"], gap["until_position"]) for gap in result["gaps"]] == [
        (65536, 131072)
    ]
    assert result["rejected"] == 0
    assert "recording 0: positions 65536 to 131072 are damaged and were skipped" in err
    table = "rejects" if decoder else "_rejects"
    (rejects,) = [
        row
        for path in (target / table).rglob("*.parquet")
        for row in pq.read_table(path).to_pylist()
    ]
    assert rejects["position"] == 65536
    assert rejects["reason"].startswith("positions 65536 to 131072 cannot be read: ")
    assert "0-65536.rec" in rejects["reason"]
    rows = (stopped["rows"] if layout else 0) + result["rows"]
    assert stopped["rows"] < rows < 1500

    code, (again,), _ = run(capfd, *arguments, "--skip-damage")
    assert (code, again["rows"]) == (0, 0 if layout else rows)
    code, report, _ = run(capfd, "--to", target, "--check")
    assert (code, report["rows"], report["problems"]) == (1, rows, [])
    assert [(one["from_position"], one["until_position"]) for one in report["missing"]] == [
        (65536, 131072)
    ]


def test_an_archive_does_not_replay_what_is_behind_damage(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", "0", "--to", str(tmp_path / "out"), "--skip-damage"]) == 2
    assert "--skip-damage needs --archive-dir" in capfd.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["0", "--all"],
        ["0", "--decoder-option", "a=b"],
        ["0", "--decoder", "text", "--decoder-option", "ab"],
        ["0", "--compression", "zstd:high"],
        ["0", "--compression", "zstd:99"],
        ["0", "--compression", "snappy:1"],
        ["0", "--format", "csv"],
        ["0", "--file-size", "big"],
        ["--search", "stream=1"],
    ],
)
def test_wrong_usage_is_told(
    archive: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    place = [] if "--search" in arguments else ["--archive-dir", str(archive)]
    assert main(["export", *arguments, "--to", str(tmp_path / "out"), *place]) == 2
    assert "Error" in capfd.readouterr().err
    assert not (tmp_path / "out").exists()


def test_what_cannot_be_is_told_without_a_traceback(
    archive: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    to = ["--to", str(tmp_path / "out"), "--archive-dir", str(archive)]
    for arguments, told in (
        (["0", "--partition-by", "hour,recording_id"], "hour"),
        (["0", "--decoder", "morse"], "morse"),
        (["9"], "unknown recording id: 9"),
    ):
        assert main(["export", *arguments, *to]) == 1
        assert told in capfd.readouterr().err
    assert main(["export", "--to", str(tmp_path / "nothing"), "--check"]) == 1
    assert "_aerolog_manifest.json" in capfd.readouterr().err


def test_an_unknown_compression_is_told_with_the_codecs(
    archive: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    to = ["--to", str(tmp_path / "out"), "--archive-dir", str(archive)]
    assert main(["export", "0", *to, "--compression", "foo"]) == 2
    err = " ".join(capfd.readouterr().err.replace("\u2502", " ").split())
    assert "no compression 'foo'; there are zstd, snappy, gzip, brotli, lz4, none" in err
    for codec in ("zstd:9", "snappy", "gzip:9", "brotli:4", "lz4", "none"):
        target = tmp_path / codec
        arguments = ["export", "0", "--to", str(target), "--archive-dir", str(archive)]
        assert main([*arguments, "--compression", codec]) == 0
    capfd.readouterr()


@pytest.mark.parametrize(
    ("place", "kind"), [("parquet", "a format, which --format names"), ("a.parquet", "a file")]
)
def test_a_place_that_looks_like_something_else_is_asked_about(
    archive: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    place: str,
    kind: str,
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.chdir(tmp_path)
    arguments = ["export", "0", "--to", place, "--archive-dir", str(archive)]
    told = f"--to {place} looks like {kind}, and is a place: the files go to a new folder {place}"
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    assert main(arguments) == 1
    assert told in " ".join(capfd.readouterr().err.split())
    assert not (tmp_path / place).exists()
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert main(arguments) == 0
    assert told in " ".join(capfd.readouterr().err.split())
    assert (tmp_path / place / "recording-0.parquet").exists()
    monkeypatch.setattr("sys.stdin", Terminal(""))
    assert main(arguments) == 0
    assert "looks like" not in capfd.readouterr().err


def test_an_id_that_is_not_there_is_an_error_in_a_search_too(
    archive: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["catalog", "sync", "--archive-dir", str(archive)]) == 0
    to = ["--to", str(tmp_path / "out"), "--archive-dir", str(archive)]
    for wanted in (["0", "99"], ["--search", "id=99"]):
        assert main(["export", *wanted, *to]) == 1
        assert "unknown recording id: 99" in capfd.readouterr().err
        assert not (tmp_path / "out").exists()
    assert main(["export", "--search", "id=1", *to]) == 0
