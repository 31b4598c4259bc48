"""Our archive client in both forms, against an archive of either make."""

import asyncio
import inspect
import itertools
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from aerolog.archive import protocol as ap
from aerolog.archive.client import AeronArchive, AsyncAeronArchive, RecordingSignal
from aerolog.archive.client.control_stream import ControlStream
from aerolog.archive.client.request import Request
from aerolog.transport.client import Aeron

CHANNEL = "aeron:ipc?term-length=64k"
FRAME = 1024
SEGMENT = 128 * 1024  # as the harness sets archives up
WAIT_S = 30.0
FORMS = ["waiting", "awaited"]
_control_streams = itertools.count(110)


def payload(index: int) -> bytes:
    """A message that fills a frame of FRAME bytes and says its number."""
    return index.to_bytes(4, "little") * ((FRAME - 32) // 4)


async def settle(result: Any) -> Any:
    """What an operation of either form gives."""
    return await result if inspect.isawaitable(result) else result


async def each(series: Any) -> AsyncIterator[Any]:
    """What a series of either form gives, one by one."""
    if hasattr(series, "__aiter__"):
        async for one in series:
            yield one
    else:
        for one in series:
            yield one


class Archive:
    """A client whose operations are awaited, whichever form it has.

    Attributes:
        client: the client itself, for what does not wait.
    """

    def __init__(self, client: AeronArchive | AsyncAeronArchive) -> None:
        self.client = client

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self.client, name)

        def operate(*args: Any, **kwargs: Any) -> Any:
            result = method(*args, **kwargs)
            return each(result) if hasattr(result, "__next__") else settle_or_each(result)

        return operate

    async def ask(self, call: Request[Any]) -> Any:
        """A request that no operation makes."""
        return await settle(self.client.caller.carry_out(self.client.conversation.ask(call)))

    async def signal(self, kind: RecordingSignal, **wanted: Any) -> Any:
        """The next signal of a kind."""
        series = each(self.client.signals(WAIT_S, kinds=kind, **wanted))
        async for signal in series:
            return signal
        raise AssertionError(f"no {kind.name} signal of {wanted} in {WAIT_S} s")


def settle_or_each(result: Any) -> Any:
    return each(result) if hasattr(result, "__aiter__") else settle(result)


async def connect(form: str, aeron: Aeron, **options: Any) -> Archive:
    """A client of either form."""
    options.setdefault("message_timeout", WAIT_S)
    if form == "waiting":
        return Archive(AeronArchive(aeron, **options))
    return Archive(await AsyncAeronArchive.connect(aeron, **options))


async def until(condition: Callable[[], Any], what: str) -> Any:
    """The first true answer of a condition that may be awaited; fails when none comes in time."""
    deadline = time.monotonic() + WAIT_S
    while not (answer := await settle(condition())):
        assert time.monotonic() < deadline, f"not within {WAIT_S} s: {what}"
        await asyncio.sleep(0.001)
    return answer


class Bench:
    """One client on an archive, and what it takes to record something.

    Attributes:
        server: the archive.
        archive: the client.
        aeron: its transport client.
        stream_id: for recordings of this test.
        sent: the kinds of request that were sent, oldest first.
    """

    def __init__(self, server: Any, archive: Archive, stream_id: int, start_server: Any) -> None:
        self.server, self.archive, self.stream_id = server, archive, stream_id
        self.aeron: Aeron = archive.client.aeron
        self.sent: list[type[ap.Message]] = []
        self._start_server = start_server

    def publish(self, publication: Any, count: int, first: int = 0) -> int:
        """Send numbered messages; the position reached."""
        publication.wait_connected(WAIT_S)
        for index in range(first, first + count):
            position = publication.send(payload(index), timeout=WAIT_S)
        return position

    async def recorded(self, recording_id: int, position: int) -> None:
        """Wait until a position is recorded."""
        await until(
            lambda: (
                (counter := self.archive.client.recording_position_counter(recording_id))
                and counter.value >= position
            ),
            f"{position} to be recorded",
        )

    async def live(self, count: int = 10, **channel: Any) -> tuple[int, Any, int]:
        """A recording that goes on: its id, its publication, and the position."""
        before = self.archive.client.poll_signals(kinds=RecordingSignal.START)
        assert before == []
        await self.archive.start_recording(CHANNEL, self.stream_id)
        publication = self.aeron.add_exclusive_publication(
            channel.get("channel", CHANNEL), self.stream_id
        )
        recording_id = (await self.archive.signal(RecordingSignal.START)).recording_id
        position = self.publish(publication, count)
        await self.recorded(recording_id, position)
        return recording_id, publication, position

    async def stopped(self, count: int = 10, **channel: Any) -> Any:
        """A recording of so many frames that has stopped: its descriptor."""
        recording_id, publication, _ = await self.live(count, **channel)
        await self.archive.stop_recording(CHANNEL, self.stream_id)
        await self.archive.signal(RecordingSignal.STOP, recording_id=recording_id)
        publication.close()
        return await self.archive.list_recording(recording_id)

    async def without_subscription(self) -> None:
        """Wait until a recording that stops by itself has let go of its subscription."""

        async def is_gone() -> bool:
            return not await self.archive.list_recording_subscriptions(stream_id=self.stream_id)

        await until(is_gone, "the subscription to be closed")

    async def messages(self, recording_id: int, *args: int) -> list[bytes]:
        """What a recording holds."""
        return [one.data async for one in self.archive.read(recording_id, *args)]

    def another_archive(self) -> tuple[Any, int]:
        """A second archive of the same make on the same driver, and its control stream."""
        stream_id = next(_control_streams)
        server = self._start_server(
            self.server.implementation,
            "archive",
            aeron_dir=self.server.spec.aeron_dir,
            properties={
                "aeron.archive.control.stream.id": str(stream_id),
                "aeron.archive.local.control.stream.id": str(stream_id),
                "aeron.archive.recording.events.enabled": "false",
            },
        )
        return server, stream_id


@pytest.fixture
def sent_requests(monkeypatch: pytest.MonkeyPatch) -> list[type[ap.Message]]:
    """The kinds of request that any client of the test has sent."""
    kinds: list[type[ap.Message]] = []
    offer = ControlStream.offer

    def spy(stream: ControlStream, request: bytes) -> bool:
        sent = offer(stream, request)
        if sent:
            kinds.append(type(ap.decode(request)))
        return sent

    monkeypatch.setattr(ControlStream, "offer", spy)
    return kinds


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest) -> str:
    """Each test body runs with the client that waits and with the one that is awaited."""
    return str(request.param)


@pytest.fixture
async def bench(
    form: str,
    any_archive: Any,
    our_client: Any,
    stream_id: int,
    start_server: Any,
    sent_requests: list[type[ap.Message]],
) -> AsyncIterator[Bench]:
    """A client of either form on an archive of either make, shared by the run."""
    archive = await connect(form, our_client(any_archive.aeron_dir))
    bench = Bench(any_archive, archive, stream_id, start_server)
    bench.sent = sent_requests
    yield bench
    await settle(archive.client.close())
