"""The command lines on docs/tools/doctor.md do what the page says."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from aerolog.cluster.files import NodeStateFile, RecordingLog
from aerolog.testing.recordings import RecordingBuilder
from aerolog.tools.doctor.findings import Area
from aerolog.tools.main import main

from .driver_files import DriverFiles

PAGE = Path(__file__).resolve().parents[3] / "docs" / "tools" / "doctor.md"
LINES = [
    line.partition("#")[0].strip()
    for block in re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
]


@pytest.mark.parametrize("line", LINES)
def test_a_command_line_runs(line, tmp_path, monkeypatch, capsys):
    driver = DriverFiles(tmp_path / "aeron")
    monkeypatch.setenv("AERON_DIR", str(driver.folder))
    archive = tmp_path / "archive"
    archive.mkdir()
    builder = RecordingBuilder()
    builder.add(b"message")
    builder.write(archive)
    cluster = tmp_path / "cluster"
    cluster.mkdir()
    NodeStateFile(cluster, create=True)
    RecordingLog(cluster, create=True).close()
    places = {
        "/dev/shm/aeron-feed": str(driver.folder),
        "/data/archive": str(archive),
        "/data/cluster": str(cluster),
    }
    arguments = [places.get(word, word) for word in shlex.split(line)]
    assert arguments.pop(0) == "aerolog"
    code = main([*arguments, "--interval", "0", "--ignore", "driver-not-in-memory"])
    out, err = capsys.readouterr()
    assert (code, err) in {(0, ""), (3, "")}
    if "--json" in arguments:
        assert set(json.loads(out)) == {"time_ms", "status", "counts", "findings", "looked_at"}


def test_the_page_names_every_area():
    text = PAGE.read_text()
    assert all(f"| {area.value} |" in text for area in Area)
