"""Metrics over HTTP for Prometheus, in its text format and in OpenMetrics."""

from __future__ import annotations

import socket
import sys
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Final

from aerolog.catalog.extras import require
from aerolog.tools.metrics.families import MetricKind
from aerolog.tools.terminal.terminal_text import fit
from aerolog.transport.errors import AerologError
from aerolog.transport.text_output import write_traceback

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from prometheus_client import CollectorRegistry
    from prometheus_client.core import Metric

    from aerolog.tools.metrics.metrics_exporter import Exporter
    from aerolog.tools.metrics.samples import Collected

_PLAIN: Final = "text/plain; charset=utf-8"
_INDEX: Final = b"metrics of aerolog: /metrics\n"
_STALLED_S: Final = 30


class ListenError(AerologError):
    """An address that cannot be listened at."""


class _PrometheusCollector:
    """What prometheus-client asks for metrics."""

    def __init__(self, exporter: Exporter, label: Callable[[str], str]) -> None:
        self._exporter = exporter
        self._label = label

    def collect(self) -> Iterable[Metric]:
        return [_metric(one, self._label) for one in self._exporter.collect()]

    def describe(self) -> Iterable[Metric]:
        return []


def registry_of(exporter: Exporter, label: Callable[[str], str] = str) -> CollectorRegistry:
    """A registry of prometheus-client with the metrics of an exporter, and nothing else.

    Args:
        exporter: of the metrics.
        label: gives what is shown for the value of a label.

    Raises:
        MissingExtraError: it is not installed.
    """
    client = require("prometheus_client", "metrics for Prometheus")
    registry: CollectorRegistry = client.CollectorRegistry(auto_describe=False)
    registry.register(_PrometheusCollector(exporter, label))
    return registry


def _metric(collected: Collected, label: Callable[[str], str]) -> Metric:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    family = collected.family
    metric: CounterMetricFamily | GaugeMetricFamily = (
        CounterMetricFamily(family.name, family.help, labels=family.labels)
        if family.kind is MetricKind.COUNTER
        else GaugeMetricFamily(family.name, family.help, labels=family.labels)
    )
    for labels, value in sorted(collected.values.items()):
        metric.add_metric([label(one) for one in labels], value)
    return metric


def text(exporter: Exporter) -> str:
    """All metrics as they are now, in Prometheus' text format, with labels fit to be printed."""
    registry = registry_of(exporter, fit)
    from prometheus_client import generate_latest

    return generate_latest(registry).decode()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 16

    def __init__(self, address: tuple[str, int], registry: CollectorRegistry) -> None:
        self.registry = registry
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        super().__init__(address, _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """A scraper that went away is no event; anything else is told."""
        del request, client_address
        error = sys.exception()
        if error is not None and not isinstance(error, OSError):
            write_traceback(error)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    server_version = "aerolog"
    sys_version = ""
    timeout = _STALLED_S

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def _answer(self, *, with_body: bool) -> None:
        path = self.path.partition("?")[0]
        if path == "/metrics":
            from prometheus_client.exposition import choose_encoder

            encode, kind = choose_encoder(self.headers.get("Accept", ""))
            body: bytes = encode(self.server.registry)
            self._send(HTTPStatus.OK, kind, body, with_body=with_body)
        elif path == "/":
            self._send(HTTPStatus.OK, _PLAIN, _INDEX, with_body=with_body)
        else:
            self._send(HTTPStatus.NOT_FOUND, _PLAIN, b"not here\n", with_body=with_body)

    def _send(self, status: HTTPStatus, kind: str, body: bytes, *, with_body: bool) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Requests are not logged."""


@contextmanager
def serving(exporter: Exporter, host: str, port: int) -> Iterator[str]:
    """Serves metrics as long as the block runs; gives their URL.

    Args:
        exporter: what to collect from.
        host: address to listen at.
        port: 0 takes a free one.

    Raises:
        ListenError: nothing can listen there.
        MissingExtraError: prometheus-client is not installed.
    """
    registry = registry_of(exporter)
    try:
        server = _Server((host, port), registry)
    except OSError as error:
        raise ListenError(
            f"{host}:{port}: {error.strerror or error}: name another address with --listen"
        ) from error
    with server:
        thread = Thread(target=server.serve_forever, name="metrics", daemon=True)
        thread.start()
        try:
            shown = f"[{host}]" if ":" in host else host
            yield f"http://{shown}:{server.server_address[1]}/metrics"
        finally:
            server.shutdown()
            thread.join()
