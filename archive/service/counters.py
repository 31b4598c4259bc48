"""The archive's counters (spec archive-protocol 19, spec counters 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog._version import __version__
from aerolog.archive.protocol.counter_types import (
    ARCHIVE_KEY,
    POSITION_KEY,
    SESSION_KEY,
    ArchiveCounterType,
)
from aerolog.archive.service import properties as p
from aerolog.archive.service.conductor.control_session import SessionEnd
from aerolog.transport.config.values import format_duration
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.memory.counters import MAX_LABEL_LENGTH

if TYPE_CHECKING:
    from concurrent.futures import Future

    from aerolog.archive.service.properties import ArchiveConfig
    from aerolog.transport.client.aeron import Aeron
    from aerolog.transport.client.client_counters import Counter
    from aerolog.transport.memory.counters import CountersReader

DROPS: Final = (
    SessionEnd.CLIENT_GONE,
    SessionEnd.NOT_ESTABLISHED,
    SessionEnd.NOT_READING,
    SessionEnd.FAILED,
)


def find_by_archive_id(reader: CountersReader, type_id: int, archive_id: int) -> int:
    """Return the first counter of a type whose key starts with an archive id, -1 when none does."""
    return reader.find_by_key_i64(type_id, archive_id)


def recording_position_key(
    recording_id: int, session_id: int, source_identity: str, archive_id: int
) -> bytes:
    """Encode the key of a recording position counter (spec archive-protocol 19.1)."""
    head = POSITION_KEY.pack(recording_id, session_id, text=source_identity)
    return head + ARCHIVE_KEY.numbers.pack(archive_id)


class ArchiveCounters:
    """The counters that live as long as the archive, allocated in the reference's order.

    Attributes:
        errors: error counter; None when the archive uses the driver's error counter.
        trackers: maximum and exceeded-count counters of duty cycles, by agent name.
        authentications_rejected: clients that the authenticator rejected.
        requests_unauthorised: requests that the authorisation service denied.
        sessions_refused: connect requests above the limit, or of another version.
        sessions_dropped: sessions that the archive ended, by reason.
    """

    def __init__(
        self, aeron: Aeron, config: ArchiveConfig, archive_id: int, *, own_errors: bool
    ) -> None:
        self._aeron = aeron
        self._archive_id = archive_id
        self._suffix = f" - archiveId={archive_id}"
        self._key = ARCHIVE_KEY.numbers.pack(archive_id)
        mode = config[p.THREADING_MODE]
        self.errors: Counter | None = None
        if own_errors:
            existing = find_by_archive_id(
                aeron.conductor.counters, ArchiveCounterType.ERRORS, archive_id
            )
            if existing >= 0:
                raise ConfigurationError(
                    f"found existing archive for archiveId={archive_id}: give this one another"
                    " aeron.archive.id"
                )
            self.errors = self._add(ArchiveCounterType.ERRORS, f" version={__version__}")
        self.trackers: dict[str, tuple[Counter, Counter]] = {}
        agents = [("archive-conductor", config[p.CONDUCTOR_THRESHOLD])]
        if mode == "DEDICATED":
            agents.append(("archive-recorder", config[p.RECORDER_THRESHOLD]))
            agents.append(("archive-replayer", config[p.REPLAYER_THRESHOLD]))
        for name, threshold_ns in agents:
            self.trackers[name] = (
                self._add(ArchiveCounterType.MAX_CYCLE_TIME, agent=name, mode=mode),
                self._add(
                    ArchiveCounterType.CYCLE_TIME_EXCEEDED,
                    agent=name,
                    threshold=format_duration(threshold_ns),
                    mode=mode,
                ),
            )
        self.control_sessions = self._add(ArchiveCounterType.CONTROL_SESSIONS)
        self.recording_sessions = self._add(ArchiveCounterType.RECORDING_SESSIONS)
        self.replay_sessions = self._add(ArchiveCounterType.REPLAY_SESSIONS)
        self.max_write_time = self._add(ArchiveCounterType.MAX_WRITE_TIME)
        self.total_write_bytes = self._add(ArchiveCounterType.WRITTEN_BYTES)
        self.total_write_time = self._add(ArchiveCounterType.WRITE_TIME)
        self.max_read_time = self._add(ArchiveCounterType.MAX_READ_TIME)
        self.total_read_bytes = self._add(ArchiveCounterType.READ_BYTES)
        self.total_read_time = self._add(ArchiveCounterType.READ_TIME)

    def release_archive_id(self) -> None:
        """Remove the counter by which archives find each other, for one that starts at once.

        The driver keeps the counters of a client that has closed until its next timer, which is up
        to a second away; a counter that is removed by itself is gone with the next command.
        """
        if self.errors is not None:
            self.errors.close()

    def add_own(self) -> None:
        """Add the counters that the reference does not have, after all those that it has."""
        self.authentications_rejected = self._add(ArchiveCounterType.AUTHENTICATIONS_REJECTED)
        self.requests_unauthorised = self._add(ArchiveCounterType.REQUESTS_UNAUTHORISED)
        self.sessions_refused = self._add(ArchiveCounterType.SESSIONS_REFUSED)
        self.sessions_dropped = {
            end: self._add(ArchiveCounterType.SESSIONS_DROPPED, reason=end.value) for end in DROPS
        }

    def add_times(self) -> tuple[Counter, Counter]:
        """Add the counters of the time index: entries written, and notes lost for lack of room."""
        self.times = (
            self._add(ArchiveCounterType.TIME_INDEX_ENTRIES),
            self._add(ArchiveCounterType.TIME_NOTES_LOST),
        )
        return self.times

    def add_verification(self) -> tuple[Counter, Counter, Counter, Counter]:
        """Add the counters of verification: bytes, segments, damaged segments, due segments."""
        return (
            self._add(ArchiveCounterType.VERIFIED_BYTES),
            self._add(ArchiveCounterType.VERIFIED_SEGMENTS),
            self._add(ArchiveCounterType.BAD_SEGMENTS),
            self._add(ArchiveCounterType.WAITING_SEGMENTS),
        )

    def _add(self, type_id: ArchiveCounterType, behind_suffix: str = "", **fields: str) -> Counter:
        label = type_id.label.format(**fields) + self._suffix + behind_suffix
        return self._aeron.add_counter(type_id, label, self._key)

    def write_ids(self) -> tuple[int, int, int]:
        """Return the ids of the recorder's counters: bytes, time in ns, longest time in ns."""
        return (
            self.total_write_bytes.counter_id,
            self.total_write_time.counter_id,
            self.max_write_time.counter_id,
        )

    def read_ids(self) -> tuple[int, int, int]:
        """Return the ids of the replayer's counters: bytes, time in ns, longest time in ns."""
        return (
            self.total_read_bytes.counter_id,
            self.total_read_time.counter_id,
            self.max_read_time.counter_id,
        )

    def recording_position(
        self,
        recording_id: int,
        session_id: int,
        stream_id: int,
        stripped_channel: str,
        source_identity: str,
    ) -> Counter:
        """Add a recording position counter; this waits for the driver."""
        kind = ArchiveCounterType.RECORDING_POSITION
        head = f"{kind.label}: {recording_id} {session_id} {stream_id} "
        room = MAX_LABEL_LENGTH - len(self._suffix) - len(head)
        return self._aeron.add_counter(
            kind,
            head + stripped_channel[:room] + self._suffix,
            recording_position_key(recording_id, session_id, source_identity, self._archive_id),
        )

    def control_session(
        self, control_session_id: int, client_info: str, source_identity: str, session_id: int
    ) -> Future[Counter]:
        """Add a control session's counter without waiting for the driver."""
        tail = f"sourceIdentity={source_identity} sessionId={session_id}{self._suffix}"
        kind = ArchiveCounterType.CONTROL_SESSION
        head = f"{kind.label}: {client_info} " if client_info else f"{kind.label}: "
        room = MAX_LABEL_LENGTH - len(tail)
        return self._aeron.add_counter_async(
            kind, head[:room] + tail, SESSION_KEY.numbers.pack(self._archive_id, control_session_id)
        )
