"""Archives of both makes, driven by the reference's client: one body, a difference is a bug."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from peer.archive_session import ArchiveCounters, ArchiveSession
from peer.servers import Server, ServerSpec, start
from waits import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import peer

CHANNEL = "aeron:ipc?term-length=64k"


@dataclass
class Bench(ArchiveSession, ArchiveCounters):
    """A session with an archive that records streams of its own driver."""

    server: Server

    @property
    def archive_aeron_dir(self) -> str:
        """Directory of the archive's driver."""
        return self.server.aeron_dir

    def wait_unsubscribed(self) -> None:
        """Until no subscription of the stream is recorded any more."""
        wanted = {"channel": "", "stream": self.stream_id, "apply_stream": True}
        wait_until(
            lambda: not self.archive.recording_subscriptions(**wanted),
            f"the subscriptions of stream {self.stream_id} to go",
        )

    def replay(
        self, recording_id: int, position: int, length: int, stream_id: int | None = None
    ) -> peer.JavaSubscription:
        """A replay with its subscription."""
        return self.archive.replay(
            recording_id, position, length, "aeron:ipc", stream_id or self.stream_id + 50_000
        )


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
    return Bench(client, client.archive(), stream_id, CHANNEL, archive_server)


@pytest.fixture
def bench_of() -> Callable[[Server, peer.JavaAeron], Bench]:
    """Makes a bench of a server and a client."""
    return lambda server, client: Bench(client, client.archive(), 1001, CHANNEL, server)
