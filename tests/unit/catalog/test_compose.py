"""What docker-compose.yml runs, run here: the same commands, as local processes."""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

COMPOSE = Path(__file__).parents[3] / "docker-compose.yml"
TIMEOUT_S = 60


def commands() -> dict[str, list[str]]:
    """Commands by service; every one stands on a line of its own, as a list."""
    found, service = {}, ""
    for line in COMPOSE.read_text().splitlines():
        if match := re.fullmatch(r"  ([a-z-]+):", line):
            service = match[1]
        elif match := re.fullmatch(r"    command: (\[.*\])", line):
            found[service] = json.loads(match[1])
        elif match := re.fullmatch(r'      test: \["CMD", (.*)\]', line):
            found[f"{service} health"] = json.loads(f"[{match[1]}]")
    return found


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """Where the container's folders are here: data on disk, the driver in shared memory."""
    (tmp_path / "data").mkdir()
    shm = Path(tempfile.mkdtemp(prefix=f"aerolog-test-{os.getpid()}-", dir="/dev/shm"))
    (tmp_path / "shm").symlink_to(shm)
    yield tmp_path
    shutil.rmtree(shm)


def start(home: Path, service: str) -> subprocess.Popen[str]:
    name, *arguments = commands()[service]
    assert name == "aerolog"
    local = [argument.replace("/data", str(home / "data")) for argument in arguments]
    return subprocess.Popen(
        [sys.executable, "-m", "aerolog.tools.main", *local],
        env=os.environ | {"AERON_DIR": str(home / "shm" / "aeron")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> str:
    try:
        out, err = process.communicate(timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
    assert process.returncode == 0, out + err
    return out


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], TIMEOUT_S)
    return process.stdout.readline() if ready else ""


def test_every_service_has_a_command() -> None:
    assert list(commands()) == [
        "archiving-driver",
        "archiving-driver health",
        "record",
        "publish",
        "export",
    ]


def test_the_commands_record_and_export_a_stream(home: Path) -> None:
    driver = start(home, "archiving-driver")
    running = [driver]
    try:
        assert "ready" in first_line(driver)
        assert finish(start(home, "archiving-driver health"))
        record = start(home, "record")
        running.append(record)
        finish(start(home, "publish"))
        assert finish(record).split() == ["0"]
        finish(start(home, "export"))
        table = pq.read_table(home / "data" / "parquet" / "recording-0.parquet")
        assert table.num_rows == 10_000
        assert {len(payload) for payload in table["payload"].to_pylist()} == {256}
        driver.send_signal(signal.SIGTERM)
        finish(driver)
    finally:
        for process in running:
            if process.poll() is None:
                process.kill()
                process.wait()
