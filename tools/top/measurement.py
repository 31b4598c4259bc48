"""What one look at a driver and its archive gives. The model takes these; tests make them up."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.tools.views.counters_snapshot import CountersSnapshot
    from aerolog.tools.views.driver_view import LossEntry, ObservedError
    from aerolog.tools.views.stream_views import StreamView


class DriverState(StrEnum):
    """The state of a driver."""

    LIVE = "live"
    SILENT = "silent"
    CLOSED = "closed"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class DriverFigures:
    """The figures of the driver itself.

    Attributes:
        aeron_dir: the driver's directory.
        state: live; silent, when its heartbeat is older than its timeout; closed, when it said so;
            absent, when there is nothing to read.
        pid: the driver's process id, 0 when there is none.
        start_ms: the time of the driver's start, epoch milliseconds.
        heartbeat_age_ms: milliseconds since the last sign of life, 0 when closed or absent.
        trouble: why nothing can be read, when absent.
    """

    aeron_dir: str
    state: DriverState
    pid: int = 0
    start_ms: int = 0
    heartbeat_age_ms: int = 0
    trouble: str = ""

    @property
    def incarnation(self) -> tuple[int, int]:
        """What another driver in the same directory does not have."""
        return self.pid, self.start_ms


@dataclass(frozen=True, slots=True)
class CycleHistogram:
    """How long an agent's duty cycles took, by powers of two.

    Attributes:
        agent: the agent's name, as in the label of its counter.
        counts: cycles of less than 2, 4, 8, ... ns, each beyond the one before; the last one
            takes all that are longer.
    """

    agent: str
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RecordingFigures:
    """A recording that is written now, or one that has stopped.

    Attributes:
        recording_id: the id in the recording's archive.
        archive_id: None when the counter does not say.
        session_id: the session id of the stream.
        stream_id: None when nobody knows.
        channel: the channel that the archive knows, or else the stream's.
        start_position: None when no archive directory is looked at.
        position: recorded up to.
        counter_id: the id of the position counter, -1 of a recording that has stopped.
        health: what is known of its soundness, empty while nothing is.
    """

    recording_id: int
    archive_id: int | None
    session_id: int
    stream_id: int | None
    channel: str
    start_position: int | None
    position: int
    counter_id: int
    health: str = ""


@dataclass(frozen=True, slots=True)
class ReplayFigures:
    """A replay that runs now.

    Attributes:
        registration_id: the registration id of the publication that carries it.
        recording_id: what is replayed, None when it cannot be told.
        session_id: the session id of the replay's stream.
        stream_id: the stream that carries it.
        channel: the channel that carries it.
        start_position: the position at which it began, None when nothing tells.
        position: published up to.
        limit: the position at which the recording ends now, None when nothing tells.
        live: whether that recording is still written, so that its end moves.
    """

    registration_id: int
    recording_id: int | None
    session_id: int
    stream_id: int
    channel: str
    start_position: int | None
    position: int
    limit: int | None
    live: bool


@dataclass(frozen=True, slots=True)
class ArchiveFigures:
    """The figures of an archive's folder.

    Attributes:
        archive_dir: where.
        state: what the archive's process does, in a word or two; empty when nobody knows.
        recordings: how many the catalog has.
        recorded_bytes: the bytes in all recordings.
        disk_free: bytes.
        disk_size: bytes.
        index: what time indexes there are, in words; empty while there is none.
        health: what verification knows, in words; empty while it knows nothing.
        is_sound: whether it knows nothing bad.
        retention: what lets old data go, in words; empty while there is nothing.
        has_failed: whether its last run did not come to its end.
        trouble: why the directory cannot be read, empty when it can.
    """

    archive_dir: str
    state: str = ""
    recordings: int = 0
    recorded_bytes: int = 0
    disk_free: int = 0
    disk_size: int = 0
    index: str = ""
    health: str = ""
    is_sound: bool = True
    retention: str = ""
    has_failed: bool = False
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """What one look has found.

    Attributes:
        at_ns: when, of the monotonic clock.
        wall_ms: when, epoch milliseconds.
        driver: itself.
        snapshot: all counters, None when the driver is absent.
        streams: by session, stream and channel.
        before: the same streams at the look before, one to one; empty when they changed.
        clients: how many are connected.
        errors: distinct ones, of the driver.
        archive_errors: the errors in the archive's own log.
        losses: the entries of the loss report.
        cycles: histograms of agents that keep them.
        recordings: being written now.
        replays: running now.
        archive: None when no archive directory is looked at.
        stopped: recordings of that directory that are not written any more.
    """

    at_ns: int
    wall_ms: int
    driver: DriverFigures
    snapshot: CountersSnapshot | None = None
    streams: Sequence[StreamView] = ()
    before: Sequence[StreamView] = ()
    clients: int = 0
    errors: Sequence[ObservedError] = ()
    losses: Sequence[LossEntry] = ()
    cycles: Sequence[CycleHistogram] = ()
    recordings: Sequence[RecordingFigures] = ()
    replays: Sequence[ReplayFigures] = ()
    archive: ArchiveFigures | None = None
    archive_errors: Sequence[ObservedError] = ()
    stopped: Sequence[RecordingFigures] = ()


class ReadingSource(Protocol):
    """A source of readings."""

    def look(self) -> Reading:
        """Looks once, without waiting for anything."""

    def close(self) -> None:
        """Lets go of the files."""
