"""Our client on any driver: each test body runs on ours and on the reference's."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from waits import wait_until

from aerolog.transport.client import Aeron

Connect = Callable[..., Aeron]


@pytest.fixture
def connect() -> Iterator[Connect]:
    """``connect(server_or_dir, **options)`` gives a client of ours, closed after the test.

    Errors that belong to no call are collected in ``client.errors``.
    """
    clients: list[Aeron] = []

    def make(where: Any, **options: Any) -> Aeron:
        errors: list[BaseException] = []
        options.setdefault("on_error", errors.append)
        options.setdefault("driver_timeout", 30)
        client = Aeron(getattr(where, "aeron_dir", where), **options)
        client.errors = errors
        clients.append(client)
        return client

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def aeron(connect: Connect, any_driver: Any) -> Aeron:
    """A client of ours on either driver."""
    return connect(any_driver)


@pytest.fixture
def java(java_client: Any, any_driver: Any) -> Any:
    """A client of the reference on the same driver."""
    return java_client(any_driver.aeron_dir)


class Stream:
    """A publication and a subscription of ours that are connected, with a term of 64 KiB."""

    def __init__(self, aeron: Aeron, stream_id: int, *, exclusive: bool = False) -> None:
        self.channel = "aeron:ipc?term-length=64k"
        self.stream_id = stream_id
        self.subscription = aeron.add_subscription("aeron:ipc", stream_id)
        add = aeron.add_exclusive_publication if exclusive else aeron.add_publication
        self.publication = add(self.channel, stream_id)
        self.publication.wait_connected(30, writable=True)
        self.subscription.wait_connected(30)
        self.image = self.subscription.images[0]

    def take(self, count: int) -> list[bytes]:
        """Payloads of the next messages."""
        found: list[bytes] = []
        deadline = time.monotonic() + 30
        while len(found) < count:
            found += [message.data for message in self.subscription.poll_messages(count)]
            assert time.monotonic() < deadline, f"{len(found)} of {count} messages came"
        return found


@pytest.fixture
def stream(aeron: Aeron, stream_id: int) -> Stream:
    """A connected pair over a shared publication."""
    return Stream(aeron, stream_id)


@pytest.fixture
def exclusive_stream(aeron: Aeron, stream_id: int) -> Stream:
    """A connected pair over an exclusive publication."""
    return Stream(aeron, stream_id, exclusive=True)


@pytest.fixture(name="wait_until")
def _wait_until() -> Callable[..., Any]:
    return wait_until
