"""A standalone Spark cluster on loopback: one master and workers, each a process of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable

MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"
PATIENCE_S = 240.0
_STARTED = re.compile(r"Starting Spark master at (spark://\S+)")
_REGISTERED = "Successfully registered with master"
_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def wait_for(condition: Callable[[], object], what: str, patience_s: float = PATIENCE_S) -> object:
    """Wait until something holds; its value."""
    deadline = time.monotonic() + patience_s
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.05)


class Cluster:
    """Runs from entering to leaving it.

    Attributes:
        url: of the master.
        workers: their processes.
    """

    def __init__(self, python: Path, folder: Path, workers: int = 2) -> None:
        """Nothing is started yet.

        Args:
            python: an interpreter with PySpark, that executors run as well.
            folder: for logs and work.
            workers: how many, with a core each.
        """
        self.python = python
        self.folder = folder
        self.url = ""
        self.workers: list[subprocess.Popen[bytes]] = []
        self._count = workers
        self._master: subprocess.Popen[bytes] | None = None
        found = subprocess.check_output(
            [python, "-c", "import pyspark; print(pyspark.__path__[0])"], text=True, cwd=folder
        )
        self._home = Path(found.strip())

    @property
    def environment(self) -> dict[str, str]:
        """Of the cluster's processes and of drivers: nothing of the checkout is in it."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTHON", "SPARK", "PYSPARK", "VIRTUAL_ENV"))
        }
        return kept | {
            "SPARK_HOME": str(self._home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_PUBLIC_DNS": "127.0.0.1",
            "SPARK_NO_DAEMONIZE": "1",
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": _JVM,
            "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",
            "SPARK_LOCAL_DIRS": str(self.folder / "local"),
            "PYSPARK_PYTHON": str(self.python),
            "PYSPARK_DRIVER_PYTHON": str(self.python),
        }

    def __enter__(self) -> Self:
        try:
            self._master = self._start(
                "master", MASTER, "--host", "127.0.0.1", "--port", "0", "--webui-port", "0"
            )
            started = wait_for(lambda: _STARTED.search(self._log("master")), "the master")
            assert isinstance(started, re.Match)
            self.url = started[1]
            for _ in range(self._count):
                self.start_worker()
            self.wait_registered()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start_worker(self) -> subprocess.Popen[bytes]:
        """One more worker."""
        name = f"worker-{len(self.workers)}"
        worker = self._start(
            *(name, WORKER, "--host", "127.0.0.1", "--port", "0", "--webui-port", "0"),
            *("--cores", "1", "--memory", "1g", "--work-dir", str(self.folder / name), self.url),
        )
        self.workers.append(worker)
        return worker

    def wait_registered(self) -> None:
        """Wait until the master knows all workers."""
        for index in range(len(self.workers)):
            name = f"worker-{index}"
            wait_for(lambda name=name: _REGISTERED in self._log(name), name)

    def kill_worker(self, index: int) -> None:
        """Kill a worker and the executors that it runs, as a machine that goes."""
        worker = self.workers[index]
        for pid in (worker.pid, *_descendants(worker.pid)):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        worker.wait(PATIENCE_S)

    def submit(self, program: str, *arguments: str) -> subprocess.Popen[str]:
        """Start a driver: a Python program that gets the master's URL as its first argument."""
        return subprocess.Popen(
            [str(self.python), "-c", program, self.url, *arguments],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def stop(self) -> None:
        """End all processes."""
        for index in range(len(self.workers)):
            self.kill_worker(index)
        if self._master is not None:
            self._master.kill()
            self._master.wait(PATIENCE_S)

    def _start(self, name: str, *command: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                [str(self._home / "bin" / "spark-class"), *command],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def _log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")


def _descendants(pid: int) -> list[int]:
    """Processes below one, nearest first."""
    found: list[int] = []
    waiting = [pid]
    while waiting:
        current = waiting.pop(0)
        children: list[int] = []
        for task in Path(f"/proc/{current}/task").glob("*/children"):
            try:
                children += [int(text) for text in task.read_text().split()]
            except (FileNotFoundError, ProcessLookupError):
                continue
        found += children
        waiting += children
    return found
