"""Archives of both makes, driven by the reference's client: one body, a difference is a bug."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from peer.servers import Server, ServerSpec, start
from waits import wait_until

from aerolog.transport.client import CountersReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import peer

WAIT_S = 30.0
CHANNEL = "aeron:ipc?term-length=64k"


@dataclass
class Bench:
    """One archive with a reference client on it, and a stream of the test's own."""

    server: Server
    client: peer.JavaAeron
    archive: peer.JavaArchive
    stream_id: int

    @staticmethod
    def wait(condition: Callable[[], Any], what: str, timeout: float = WAIT_S) -> Any:
        """See ``wait_until``."""
        return wait_until(condition, what, timeout)

    def record(self, channel: str = CHANNEL, stream_id: int | None = None) -> int:
        """Start a recording; the id of the subscription."""
        return self.archive.startRecording(channel, stream_id or self.stream_id, "LOCAL")

    def publish(self, channel: str = CHANNEL, stream_id: int | None = None) -> peer.JavaPublication:
        """A publication that somebody listens to."""
        publication = self.client.add_exclusive_publication(channel, stream_id or self.stream_id)
        wait_until(publication.isConnected, "the archive to subscribe")
        return publication

    def recordings(self, stream_id: int | None = None) -> list[dict[str, Any]]:
        """Descriptors of the recordings of the test's stream."""
        return self.archive.recordings(
            from_=0, count=1000, channel="", stream=stream_id or self.stream_id
        )

    def recording_id(self, count: int = 1) -> int:
        """Id of the newest recording of the stream, once there are so many."""
        return wait_until(
            lambda: (found := self.recordings()) and len(found) >= count and found,
            f"{count} recordings of stream {self.stream_id}",
        )[-1]["recordingId"]

    def wait_recorded(self, recording_id: int, position: int) -> None:
        """Until a live recording has reached a position."""
        wait_until(
            lambda: self.archive.getRecordingPosition(recording_id) >= position,
            f"recording {recording_id} to reach {position}",
        )

    def wait_stopped(self, recording_id: int) -> int:
        """Until a recording has its stop position, which is returned."""

        def stopped() -> int | None:
            position = self.archive.getStopPosition(recording_id)
            return None if position == -1 else position + 1

        return wait_until(stopped, f"recording {recording_id} to stop") - 1

    def recorded(self, count: int, length: int) -> tuple[int, int]:
        """Record numbered messages and stop: recording id and stop position."""
        before = len(self.recordings())
        self.record()
        publication = self.publish()
        position = publication.offer_numbered(count, length)["position"]
        recording_id = self.recording_id(before + 1)
        self.wait_recorded(recording_id, position)
        self.archive.stopRecording(CHANNEL, self.stream_id)
        assert self.wait_stopped(recording_id) == position
        publication.close()
        return recording_id, position

    def wait_unsubscribed(self) -> None:
        """Until no subscription of the stream is recorded any more."""
        wanted = {"channel": "", "stream": self.stream_id, "apply_stream": True}
        wait_until(
            lambda: not self.archive.recording_subscriptions(**wanted),
            f"the subscriptions of stream {self.stream_id} to go",
        )

    def counters(self) -> list[Any]:
        """All counters of the driver."""
        return list(CountersReader(self.server.aeron_dir).infos())

    def counter_value(self, type_id: int) -> int:
        """Value of the only counter of a type."""
        (found,) = [c for c in self.counters() if c.type_id == type_id]
        return found.value

    def replay(
        self, recording_id: int, position: int, length: int, stream_id: int | None = None
    ) -> peer.JavaSubscription:
        """A replay with its subscription."""
        return self.archive.replay(
            recording_id, position, length, "aeron:ipc", stream_id or self.stream_id + 50_000
        )

    def wait_replays_ended(self) -> None:
        """Until the archive replays nothing any more."""
        wait_until(lambda: self.counter_value(112) == 0, "replays to end")

    def signals(self, count: int) -> list[tuple[str, int]]:
        """The next signals of the session: name and position."""
        found: list[tuple[str, int]] = []

        def more() -> bool:
            found.extend(
                (s["signal"], s["position"])
                for s in self.archive.signals()
                if s["event"] == "signal"
            )
            return len(found) >= count

        wait_until(more, f"{count} signals, have {found}")
        return found


@pytest.fixture(scope="module")
def archive_beside_java_driver(
    session_servers: Callable[[str, str], Server], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[], Server]]:
    """Our archive in a process of its own, on the reference's driver."""
    running: list[Server] = []

    def get() -> Server:
        if not running:
            driver = session_servers("reference", "driver")
            folder = tmp_path_factory.mktemp("beside") / "archive"
            running.append(start("ours", ServerSpec("archive", driver.spec.aeron_dir, folder)))
        return running[0]

    yield get
    codes = [server.process.stop() for server in running]
    assert all(code == 0 for code in codes), codes


@pytest.fixture(params=["reference", "ours", "ours-beside-java-driver"])
def archive_server(
    request: pytest.FixtureRequest,
    session_servers: Callable[[str, str], Server],
    archive_beside_java_driver: Callable[[], Server],
) -> Server:
    """Each test body runs on the reference's archive, on ours, and on ours on their driver."""
    if request.param == "ours-beside-java-driver":
        return archive_beside_java_driver()
    return session_servers(request.param, "archiving-driver")


@pytest.fixture
def bench(
    archive_server: Server, java_client: Callable[..., peer.JavaAeron], stream_id: int
) -> Bench:
    """An archive, a client, a stream."""
    client = java_client(archive_server.aeron_dir)
    return Bench(archive_server, client, client.archive(), stream_id)


@pytest.fixture
def bench_of() -> Callable[[Server, peer.JavaAeron], Bench]:
    """Makes a bench of a server and a client."""
    return lambda server, client: Bench(server, client, client.archive(), 1001)
