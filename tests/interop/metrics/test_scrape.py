"""A real Prometheus scrapes drivers and archives, the reference's and ours."""

from __future__ import annotations

import signal
import subprocess
from typing import TYPE_CHECKING

import pytest
from metric_dashboard import QUERIES
from prerequisites import program_or_skip

from aerolog.archive.client import AeronArchive
from aerolog.transport.client import Aeron

from .conftest import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from peer.lifetimes import Start

    from .conftest import Prometheus, Serve

CHANNEL = "aeron:ipc"
#: Metrics of the dashboard that nothing here makes values of.
WITHOUT_VALUES = (
    "aerolog_archive_bad_segments",
    "aerolog_archive_errors_total",
    "aerolog_archive_health_",
    "aerolog_archive_logged_errors_total",
    "aerolog_archive_retention_",
    "aerolog_archive_verified_",
    "aerolog_archive_waiting_segments",
    "aerolog_catalog_",
    "aerolog_cluster_",
    "aerolog_driver_channels",
    "aerolog_driver_logged_errors_total",
    "aerolog_loss_",
    "aerolog_stream_limited_sessions",
    "aerolog_stream_received_bytes_total",
)
#: And those that only archives of ours have.
OURS = ("aerolog_archive_index_",)


def as_grafana(query: str) -> str:
    """A query of the dashboard with its variables replaced as Grafana does for All."""
    for variable in ("$aeron_dir", "$archive_dir", "$catalog"):
        query = query.replace(variable, ".*")
    return query.replace("$__rate_interval", "30s")


@pytest.mark.interop
@pytest.mark.parametrize("implementation", ["reference", "ours"])
def test_prometheus_scrapes_a_driver_and_its_archive(
    implementation: str,
    start_server: Start,
    stream_id: int,
    serve: Serve,
    prometheus: Callable[[str], Prometheus],
) -> None:
    server = start_server(implementation, "archiving-driver")
    where, folder = f'aeron_dir="{server.aeron_dir}"', f'archive_dir="{server.archive_dir}"'
    stream = f'{where}, stream_id="{stream_id}", channel="aeron:ipc"'
    recording = f'{folder}, stream_id="{stream_id}", channel="aeron:ipc"'
    serving = serve(
        "--aeron-dir", server.aeron_dir, "--archive-dir", server.archive_dir,
        "--listen", "127.0.0.1:0", "--interval", "1ms",
    )  # fmt: skip
    url = serving.url()
    database = prometheus(url)
    with (
        Aeron(server.aeron_dir) as aeron,
        AeronArchive(aeron) as archive,
        aeron.add_exclusive_publication(CHANNEL, stream_id) as publication,
    ):
        archive.start_recording(CHANNEL, stream_id)
        publication.wait_connected(60, writable=True)
        wait_for(lambda: database.value(f"aerolog_driver_up{{{where}}}") == 1, "a first scrape")
        for _ in range(100):
            publication.send(bytes(500), timeout=60)
        end = publication.position

        for metric, labels, expected in (
            ("aerolog_stream_published_bytes_total", stream, end),
            ("aerolog_stream_consumed_bytes_total", stream, end),
            ("aerolog_recording_recorded_bytes_total", recording, end),
            ("aerolog_archive_recordings", f'{folder}, state="active"', 1),
            ("aerolog_archive_up", folder, 1),
            ("aerolog_driver_errors_total", where, 0),
        ):
            query = f"{metric}{{{labels}}}"
            wait_for(lambda q=query, v=expected: database.value(q) == v, f"{query} of {expected}")
        found = database.ask("aerolog_driver_info")
        assert found[0]["metric"]["version"] == "1.51.0"

        missing = WITHOUT_VALUES if implementation == "ours" else (*WITHOUT_VALUES, *OURS)
        for query, _ in QUERIES:
            if any(name in query for name in missing):
                database.ask(as_grafana(query))
            else:
                wait_for(lambda q=query: database.ask(as_grafana(q)), f"a value of {query}")

    body = "".join(f"{line}\n" for line in raw(url))
    checked = subprocess.run(
        [program_or_skip("promtool"), "check", "metrics"],
        input=body,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")
    serving.process.send_signal(signal.SIGTERM)
    assert serving.process.wait(60) == 143
    assert serving.log.read_text() == ""


def raw(url: str) -> list[str]:
    from .conftest import get

    status, body = get(url)
    assert status == 200
    return body.splitlines()


@pytest.mark.interop
def test_a_driver_that_is_killed_and_started_again(
    start_server: Start, serve: Serve, aeron_dir: object
) -> None:
    serving = serve("--aeron-dir", aeron_dir, "--listen", "127.0.0.1:0")
    url = serving.url()
    up = f'aerolog_driver_up{{aeron_dir="{aeron_dir}"}}'
    state = f'aerolog_driver_state{{aeron_dir="{aeron_dir}",state="%s"}}'
    errors = f'aerolog_driver_errors_total{{aeron_dir="{aeron_dir}"}}'
    assert serving.scrape(url)[up] == 0
    assert serving.scrape(url)[state % "missing"] == 1

    server = start_server("reference", "driver", aeron_dir=aeron_dir)
    wait_for(lambda: serving.scrape(url)[up] == 1, "the driver")
    assert serving.scrape(url)[errors] == 0

    server.process.kill()
    wait_for(lambda: serving.scrape(url).get(state % "dead"), "its death")
    assert errors not in serving.scrape(url)

    start_server("ours", "driver", aeron_dir=aeron_dir)
    wait_for(lambda: serving.scrape(url)[up] == 1, "another driver")
    assert serving.scrape(url)[errors] == 0
    serving.process.send_signal(signal.SIGINT)
    assert serving.process.wait(60) == 130
    assert "waiting for it" in serving.log.read_text()
