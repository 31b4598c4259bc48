"""The read-only forms on the folder that the reference's archive wrote."""

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from golden_data import GOLDEN_ARCHIVE, copy_archive, manifest
from pyarrow import parquet

from aerolog.archive.format.catalog_map import FIELD, CatalogReader
from aerolog.tools.main import main

VALID = [one for one in manifest()["recordings"] if one["state"] == "VALID"]
each_recording = pytest.mark.parametrize("one", VALID, ids=lambda one: str(one["recordingId"]))


def run(capfd: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main([*map(str, arguments), "--archive-dir", str(GOLDEN_ARCHIVE)]) == 0
    return capfd.readouterr().out


def test_the_valid_recordings_are_listed(capfd: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(run(capfd, "recordings", "list", "--json"))

    assert [row["recording_id"] for row in rows] == [one["recordingId"] for one in VALID]
    assert [row["position"] for row in rows] == [one["content"]["endPosition"] for one in VALID]
    assert not any(row["active"] for row in rows)


def test_recordings_of_an_archive_that_was_killed_are_unfinished(
    capfd: pytest.CaptureFixture[str],
) -> None:
    rows = json.loads(run(capfd, "recordings", "list", "--json"))
    assert [row["recording_id"] for row in rows if row["unfinished"]] == [13, 14]
    table = run(capfd, "recordings", "list").splitlines()
    at = table[0].split().index("active")
    shown = {int(line.split()[0]): line.split()[at] for line in table[1:]}
    assert {recording_id for recording_id, text in shown.items() if text == "unfinished"} == {
        13,
        14,
    }
    assert set(shown.values()) == {"no", "unfinished"}
    fields = run(capfd, "recordings", "describe", "13")
    assert re.search(r"^active +unfinished *$", fields, re.MULTILINE)


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_damaged_recording_is_named_and_the_others_are_listed(
    form: list[str], capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = copy_archive(tmp_path / "archive")
    damaged, *others = [one["recordingId"] for one in VALID]
    with CatalogReader.open(folder) as catalog:
        at = catalog.entry(damaged).offset + FIELD["segment_file_length"]
    with (folder / "archive.catalog").open("r+b") as file:
        file.seek(at)
        file.write((12345).to_bytes(4, "little"))

    assert main(["recordings", "list", *form, "--archive-dir", str(folder)]) == 1
    out, err = capfd.readouterr()
    assert f"recording {damaged} is damaged: " in err
    assert "12345" in err
    if form:
        assert [row["recording_id"] for row in json.loads(out)] == others
    else:
        assert [int(line.split()[0]) for line in out.splitlines()[1:]] == others
    # What is not asked for is not complained about.
    last = ["recordings", "list", "--from", str(others[-1])]
    assert main([*last, "--archive-dir", str(folder)]) == 0
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("name", "value", "damages"),
    [
        ("length", -5, 1),
        ("length", 0, 1),
        ("length", 7, 1),
        ("length", 1 << 30, 1),
        ("recording_id", 1 << 40, 1),
        ("recording_id", 0, 1),
    ],
)
def test_behind_an_entry_that_cannot_be_one_the_others_are_listed(
    name: str, value: int, damages: int, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = copy_archive(tmp_path / "archive")
    first, damaged, *others = [one["recordingId"] for one in VALID]
    with CatalogReader.open(folder) as catalog:
        at = catalog.entry(damaged).offset
    where = {"length": (at, 4), "recording_id": (at + FIELD["recording_id"], 8)}[name]
    with (folder / "archive.catalog").open("r+b") as file:
        file.seek(where[0])
        file.write(value.to_bytes(where[1], "little", signed=True))

    code = main(["recordings", "list", "--json", "--archive-dir", str(folder)])

    out, err = capfd.readouterr()
    assert code == 1
    assert [row["recording_id"] for row in json.loads(out)] == [first, *others]
    assert err.count("aerolog: the catalog is damaged: ") == damages
    assert f"at offset {at}" in err


def test_a_catalog_whose_header_is_damaged_is_an_error(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = copy_archive(tmp_path / "archive")
    with (folder / "archive.catalog").open("r+b") as file:
        file.write(b"\xff" * 16)

    assert main(["recordings", "list", "--archive-dir", str(folder)]) == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("\n") == 1


@each_recording
def test_a_recording_is_described_as_its_descriptor_says(
    one: dict[str, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    row = json.loads(run(capfd, "recordings", "describe", one["recordingId"], "--json"))

    descriptor = one["descriptor"]
    assert row["original_channel"] == descriptor["originalChannel"]
    assert row["stripped_channel"] == descriptor["strippedChannel"]
    assert row["source_identity"] == descriptor["sourceIdentity"]
    for name, key in (
        ("session_id", "sessionId"),
        ("stream_id", "streamId"),
        ("start_timestamp", "startTimestamp"),
        ("start_position", "startPosition"),
        ("initial_term_id", "initialTermId"),
        ("segment_file_length", "segmentFileLength"),
        ("term_buffer_length", "termBufferLength"),
        ("mtu_length", "mtuLength"),
    ):
        assert row[name] == descriptor[key]
    unfinished = descriptor["stopPosition"] == -1
    assert (row["stop_position"] is None) is unfinished
    assert (row["stop_timestamp"] is None) is unfinished


@each_recording
def test_a_raw_replay_is_every_payload_byte(
    one: dict[str, Any], capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    arguments = ["replay", str(one["recordingId"]), "--format", "raw"]

    assert main([*arguments, "--archive-dir", str(GOLDEN_ARCHIVE)]) == 0

    payloads = capfdbinary.readouterr().out
    assert hashlib.sha256(payloads).hexdigest() == one["content"]["sha256"]


@each_recording
def test_a_replay_gives_every_whole_message(
    one: dict[str, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    rows = run(capfd, "replay", one["recordingId"], "--json").splitlines()

    content = one["content"]
    assert len(rows) == content["messages"]
    if rows:
        last = json.loads(rows[-1])
        assert last["position"] <= content["endPosition"]
        assert last["session_id"] == one["descriptor"]["sessionId"]


def test_an_export_has_as_many_rows_and_bytes_as_there_are_messages(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    ids = [one["recordingId"] for one in VALID]

    results = json.loads(run(capfd, "export", *ids, "--to", tmp_path, "--json"))

    for one, result in zip(VALID, results, strict=True):
        content = one["content"]
        assert (result["rows"], result["payload_bytes"]) == (
            content["messages"],
            content["payloadBytes"],
        )
        assert parquet.read_table(result["path"]).num_rows == content["messages"]


@pytest.mark.parametrize("name", ["parqu\u00e9t", os.fsdecode(b"not-utf-8-\xff")])
def test_a_folder_that_the_terminal_cannot_show_is_written_all_the_same(
    tmp_path: Path, name: str
) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "aerolog.tools.main", "export", "0", "--to", tmp_path / name,
         "--archive-dir", GOLDEN_ARCHIVE, "--time-source", "none"],
        capture_output=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )  # fmt: skip

    assert (ran.returncode, ran.stderr) == (0, b"")
    assert (tmp_path / name / "recording-0.parquet").exists()


def test_reading_changes_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    def state() -> dict[str, tuple[int, str]]:
        return {
            path.name: (path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest())
            for path in GOLDEN_ARCHIVE.iterdir()
        }

    before = state()
    run(capfd, "recordings", "list")
    for one in VALID:
        run(capfd, "replay", one["recordingId"], "--format", "hex")

    assert state() == before
