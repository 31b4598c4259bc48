"""A Prometheus of the system, a receiver of OTLP, and the command as a process."""

from __future__ import annotations

import gzip
import http.client
import json
import os
import queue
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode, urlsplit

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from peer.streams import free_port
from prerequisites import program_or_skip

if TYPE_CHECKING:
    from pathlib import Path

DEADLINE_S = 90.0
Serve = Callable[..., "Serving"]


def wait_for(condition: Callable[[], Any], what: str) -> Any:
    """What the condition gives, as soon as it is true."""
    deadline = time.monotonic() + DEADLINE_S
    while not (found := condition()):
        assert time.monotonic() < deadline, f"not in {DEADLINE_S} s: {what}"
        time.sleep(0.05)
    return found


def get(url: str, **query: str) -> tuple[int, str]:
    """Asks over HTTP; gives status and body."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=DEADLINE_S)
    try:
        connection.request("GET", f"{parts.path}?{urlencode(query)}")
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


class Serving:
    """``aerolog serve-metrics`` in a process of its own."""

    def __init__(self, arguments: list[str], log: Path) -> None:
        environ = {k: v for k, v in os.environ.items() if not k.startswith("AERON_")}
        self.log = log
        with log.open("wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "aerolog.tools.main", "serve-metrics", *arguments],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=environ,
            )

    def next_line(self) -> str:
        """The next line of its standard output."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"it has ended: {self.log.read_text()}"
        return line.rstrip("\n")

    def url(self) -> str:
        """Where it serves, when it does."""
        word, _, url = self.next_line().partition(" ")
        assert word == "serving"
        return url

    def scrape(self, url: str) -> dict[str, float]:
        """Values by name and labels as they stand in the text."""
        status, body = get(url)
        assert status == 200, body
        pairs = (line.rpartition(" ") for line in body.splitlines() if not line.startswith("#"))
        return {name: float(value) for name, _, value in pairs}

    def end(self) -> None:
        """Ends it, whatever it does."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(DEADLINE_S)
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Starts ``aerolog serve-metrics``; what still runs after the test is killed."""
    started: list[Serving] = []

    def start(*arguments: object) -> Serving:
        log = tmp_path / f"serve-{len(started)}.log"
        started.append(Serving([str(argument) for argument in arguments], log))
        return started[-1]

    yield start
    for one in started:
        one.end()


class Prometheus:
    """Debian's Prometheus, scraping one target every second."""

    def __init__(self, target: str, folder: Path) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        config = {
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
            "scrape_configs": [
                {"job_name": "aerolog", "static_configs": [{"targets": [urlsplit(target).netloc]}]}
            ],
        }
        path = folder / "prometheus.json"
        path.write_text(json.dumps(config))  # JSON is YAML
        self.log = folder / "prometheus.log"
        program = program_or_skip("prometheus")
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [
                    program,
                    f"--config.file={path}",
                    f"--storage.tsdb.path={folder / 'tsdb'}",
                    f"--web.listen-address=127.0.0.1:{port}",
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def ask(self, query: str) -> list[dict[str, Any]]:
        """What a query gives: labels and values; fails on one that it does not take."""
        try:
            status, body = get(f"{self.url}/api/v1/query", query=query)
        except OSError:
            assert self.process.poll() is None, self.log.read_text()
            return []  # not listening yet
        if status == 503:
            return []  # reading its own files yet
        answer = json.loads(body)
        assert answer["status"] == "success", (query, answer)
        result: list[dict[str, Any]] = answer["data"]["result"]
        return result

    def value(self, query: str) -> float | None:
        """The one value that a query gives, None when it gives none."""
        found = self.ask(query)
        return float(found[0]["value"][1]) if len(found) == 1 else None

    def end(self) -> None:
        """Ends it."""
        self.process.kill()
        self.process.wait(DEADLINE_S)


@pytest.fixture
def prometheus(tmp_path: Path) -> Iterator[Callable[[str], Prometheus]]:
    """Starts a Prometheus for a target's URL."""
    started: list[Prometheus] = []

    def start(target: str) -> Prometheus:
        started.append(Prometheus(target, tmp_path))
        return started[-1]

    yield start
    for one in started:
        one.end()


class Pushed(NamedTuple):
    """One push: resource, and values by metric's name and its labels' values."""

    service: str
    values: dict[str, dict[tuple[str, ...], float]]
    counters: set[str]


class _Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        self.server.received.put((self.path, ExportMetricsServiceRequest.FromString(body)))
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nothing."""


class _ReceiverServer(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Receiver)
        self.received: queue.Queue[tuple[str, ExportMetricsServiceRequest]] = queue.Queue()

    def next(self) -> Pushed:
        """The next push; waits for it."""
        path, request = self.received.get(timeout=DEADLINE_S)
        assert path == "/v1/metrics"
        (resource,) = request.resource_metrics
        named = {one.key: one.value.string_value for one in resource.resource.attributes}
        values: dict[str, dict[tuple[str, ...], float]] = {}
        counters = set()
        for metric in resource.scope_metrics[0].metrics:
            is_sum = metric.HasField("sum")
            if is_sum:
                assert metric.sum.is_monotonic
                counters.add(metric.name)
            points = metric.sum.data_points if is_sum else metric.gauge.data_points
            values[metric.name] = {
                tuple(a.value.string_value for a in point.attributes): point.as_double
                for point in points
            }
        return Pushed(named["service.name"], values, counters)


@pytest.fixture
def receiver() -> Callable[[int], Any]:
    """``with receiver(port) as pushes:`` takes OTLP over HTTP at a port."""

    @contextmanager
    def receiving(port: int) -> Iterator[_ReceiverServer]:
        with _ReceiverServer(port) as server:
            thread = Thread(target=server.serve_forever)
            thread.start()
            try:
                yield server
            finally:
                server.shutdown()
                thread.join()

    return receiving
