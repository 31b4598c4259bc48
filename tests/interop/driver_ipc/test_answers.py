"""What is visible when a driver has answered: everything is looked at once, with no wait.

Each test is a line of docs/archive/answers.md.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from peer.lifetimes import server_starter, stop_all
from peer.raw_client import RawClient
from waits import wait_until

from aerolog.transport.client import Aeron
from aerolog.transport.memory.counters import RECORD_ALLOCATED
from aerolog.transport.protocol import commands as c
from aerolog.transport.protocol import responses as r

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from peer.servers import Server

pytestmark = pytest.mark.interop

IPC = "aeron:ipc?term-length=64k"
UDP = "aeron:udp?endpoint=127.0.0.1:40457|term-length=64k"
TRIES = 40
STREAM = 1001
DRIVERS = [(name, mode) for name in ("ours", "reference") for mode in ("SHARED", "DEDICATED")]
REMOVED = r.OperationSuccess


class Asker:
    """Sends a command and reads no further than its answer."""

    def __init__(self, aeron_dir: str) -> None:
        self.raw = RawClient(aeron_dir)
        self.counters = self.raw.cnc.counters

    def ask(self, command: type[c.Command], *fields: Any) -> Any:
        """The answer to a command."""
        sent = self.raw.send(lambda client, number: command(client, number, *fields))
        return self.raw.until(lambda m: getattr(m, "correlation_id", None) == sent)[-1]

    def next(self) -> r.Response:
        """The message after that."""
        return self.raw.until(lambda _: True)[-1]

    def is_allocated(self, counter_id: int) -> bool:
        """Whether a counter is allocated now."""
        return self.counters.counter_state(counter_id) == RECORD_ALLOCATED


@pytest.fixture(scope="module")
def drivers(
    reference: object, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str, str], Server]]:
    """Drivers by make and threading mode."""
    known: dict[tuple[str, str], Server] = {}
    running: list[Server] = []
    folders: list[Path] = []
    start = server_starter(running, folders, tmp_path_factory.mktemp("answers"))

    def get(name: str, mode: str) -> Server:
        if (name, mode) not in known:
            properties = {"aeron.threading.mode": mode}
            known[name, mode] = start(name, "driver", properties=properties)
        return known[name, mode]

    yield get
    stop_all(running, folders)


@pytest.fixture(params=DRIVERS, ids="-".join)
def server(request: pytest.FixtureRequest, drivers: Callable[[str, str], Server]) -> Server:
    return drivers(*request.param)


@pytest.fixture
def asker(server: Server) -> Asker:
    return Asker(server.aeron_dir)


@pytest.mark.parametrize("kind", [c.AddPublication, c.AddExclusivePublication])
@pytest.mark.parametrize("channel", [IPC, UDP], ids=["ipc", "udp"])
def test_an_added_publication_has_its_log_and_its_counters(
    asker: Asker, kind: type[c.Command], channel: str
) -> None:
    for _ in range(TRIES):
        ready = asker.ask(kind, STREAM, channel)
        assert Path(ready.log_file).stat().st_size > 3 * 64 * 1024
        assert asker.is_allocated(ready.limit_counter_id)
        assert channel == IPC or asker.is_allocated(ready.channel_status_id)
        assert isinstance(asker.ask(c.RemovePublication, ready.correlation_id), REMOVED)


def test_an_added_subscription_gets_the_images_that_there_are_next(asker: Asker) -> None:
    ready = asker.ask(c.AddExclusivePublication, STREAM, IPC)
    for _ in range(TRIES):
        added = asker.ask(c.AddSubscription, STREAM, IPC)
        image = asker.next()
        assert isinstance(image, r.AvailableImage)
        assert image.correlation_id == ready.correlation_id
        assert asker.is_allocated(image.position_counter_id)
        asker.ask(c.RemoveSubscription, added.correlation_id)
    asker.ask(c.RemovePublication, ready.correlation_id)


def test_a_removed_subscription_reads_nothing_more(server: Server, asker: Asker) -> None:
    with Aeron(server.aeron_dir) as aeron, aeron.add_exclusive_publication(IPC, STREAM) as stream:
        for _ in range(TRIES):
            added = asker.ask(c.AddSubscription, STREAM, IPC)
            image = asker.next()
            assert isinstance(image, r.AvailableImage)
            asker.ask(c.RemoveSubscription, added.correlation_id)
            assert not asker.is_allocated(image.position_counter_id)
            assert not stream.is_connected


def test_an_image_of_a_publication_comes_before_the_next_answer(asker: Asker) -> None:
    """The archive knows by an answer of every image that was there when it asked."""
    added = asker.ask(c.AddSubscription, STREAM, IPC)
    for _ in range(TRIES):
        ready = asker.ask(c.AddExclusivePublication, STREAM, IPC)
        sent = asker.raw.send(lambda client, n: c.GetNextAvailableSessionId(client, n, STREAM))
        before = asker.raw.until(lambda m, n=sent: getattr(m, "correlation_id", None) == n)
        images = [m for m in before if isinstance(m, r.AvailableImage)]
        assert [image.correlation_id for image in images] == [ready.correlation_id]
        asker.ask(c.RemovePublication, ready.correlation_id)
    asker.ask(c.RemoveSubscription, added.correlation_id)


@pytest.mark.parametrize("flags", [0, c.REVOKE_FLAG], ids=["closed", "revoked"])
def test_a_removed_publication_is_known_no_more(server: Server, asker: Asker, flags: int) -> None:
    with Aeron(server.aeron_dir) as aeron, aeron.add_subscription(IPC, STREAM) as subscription:
        for _ in range(TRIES):
            ready = asker.ask(c.AddExclusivePublication, STREAM, IPC)
            (image,) = subscription.wait_connected(30).images
            asker.ask(c.RemovePublication, ready.correlation_id, flags)
            assert image.is_revoked == (flags != 0)
            again = asker.ask(c.RemovePublication, ready.correlation_id)
            assert isinstance(again, r.OnError)
            while subscription.images:
                subscription.conductor.await_work(1_000_000)


def test_an_added_counter_can_be_read_and_a_removed_one_is_free(
    server: Server, asker: Asker
) -> None:
    """The reference answers first, and frees the counter after that (spec cnc-and-commands 17)."""
    for index in range(TRIES):
        ready = asker.ask(c.AddCounter, 1000 + index, b"key", f"label {index}")
        assert asker.is_allocated(ready.counter_id)
        assert asker.counters.counter_label(ready.counter_id) == f"label {index}"
        assert asker.counters.counter_registration_id(ready.counter_id) == ready.correlation_id
        asker.ask(c.RemoveCounter, ready.correlation_id)
        if server.implementation == "reference":
            wait_until(lambda n=ready.counter_id: not asker.is_allocated(n), "the counter's end")
        assert not asker.is_allocated(ready.counter_id)


def test_a_static_counter_is_there_for_others(asker: Asker) -> None:
    for index in range(TRIES):
        first = asker.ask(c.AddStaticCounter, 500 + index, 1500, b"key", f"static {index}")
        assert asker.is_allocated(first.counter_id)
        second = asker.ask(c.AddStaticCounter, 500 + index, 1500, b"key", f"static {index}")
        assert second.counter_id == first.counter_id


def test_a_session_id_is_given_once(asker: Asker) -> None:
    given = [asker.ask(c.GetNextAvailableSessionId, STREAM).session_id for _ in range(TRIES)]
    assert len(set(given)) == TRIES


def test_a_destination_is_known_by_its_channel_until_it_is_removed(asker: Asker) -> None:
    channel = "aeron:udp?control-mode=manual|term-length=64k"
    ready = asker.ask(c.AddExclusivePublication, STREAM, channel)
    for _ in range(TRIES):
        to = "aeron:udp?endpoint=127.0.0.1:40458"
        asker.ask(c.AddDestination, ready.correlation_id, to)
        removed = asker.ask(c.RemoveDestination, ready.correlation_id, to)
        assert isinstance(removed, REMOVED)
    asker.ask(c.RemovePublication, ready.correlation_id)


def test_what_a_receive_destination_gets_follows_its_answers(server: Server, asker: Asker) -> None:
    """The receiver reads the destination's socket when the answer is there."""
    added = asker.ask(c.AddSubscription, STREAM, "aeron:udp?control-mode=manual")
    with Aeron(server.aeron_dir) as aeron:
        for index in range(TRIES // 8):
            to = f"aeron:udp?endpoint=127.0.0.1:{40461 + index}"
            answer = asker.ask(c.AddReceiveDestination, added.correlation_id, to)
            assert isinstance(answer, REMOVED)
            with aeron.add_exclusive_publication(f"{to}|term-length=64k", STREAM) as publication:
                publication.wait_connected(30)
                answer = asker.ask(c.RemoveReceiveDestination, added.correlation_id, to)
                assert isinstance(answer, REMOVED)
    asker.ask(c.RemoveSubscription, added.correlation_id)


def test_a_rejected_image_ends_after_the_answer(server: Server, asker: Asker) -> None:
    channel = "aeron:udp?endpoint=127.0.0.1:40459|term-length=64k"
    added = asker.ask(c.AddSubscription, STREAM, channel)
    with Aeron(server.aeron_dir) as aeron:
        for _ in range(TRIES // 8):
            with aeron.add_exclusive_publication(channel, STREAM) as publication:
                image = asker.raw.until(lambda m: isinstance(m, r.AvailableImage))[-1]
                publication.wait_connected(30)
                number = image.correlation_id
                answer = asker.ask(c.RejectImage, number, publication.position, "no")
                assert isinstance(answer, REMOVED)
                asker.raw.until(
                    lambda m, n=number: isinstance(m, r.UnavailableImage) and m.correlation_id == n
                )
    asker.ask(c.RemoveSubscription, added.correlation_id)


def test_a_destination_is_known_by_its_id(asker: Asker) -> None:
    channel = "aeron:udp?control-mode=manual|term-length=64k"
    ready = asker.ask(c.AddExclusivePublication, STREAM, channel)
    for _ in range(TRIES):
        to = "aeron:udp?endpoint=127.0.0.1:40458"
        added = asker.ask(c.AddDestination, ready.correlation_id, to)
        removed = asker.ask(c.RemoveDestinationById, ready.correlation_id, added.correlation_id)
        assert isinstance(removed, REMOVED)
    asker.ask(c.RemovePublication, ready.correlation_id)
