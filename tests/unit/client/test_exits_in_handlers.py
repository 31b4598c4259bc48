"""SystemExit and its like, raised by a program's handlers on the client's own thread."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import TYPE_CHECKING, Any

import pytest
from waits import wait_until

from aerolog.transport.client import Aeron
from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.driver.media_driver import MediaDriver
from aerolog.transport.errors import ResourceClosedError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

INTERRUPTS = (SystemExit, KeyboardInterrupt, asyncio.CancelledError)
CHANNEL = "aeron:ipc?term-length=64k"


@pytest.fixture
def aeron_dir(tmp_path: Path) -> Iterator[str]:
    with MediaDriver(tmp_path / "aeron", threading_mode="SHARED", counters_buffer_length="1m"):
        yield str(tmp_path / "aeron")


@pytest.fixture
def other(aeron_dir: str) -> Iterator[Aeron]:
    """A client whose streams and counters the one with handlers hears of."""
    with Aeron(aeron_dir) as client:
        yield client


def raising(kind: type[BaseException], on: threading.Thread) -> Any:
    """A handler that raises on the client's thread only."""

    def handle(*_: object) -> None:
        if threading.current_thread() is on:
            raise kind("enough")

    return handle


def thread_of(aeron: Aeron) -> threading.Thread:
    assert aeron._thread is not None
    return aeron._thread


def check_ended(aeron: Aeron, errors: list[BaseException], kind: type[BaseException]) -> None:
    thread = thread_of(aeron)
    wait_until(lambda: not thread.is_alive(), "end of the client's thread")
    assert aeron.closed
    with pytest.raises(ResourceClosedError, match=f"one of its handlers raised {kind.__name__}"):
        aeron.add_counter(1001, "one more")
    assert aeron.close_reason is not None
    assert isinstance(aeron.close_reason.__cause__, kind)
    assert errors[-1] is aeron.close_reason


@pytest.mark.parametrize("kind", INTERRUPTS)
@pytest.mark.parametrize("event", ["on_image", "on_image_gone", "on_counter", "on_counter_gone"])
def test_a_handler_that_raises_it_ends_the_client_with_a_reason(
    aeron_dir: str, other: Aeron, event: str, kind: type[BaseException]
) -> None:
    errors: list[BaseException] = []
    handlers: dict[str, Any] = {}
    with Aeron(
        aeron_dir,
        on_error=errors.append,
        on_counter=lambda *_: handlers.get("on_counter", bool)(),
        on_counter_gone=lambda *_: handlers.get("on_counter_gone", bool)(),
    ) as aeron:
        subscription = aeron.add_subscription(
            CHANNEL,
            7,
            on_image=lambda _: handlers.get("on_image", bool)(),
            on_image_gone=lambda _: handlers.get("on_image_gone", bool)(),
        )
        handlers[event] = raising(kind, thread_of(aeron))
        publication = other.add_publication(CHANNEL, 7)
        counter = other.add_counter(1000, "a counter")
        if "image" not in event or event == "on_image_gone":
            wait_until(lambda: aeron.closed or bool(subscription.images), "the image")
        publication.close()
        counter.close()
        check_ended(aeron, errors, kind)
    heartbeats = [
        info for info in other.counters.infos() if info.type_id == CounterType.CLIENT_HEARTBEAT
    ]
    wait_until(
        lambda: (
            len([i for i in other.counters.infos() if i.type_id == CounterType.CLIENT_HEARTBEAT])
            == 1
        ),
        f"the driver to let the client go, of {heartbeats}",
    )


@pytest.mark.parametrize("kind", INTERRUPTS)
def test_an_error_handler_that_raises_it_ends_the_client(
    aeron_dir: str, other: Aeron, kind: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    errors: list[BaseException] = []
    thread: list[threading.Thread] = []
    closed: list[bool] = []

    def on_error(error: BaseException) -> None:
        errors.append(error)
        raising(kind, thread[0])()

    def on_close() -> None:
        closed.append(True)
        raising(kind, thread[0])()

    def fail(_: object) -> None:
        raise ValueError("a handler's own")

    with (
        caplog.at_level(logging.ERROR, "aerolog.client"),
        Aeron(aeron_dir, on_error=on_error, on_close=on_close) as aeron,
    ):
        thread.append(thread_of(aeron))
        held = aeron.add_subscription(CHANNEL, 7, on_image=fail)
        publication = other.add_publication(CHANNEL, 7)
        check_ended(aeron, errors, kind)
    assert held.closed
    assert not publication.closed
    assert closed == [True]
    assert "raised while it ended" in caplog.text


def test_an_interrupt_during_close_comes_out_when_all_is_closed(aeron_dir: str) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    aeron = Aeron(aeron_dir, on_close=interrupt)
    publication = aeron.add_publication(CHANNEL, 7)
    with pytest.raises(KeyboardInterrupt):
        aeron.close()
    assert aeron.closed
    assert publication.closed
    wait_until(lambda: not thread_of(aeron).is_alive(), "end of the client's thread")
