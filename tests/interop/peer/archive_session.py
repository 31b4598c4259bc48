"""A session of the reference's client with an archive of either make, and what tests do in it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from waits import wait_until

from aerolog.archive.protocol.counter_types import ArchiveCounterType
from aerolog.transport.client import CountersReader

if TYPE_CHECKING:
    from peer.client import JavaAeron, JavaArchive, JavaPublication

REPLAY_SESSIONS = (
    ArchiveCounterType.REPLAY_SESSIONS
)  # type id of the counter of an archive's replays


class ArchiveCounters(ABC):
    """The counters of an archive's driver, in the directory ``archive_aeron_dir``."""

    @property
    @abstractmethod
    def archive_aeron_dir(self) -> str:
        """Directory of the archive's driver."""

    def counters(self) -> list[Any]:
        """All counters of the driver."""
        return list(CountersReader(self.archive_aeron_dir).infos())

    def counter_value(self, type_id: int) -> int:
        """Value of the only counter of a type."""
        (found,) = [c for c in self.counters() if c.type_id == type_id]
        return int(found.value)

    def wait_replays_ended(self) -> None:
        """Until the archive replays nothing any more."""
        wait_until(lambda: self.counter_value(REPLAY_SESSIONS) == 0, "replays to end")


@dataclass
class ArchiveSession:
    """A reference client with a session, and a channel and a stream of the test's own."""

    location: ClassVar[str] = "LOCAL"  # of the recorded streams, seen from the archive
    client: JavaAeron
    archive: JavaArchive
    stream_id: int
    channel: str

    def record(
        self, channel: str | None = None, stream_id: int | None = None, location: str | None = None
    ) -> int:
        """Start a recording; the id of the subscription."""
        subscription_id: int = self.archive.startRecording(
            channel or self.channel, stream_id or self.stream_id, location or self.location
        )
        return subscription_id

    def publish(
        self,
        channel: str | None = None,
        stream_id: int | None = None,
        client: JavaAeron | None = None,
    ) -> JavaPublication:
        """A publication that somebody listens to."""
        publication = (client or self.client).add_exclusive_publication(
            channel or self.channel, stream_id or self.stream_id
        )
        wait_until(publication.isConnected, "the archive to subscribe")
        return publication

    def recordings(self, stream_id: int | None = None) -> list[dict[str, Any]]:
        """Descriptors of the recordings of the test's stream."""
        return self.archive.recordings(
            from_=0, count=1000, channel="", stream=stream_id or self.stream_id
        )

    def recording_id(self, count: int = 1) -> int:
        """Id of the newest recording of the stream, once there are so many."""
        recordings = wait_until(
            lambda: (found := self.recordings()) and len(found) >= count and found,
            f"{count} recordings of stream {self.stream_id}",
        )
        return int(recordings[-1]["recordingId"])

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

        return int(wait_until(stopped, f"recording {recording_id} to stop")) - 1

    def recorded(self, count: int, length: int) -> tuple[int, int]:
        """Record numbered messages and stop: recording id and stop position."""
        before = len(self.recordings())
        self.record()
        publication = self.publish()
        position = publication.offer_numbered(count, length)["position"]
        recording_id = self.recording_id(before + 1)
        self.wait_recorded(recording_id, position)
        self.archive.stopRecording(self.channel, self.stream_id)
        assert self.wait_stopped(recording_id) == position
        publication.close()
        return recording_id, position

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
