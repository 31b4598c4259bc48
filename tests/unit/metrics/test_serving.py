"""Metrics over HTTP, and in the model of OpenTelemetry."""

from __future__ import annotations

import json
import socket
from http.client import HTTPConnection
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families as plain

from aerolog.tools.metrics.families import FAMILIES, MetricKind
from aerolog.tools.metrics.metrics_exporter import Exporter, MetricSources
from aerolog.tools.metrics.otlp import metrics_data
from aerolog.tools.metrics.prometheus import ListenError, serving, text
from aerolog.tools.metrics.samples import Samples

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOSTILE = 'a"b\\c\nd\u00e4'


@pytest.fixture
def exporter(tmp_path: Path) -> Iterator[Exporter]:
    with Exporter(MetricSources((str(tmp_path / HOSTILE),))) as opened:
        yield opened


@pytest.fixture
def url(exporter: Exporter) -> Iterator[str]:
    with serving(exporter, "127.0.0.1", 0) as served:
        yield served


def ask(url: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    parts = urlsplit(url)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=30)
    try:
        connection.request(method, parts.path or "/", headers=headers)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


def test_a_scrape_in_the_text_format_is_read_back(url: str, tmp_path: Path) -> None:
    status, headers, body = ask(url)

    assert status == 200
    assert headers["Content-Type"].startswith("text/plain; version=")
    found = {family.name: family for family in plain(body.decode())}
    assert found["aerolog_driver_up"].samples[0].labels == {"aeron_dir": str(tmp_path / HOSTILE)}
    assert found["aerolog_driver_up"].samples[0].value == 0
    assert found["aerolog_driver_up"].documentation == FAMILIES["aerolog_driver_up"].help


def test_a_scrape_in_open_metrics_is_read_back(url: str) -> None:
    accepted = "application/openmetrics-text; version=1.0.0"

    status, headers, body = ask(url, Accept=accepted)

    assert status == 200
    assert headers["Content-Type"].startswith("application/openmetrics-text")
    assert {family.name for family in open_metrics(body.decode())} >= {"aerolog_driver_up"}


def test_other_paths_and_methods(url: str) -> None:
    base = url.removesuffix("/metrics")

    assert ask(f"{base}/")[2] == b"metrics of aerolog: /metrics\n"
    assert ask(f"{base}/nothing")[0] == 404
    status, headers, body = ask(url, "HEAD")
    assert (status, body) == (200, b"")
    assert int(headers["Content-Length"]) > 0
    assert ask(url, "POST")[0] == 501


def test_a_scraper_that_says_nothing_keeps_nobody_from_scraping(url: str) -> None:
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port)) as silent:
        assert ask(url)[0] == 200
        silent.sendall(b"GET /metrics HTTP/1.1\r\n")
        assert ask(url)[0] == 200


def test_a_port_that_is_taken_is_an_error(exporter: Exporter, url: str) -> None:
    port = urlsplit(url).port or 0
    with (
        pytest.raises(ListenError, match=rf"127\.0\.0\.1:{port}: Address already in use: name "),
        serving(exporter, "127.0.0.1", port),
    ):
        pass


def test_an_address_that_is_not_here_is_an_error(exporter: Exporter) -> None:
    with pytest.raises(ListenError, match="Cannot assign"), serving(exporter, "192.0.2.1", 0):
        pass


def test_it_listens_on_version_6(exporter: Exporter) -> None:
    with serving(exporter, "::1", 0) as served:
        assert served.startswith("http://[::1]:")
        assert ask(served)[0] == 200


def test_the_text_is_what_a_scrape_gets(exporter: Exporter) -> None:
    names = {family.name for family in plain(text(exporter))}

    assert "aerolog_exporter_info" in names


def test_every_metric_becomes_one_of_open_telemetry() -> None:
    samples = Samples(0)
    for name, family in FAMILIES.items():
        labels = [f"{label} value" for label in family.labels]
        samples.add(name.removeprefix("aerolog_"), 1.5, *labels)

    data = json.loads(metrics_data(samples.collected(), 10, 20).to_json())

    (resource,) = data["resource_metrics"]
    assert resource["resource"]["attributes"]["service.name"] == "aerolog"
    metrics = {one["name"]: one for one in resource["scope_metrics"][0]["metrics"]}
    assert set(metrics) == set(FAMILIES)
    for name, family in FAMILIES.items():
        one = metrics[name]
        (point,) = one["data"]["data_points"]
        assert point["attributes"] == {label: f"{label} value" for label in family.labels}
        assert (point["value"], point["time_unix_nano"]) == (1.5, 20)
        assert one["unit"] == {"seconds": "s", "bytes": "By", "": "1"}[family.unit]
        is_counter = family.kind is MetricKind.COUNTER
        assert one["data"].get("is_monotonic", False) is is_counter
        assert point["start_time_unix_nano"] == (10 if is_counter else 0)
