"""What docker-compose.yml runs, run here: the same commands, as local processes.

Those that need Spark, PostgreSQL and an S3 store are run by tests/spark/catalog_pipeline.
"""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import tomllib
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from compose import COMPOSE, commands, local
from shared_memory import memory_folder

from aerolog.catalog.export.pipeline.job import Job, load_job

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TIMEOUT_S = 30


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """Where the container's folders are here: data on disk, the driver in shared memory."""
    (tmp_path / "data").mkdir()
    with memory_folder() as shm:
        (tmp_path / "shm").symlink_to(shm)
        yield tmp_path


def start(home: Path, service: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        local(commands()[service], {"/data": str(home / "data")}),
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


def test_every_service_of_ours_has_a_command() -> None:
    ours = {name for name in commands() if not name.endswith(" health")}
    jobs = {"record", "publish", "export", "load", "status"}
    assert ours == {"archiving-driver", "spark-master", "spark-worker"} | jobs
    services = {name for name in ours if name not in jobs} | {"postgres", "s3"}
    assert {name for name in commands() if name.endswith(" health")} == {
        f"{name} health" for name in services
    }


def test_the_image_has_what_the_commands_need() -> None:
    text = (COMPOSE.parent / "Dockerfile").read_text()
    (extras,) = re.findall(r"aerolog-\*\.whl\)\[([a-z,]+)\]", text)
    project = tomllib.loads((COMPOSE.parent / "pyproject.toml").read_text())["project"]
    assert set(extras.split(",")) <= set(project["optional-dependencies"])
    assert {"cli", "postgres", "spark", "decoders"} <= set(extras.split(","))
    for volume in re.findall(r"    - ([a-z]+):/", COMPOSE.read_text()):
        assert f"\n  {volume}: {{}}\n" in COMPOSE.read_text()
    job = load_job_with_variables(COMPOSE.read_text())
    assert job.name == "demo"


def load_job_with_variables(compose: str) -> Job:
    """The job of the compose file, with what it sets in the environment."""
    found = dict(re.findall(r"^    (A[A-Z_]+): (\S+)$", compose, re.MULTILINE))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in found.items():
            patch.setenv(name, value)
        return load_job(COMPOSE.parent / "examples" / "pipeline" / "demo.toml")


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
