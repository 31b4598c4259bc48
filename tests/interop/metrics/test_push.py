"""Metrics are pushed to a receiver of OTLP that goes away and comes back."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import pytest
from peer.streams import free_port

from .conftest import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from peer.lifetimes import Start

    from .conftest import Serve


@pytest.mark.interop
def test_a_receiver_gets_what_prometheus_would(
    start_server: Start, serve: Serve, receiver: Callable[[int], Any]
) -> None:
    server = start_server("reference", "driver")
    port = free_port()
    serving = serve(
        "--aeron-dir", server.aeron_dir, "--push-interval", "200ms",
        "--otlp", f"http://127.0.0.1:{port}", "--listen", "127.0.0.1:0",
    )  # fmt: skip
    assert serving.next_line() == f"pushing to http://127.0.0.1:{port}/v1/metrics"
    url = serving.url()
    # Nobody listens yet: it says so, once.
    wait_for(lambda: "does not take metrics" in serving.log.read_text(), "its complaint")

    with receiver(port) as pushes:
        pushed = pushes.next()
        assert pushed.service == "aerolog"
        assert pushed.values["aerolog_driver_up"] == {(server.aeron_dir,): 1}
        assert "aerolog_driver_errors_total" in pushed.counters
        assert "aerolog_driver_up" not in pushed.counters
        scraped = {name.partition("{")[0] for name in serving.scrape(url)}
        assert scraped == set(pushed.values)
        again = pushes.next()
        assert set(again.values) == set(pushed.values)
    assert "takes metrics again" in serving.log.read_text()
    wait_for(
        lambda: serving.log.read_text().endswith("does not take metrics\n"), "a second complaint"
    )

    serving.process.send_signal(signal.SIGTERM)
    assert serving.process.wait(60) == 143
    assert "Traceback" not in serving.log.read_text()
