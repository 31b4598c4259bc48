"""Servers of ours that are killed, and streams whose every byte can be told again from a seed."""

from __future__ import annotations

import random
import shutil
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from peer.servers import Server, ServerSpec, start_ours
from shared_memory import memory_path
from waits import wait_until

from aerolog.archive.client import AeronArchive
from aerolog.transport.client import Aeron

if TYPE_CHECKING:
    from collections.abc import Iterator

WAIT_S = 60.0
DRIVER_PROPERTIES = {"aeron.client.liveness.timeout"}


def seeded_message(seed: int, index: int) -> bytes:
    """Message ``index`` of a stream: some shorter than a frame, some of several fragments."""
    source = random.Random(seed * 1_000_003 + index)
    length = source.choice((8, 40, 200, 1000, 1376, 3000, 6000))
    return index.to_bytes(8, "little") + source.randbytes(length)


@dataclass
class Publisher:
    """Offers seeded messages on a thread until told to stop.

    Attributes:
        positions: behind each message that was taken, in order.
    """

    publication: Any
    seed: int
    limit: int | None = None
    positions: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.is_set() and len(self.positions) != self.limit:
            message = seeded_message(self.seed, len(self.positions))
            while not self._stop.is_set():
                result = self.publication.offer(message)
                if result > 0:
                    self.positions.append(int(result))
                    break

    def stop(self) -> None:
        """End, and wait for the end."""
        self._stop.set()
        self._thread.join(WAIT_S)
        assert not self._thread.is_alive()


@dataclass
class Crashing:
    """A driver that lives, an archive that is killed and started again."""

    driver: Server
    archive_dir: Path
    properties: dict[str, str]
    aeron: Aeron
    archive: Server

    def connect(self) -> AeronArchive:
        """An archive client on the driver."""
        return AeronArchive(self.aeron, message_timeout=WAIT_S)

    def kill(self) -> None:
        """SIGKILL for the archive alone."""
        self.archive.process.kill()

    def restart(self) -> None:
        """Start an archive on the folder again."""
        self.archive = start_ours(
            ServerSpec("archive", self.driver.spec.aeron_dir, self.archive_dir, self.properties)
        )


@pytest.fixture
def aeron_dir() -> Iterator[Path]:
    """An unused Aeron directory path, removed after the test."""
    path = memory_path("crash")
    yield path
    for folder in (path, synced_folder(path)):
        shutil.rmtree(folder, ignore_errors=True)


def synced_folder(aeron_dir: Path) -> Path:
    """Where an archive that syncs has its folder.

    In memory: a disk that others write to may take longer to sync than a driver waits for a client,
    and what a kill leaves is the same.
    """
    return aeron_dir.with_name(f"{aeron_dir.name}-synced")


@pytest.fixture
def crashing(aeron_dir: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Crashing]:
    """Driver and archive in processes of their own; the archive's properties by parameter."""
    properties = dict(getattr(request, "param", {}))
    is_synced = properties.get("aeron.archive.file.sync.level", "0") != "0"
    folder = synced_folder(aeron_dir) if is_synced else tmp_path / "archive"
    archive_dir = Path(properties.pop("archive_dir", folder))
    of_driver = {name: properties.pop(name) for name in DRIVER_PROPERTIES & set(properties)}
    driver = start_ours(ServerSpec("driver", aeron_dir, properties=of_driver))
    archive = None
    try:
        archive = start_ours(ServerSpec("archive", aeron_dir, archive_dir, properties))
        with Aeron(str(aeron_dir)) as aeron:
            crashing = Crashing(driver, archive_dir, properties, aeron, archive)
            yield crashing
            archive = crashing.archive
    finally:
        for server in (archive, driver):
            if server is not None and server.process.running:
                assert server.process.stop() == 0


class Streams:
    """Helpers that tests of this folder share."""

    wait = staticmethod(wait_until)
    message = staticmethod(seeded_message)

    @staticmethod
    def publish(publication: Any, seed: int, limit: int | None = None) -> Publisher:
        """Start to offer a seeded stream."""
        return Publisher(publication, seed, limit)


@pytest.fixture
def streams() -> Streams:
    """Seeded streams."""
    return Streams()
