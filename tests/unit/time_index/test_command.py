"""``aerolog recordings times`` on a folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from aerolog.archive.time_index import index_path
from aerolog.testing.recordings import RecordingBuilder, write_time_index
from aerolog.tools.recordings.recordings_commands import app

T0 = 1_700_000_000_000_000_000
S = 1_000_000_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    builder = RecordingBuilder()
    for _ in range(10):
        builder.add(bytes(96))
    builder.write(tmp_path)
    write_time_index(tmp_path, 0, [(T0 + second * S, second * 128) for second in range(10)])
    return tmp_path


def run(folder: Path, *args: str) -> tuple[int, dict[str, object], str]:
    found = CliRunner().invoke(
        app, ["times", "0", "--archive-dir", str(folder), "--json", *args], catch_exceptions=False
    )
    return found.exit_code, json.loads(found.stdout), found.stderr


def test_what_an_index_knows(folder) -> None:
    code, values, errors = run(folder, "--at", str(T0 + 3 * S + 1))
    assert (code, errors) == (0, "")
    assert values == {
        "recording_id": 0,
        "source": "clock",
        "is_rebuilt": False,
        "entries": 10,
        "size_bytes": 8192,
        "first_time": "2023-11-14T22:13:20Z",
        "last_time": "2023-11-14T22:13:29Z",
        "last_position": 1152,
        "clock_steps_back": 0,
        "at": "2023-11-14T22:13:23.000000001Z",
        "from_position": 384,
        "until_position": 512,
        "problems": [],
    }


def test_a_damaged_index_is_said_to_be_one_and_can_be_rebuilt(folder) -> None:
    path = Path(index_path(folder, 0))
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    code, values, errors = run(folder)
    assert code == 1
    assert errors == "aerolog: damaged blocks of entries: 0\n"
    assert values["problems"] == ["damaged blocks of entries: 0"]
    code, values, errors = run(folder, "--rebuild")
    assert (code, errors, values["is_rebuilt"], values["entries"]) == (0, "", True, 3)
