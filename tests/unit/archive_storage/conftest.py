"""A rig with recordings of many segments, and a disk that writes down what is done to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from archive_rig import CHANNEL, Rig

from aerolog.archive import protocol as ap
from aerolog.testing import FakeFileSystem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SEGMENT = 64 * 1024
FRAME = 1024
PER_SEGMENT = SEGMENT // FRAME


def plain_message(position: int) -> bytes:
    """A message that fills a frame and says where it is."""
    return position.to_bytes(8, "little") * ((FRAME - 32) // 8)


class NotingDisk(FakeFileSystem):
    """Notes operations in the archive's folder, and refuses some.

    Attributes:
        noted: kind of the operation and name of the file.
        refused: kind and name of those that fail, with the error to raise.
    """

    def __init__(self) -> None:
        super().__init__()
        self.noted: list[tuple[str, str]] = []
        self.refused: dict[tuple[str, str], OSError] = {}

    def before(
        self, kind: str, path: str, offset: int = 0, data: bytes = b"", *, length: int = 0
    ) -> None:
        # A view of a mapping is noted as a store by the disk; the catalog's words are what counts.
        if path.startswith("/archive/") and kind != "store":
            operation = (kind, path.removeprefix("/archive/"))
            self.noted.append(operation)
            if operation in self.refused:
                raise self.refused[operation]

    def segments(self) -> list[str]:
        """Names of the segment files that there are."""
        return [name for name in self.list_dir("/archive") if ".rec" in name]


class StorageRig(Rig):
    """A rig that makes recordings of a number of segments."""

    disk: NotingDisk

    def __init__(self, **options: object) -> None:
        super().__init__(disk=NotingDisk(), **options)
        self.connect()

    def recorded(
        self,
        count: int,
        *,
        stream_id: int = 1,
        position: int = 0,
        message_at: Callable[[int], bytes] = plain_message,
    ) -> int:
        """A stopped recording of so many frames of 1 KiB; its id."""
        term = position // SEGMENT
        channel = f"{CHANNEL}|init-term-id=5|term-id={5 + term}|term-offset={position % SEGMENT}"
        subscription_id = self.start(stream_id)
        recordings = self.archive._conductor.recordings
        publication = self.aeron.add_exclusive_publication(channel, stream_id)
        self.wait(lambda: recordings.sessions, "the recording")
        (recording_id,) = recordings.sessions
        for index in range(count):
            message = message_at(position + index * FRAME)
            self.wait(lambda m=message: publication.offer(m) > 0, "room for a message")
        self.wait(
            lambda: recordings.position(recording_id) == publication.position, "all of it recorded"
        )
        self.ask(ap.StopRecordingSubscriptionRequest, subscription_id=subscription_id)
        self.wait(lambda: not recordings.sessions, "the end of the recording")
        publication.close()
        self.disk.noted.clear()
        return recording_id

    def stop_position(self, recording_id: int) -> int:
        """Of a recording."""
        return self.ask(ap.StopPositionRequest, recording_id=recording_id)

    def start_position(self, recording_id: int) -> int:
        """Of a recording."""
        return self.ask(ap.StartPositionRequest, recording_id=recording_id)

    def deleted(self, recording_id: int) -> None:
        """Wait for the DELETE signal of a recording."""
        self.wait(lambda: ("DELETE", recording_id, -1) in self.signals(), "the DELETE signal")


@pytest.fixture
def make_rig() -> Iterator[Callable[..., StorageRig]]:
    """Makes rigs with options of the archive."""
    made: list[StorageRig] = []

    def make(**options: object) -> StorageRig:
        made.append(StorageRig(**options))
        return made[-1]

    yield make
    for rig in made:
        rig.close()


@pytest.fixture
def rig(make_rig: Callable[..., StorageRig]) -> StorageRig:
    """A rig with a session that is open."""
    return make_rig()
