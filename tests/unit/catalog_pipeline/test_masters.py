"""A Spark master that does not answer is said at once, with its URL."""

from __future__ import annotations

import errno
import socket
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, NoReturn

import pytest
from pipelines_here import numbers, write_job

from aerolog.catalog.export.pipeline.errors import SparkRunError
from aerolog.catalog.export.pipeline.job import load_job
from aerolog.catalog.export.pipeline.job_run import run_job
from aerolog.catalog.export.spark_runner import SparkExecutor, check_master
from aerolog.tools.command_line.invocation import run

if TYPE_CHECKING:
    from pathlib import Path


def closed_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


@pytest.mark.parametrize("master", ["local", "local[*]", "local[2,4]", "yarn"])
def test_a_mode_has_no_master_to_reach(master: str) -> None:
    check_master(master)


def test_one_master_of_several_is_enough() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        check_master(f"spark://127.0.0.1:{closed_port()},127.0.0.1:{port}")
        check_master(f"k8s://https://127.0.0.1:{port}")


@pytest.mark.parametrize("master", ["spark://127.0.0.1:{}", "spark://nowhere.invalid:{}"])
def test_a_master_that_is_not_there_is_named(master: str) -> None:
    url = master.format(closed_port())
    with pytest.raises(SparkRunError, match="no Spark master answers at " + url):
        check_master(url)


def test_the_addresses_of_a_host_share_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    silent = socket.create_server(("127.0.0.1", 0), backlog=0)
    with silent, socket.create_connection(silent.getsockname()):  # the queue is full
        found = socket.getaddrinfo(*silent.getsockname(), type=socket.SOCK_STREAM)
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found * 4)
        begun = time.monotonic()
        with pytest.raises(SparkRunError, match="no Spark master answers at spark://silent:1"):
            check_master("spark://silent:1", 1.0)
        assert 0.9 < time.monotonic() - begun < 2.0


def test_a_master_without_a_port_is_refused() -> None:
    with pytest.raises(SparkRunError, match="it names no host and port"):
        check_master("spark://somewhere")


def test_a_run_says_so_before_it_starts_java(home, capsys) -> None:
    numbers(0, 100).write(home / "archive")
    url = f"spark://127.0.0.1:{closed_port()}"
    path = write_job(home)
    path.write_text(path.read_text() + f"[spark]\nmaster = {url!r}\n")
    job = load_job(path)
    with pytest.raises(SparkRunError, match=url):
        run_job(job, SparkExecutor(job))
    assert run(["pipeline", "run", str(path)]) == 1
    assert f"no Spark master answers at {url}: Connection refused" in capsys.readouterr().err


class DeadSession:
    """A session whose JVM was killed: whatever asks it finds the connection refused."""

    def __getattr__(self, name: str) -> NoReturn:
        raise ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")


def test_a_jvm_that_was_killed_is_named(home: Path) -> None:
    numbers(0, 10).write(home / "archive")
    job = load_job(write_job(home))
    with pytest.raises(SparkRunError, match="the JVM of Spark has ended, nothing was loaded"):
        run_job(job, SparkExecutor(job, DeadSession()))


def test_a_jvm_that_ends_after_the_commit_does_not_fail_the_run(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyspark

    executor = SparkExecutor(load_job(write_job(home)))
    gateway = SimpleNamespace(proc=None, shutdown=lambda: None)
    monkeypatch.setattr(pyspark.SparkContext, "_gateway", gateway)

    def stop() -> None:
        raise ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")

    session = SimpleNamespace(sparkContext=SimpleNamespace(_gateway=gateway), stop=stop)
    monkeypatch.setattr(executor, "_session", session)
    executor.close()
    assert executor.session is None
    assert pyspark.SparkContext._gateway is None
