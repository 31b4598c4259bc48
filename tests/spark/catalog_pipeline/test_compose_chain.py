"""The whole chain of docker-compose.yml as processes: its commands, in its order.

PostgreSQL is the system's and the S3 store moto's. The job is killed once, and once a Spark worker
is, each as soon as something is staged: the rows are those of a run that nothing happened to.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pyarrow.dataset as ds
import pytest
from compose import COMPOSE, commands, local
from pyarrow import fs
from shared_memory import memory_path
from spark_cluster import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.spark, pytest.mark.database, pytest.mark.timeout(900)]

MESSAGES = 10_000
PATIENCE_S = 400
_MASTER_AT = re.compile(r"Starting Spark master at spark://127\.0\.0\.1:(\d+)")


class Chain:
    """Services and jobs by their names in the compose file."""

    def __init__(self, home: Path, environment: dict[str, str], lake: str) -> None:
        self.home = home
        self.lake = lake
        self.environment = environment
        self.places = {
            "/data": str(home / "data"),
            "/jobs": str(COMPOSE.parent / "examples/pipeline"),
        }
        self.commands = commands()
        self._running: dict[str, subprocess.Popen[Any]] = {}

    def start(self, service: str, name: str | None = None) -> subprocess.Popen[Any]:
        """A process; what it says is in a file."""
        name = name or service
        with self.log(name).open("wb") as log:
            process = subprocess.Popen(
                local(self.commands[service], self.places),
                cwd=self.home,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._running[name] = process
        return process

    def finish(self, service: str) -> str:
        """A process to its end; what it said on stdout."""
        done = subprocess.run(
            local(self.commands[service], self.places),
            cwd=self.home,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == 0, f"{service}: {done.stdout}{done.stderr}"
        return done.stdout

    def log(self, name: str) -> Path:
        return self.home / f"{name}.log"

    def said(self, name: str, text: str) -> bool:
        """Whether a process has said that; fails when it has ended instead."""
        content = self.log(name).read_text(errors="replace")
        ended = self._running[name].poll()
        assert text in content or ended is None, f"{name} ended with {ended}: {content}"
        return text in content

    def healthy(self, service: str) -> None:
        """What compose waits for before what depends on the service."""
        command = local(self.commands[f"{service} health"], self.places)

        def asked() -> bool:
            done = subprocess.run(
                command, env=self.environment, capture_output=True, check=False, timeout=PATIENCE_S
            )
            return done.returncode == 0

        wait_for(asked, service, PATIENCE_S)

    def kill(self, name: str) -> None:
        """Kill a process and what it has started: Spark's executors, the JVM of a driver."""
        process = self._running[name]
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(PATIENCE_S)

    def stop(self) -> None:
        for name in reversed(self._running):
            self.kill(name)

    def staged(self) -> set[str]:
        """Runs that have a file in their staging folder."""
        store, root = fs.FileSystem.from_uri(self.lake)
        selector = fs.FileSelector(f"{root}/_aerolog/staging", recursive=True, allow_not_found=True)
        found = (one for one in store.get_file_info(selector) if one.type == fs.FileType.File)
        return {one.path.split("/")[-2] for one in found}

    def loaded(self) -> list[int]:
        """Positions of the rows that a reader of the table sees."""
        store, root = fs.FileSystem.from_uri(self.lake)
        selector = fs.FileSelector(f"{root}/rows", recursive=True, allow_not_found=True)
        if not store.get_file_info(selector):
            return []
        table = ds.dataset(f"{root}/rows", filesystem=store, partitioning="hive").to_table()
        assert set(table["stream_id"].to_pylist()) == {1001}
        assert {len(one) for one in table["payload"].to_pylist()} == {256}
        return sorted(table["position"].to_pylist())


@pytest.fixture
def chain(tmp_path: Path, postgres_url: str, s3_url: str) -> Iterator[Chain]:
    (tmp_path / "data").mkdir()
    shm = memory_path("chain")
    shm.mkdir()
    lake = s3_url.replace("?", "/demo?")
    environment = {name: value for name, value in os.environ.items() if "SPARK" not in name}
    environment |= {
        "AERON_DIR": str(shm / "aeron"),
        "AEROLOG_ARCHIVE_DIR": str(tmp_path / "data" / "archive"),
        "AEROLOG_CATALOG": postgres_url,
        "AEROLOG_LAKE": lake,
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_PUBLIC_DNS": "127.0.0.1",
        "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    chain = Chain(tmp_path, environment, lake)
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, shm)
        stack.callback(chain.stop)
        yield chain


def start_cluster(chain: Chain) -> None:
    """Master and workers; names and ports that are fixed in containers are free ones here."""
    chain.places |= {
        "spark-master": "127.0.0.1",
        "7077": "0",
        "8080": "0",
        "8081": "0",
        "/tmp/spark": str(chain.home / "work"),
    }
    chain.start("spark-master")
    wait_for(lambda: chain.said("spark-master", "Starting Spark master at"), "the master")
    found = wait_for(lambda: _MASTER_AT.search(chain.log("spark-master").read_text()), "its port")
    assert isinstance(found, re.Match)
    chain.places["7077"] = found[1]
    chain.environment["AEROLOG_SPARK"] = f"spark://127.0.0.1:{found[1]}"
    chain.healthy("spark-master")
    for name in ("worker-0", "worker-1"):
        chain.start("spark-worker", name)
    for name in ("worker-0", "worker-1"):
        wait_for(lambda name=name: chain.said(name, "Successfully registered"), name)


def test_recorded_loaded_killed_and_loaded_once(chain: Chain) -> None:
    chain.start("archiving-driver")
    wait_for(lambda: chain.said("archiving-driver", "ready"), "the driver")
    chain.healthy("archiving-driver")
    record = chain.start("record")
    chain.finish("publish")
    assert record.wait(PATIENCE_S) == 0
    start_cluster(chain)

    job = chain.start("load", "killed-load")
    wait_for(lambda: chain.staged() or job.poll() is not None, "staged files", PATIENCE_S)
    chain.kill("killed-load")
    first = chain.staged()

    job = chain.start("load")
    wait_for(lambda: chain.staged() - first or job.poll() is not None, "its files", PATIENCE_S)
    chain.kill("worker-0")
    assert job.wait(PATIENCE_S) == 0, chain.log("load").read_text()

    positions = chain.loaded()
    assert len(positions) == len(set(positions)) == MESSAGES
    state = json.loads(chain.finish("status"))
    assert [one["status"] for one in state["recordings"]] == ["unchanged"]
    assert state["unfinished_runs"] == []
    assert state["runs"][0]["state"] == "complete"
    assert sum(run["rows"] for run in state["runs"]) == MESSAGES
    again = json.loads(chain.finish("load"))
    assert (again["rows"], again["recordings"]) == (0, {"unchanged": 1})
    assert chain.loaded() == positions
    shown = json.dumps(state)
    assert chain.environment["AWS_SECRET_ACCESS_KEY"] not in shown
