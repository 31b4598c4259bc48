"""The archive's counters (spec archive-protocol 19, spec counters 7)."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from aerolog._version import __version__
from aerolog.archive.service import properties as p
from aerolog.archive.service.conductor.control_session import SessionEnd
from aerolog.transport.config.values import format_duration
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.memory.counters import MAX_KEY_LENGTH, MAX_LABEL_LENGTH

if TYPE_CHECKING:
    from concurrent.futures import Future

    from aerolog.archive.service.properties import ArchiveConfig
    from aerolog.transport.client.aeron import Aeron
    from aerolog.transport.client.client_counters import Counter
    from aerolog.transport.memory.counters import CountersReader

RECORDING_POSITION: Final = 100
ERROR_COUNT: Final = 101
CONTROL_SESSIONS: Final = 102
MAX_CYCLE_TIME: Final = 103
CYCLE_TIME_EXCEEDED: Final = 104
MAX_WRITE_TIME: Final = 105
TOTAL_WRITE_BYTES: Final = 106
TOTAL_WRITE_TIME: Final = 107
MAX_READ_TIME: Final = 108
TOTAL_READ_BYTES: Final = 109
TOTAL_READ_TIME: Final = 110
RECORDING_SESSIONS: Final = 111
REPLAY_SESSIONS: Final = 112
CONTROL_SESSION: Final = 113
# Counters that the reference does not have.
AUTHENTICATIONS_REJECTED: Final = 1101
REQUESTS_UNAUTHORISED: Final = 1102
SESSIONS_REFUSED: Final = 1103
SESSIONS_DROPPED: Final = 1104
TIME_INDEX_ENTRIES: Final = 10_011
TIME_NOTES_LOST: Final = 10_012
VERIFIED_BYTES: Final = 10_021
VERIFIED_SEGMENTS: Final = 10_022
BAD_SEGMENTS: Final = 10_023
WAITING_SEGMENTS: Final = 10_024
DROPS: Final = (
    SessionEnd.CLIENT_GONE,
    SessionEnd.NOT_ESTABLISHED,
    SessionEnd.NOT_READING,
    SessionEnd.FAILED,
)

_POSITION_KEY_FIXED: Final = 16 + 8
_I64 = struct.Struct("<q")
_POSITION_KEY = struct.Struct("<qii")


def find_by_archive_id(reader: CountersReader, type_id: int, archive_id: int) -> int:
    """Return the first counter of a type whose key starts with an archive id, -1 when none does."""
    return reader.find_by_key_i64(type_id, archive_id)


def recording_position_key(
    recording_id: int, session_id: int, source_identity: str, archive_id: int
) -> bytes:
    """Encode the key of a recording position counter (spec archive-protocol 19.1)."""
    identity = source_identity.encode("ascii", "replace")[: MAX_KEY_LENGTH - _POSITION_KEY_FIXED]
    return (
        _POSITION_KEY.pack(recording_id, session_id, len(identity))
        + identity
        + _I64.pack(archive_id)
    )


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
        self._key = _I64.pack(archive_id)
        mode = config[p.THREADING_MODE]
        self.errors: Counter | None = None
        if own_errors:
            existing = find_by_archive_id(aeron.conductor.counters, ERROR_COUNT, archive_id)
            if existing >= 0:
                raise ConfigurationError(
                    f"found existing archive for archiveId={archive_id}: give this one another"
                    " aeron.archive.id"
                )
            self.errors = self._add(ERROR_COUNT, "Archive Errors", f" version={__version__}")
        self.trackers: dict[str, tuple[Counter, Counter]] = {}
        agents = [("archive-conductor", config[p.CONDUCTOR_THRESHOLD])]
        if mode == "DEDICATED":
            agents.append(("archive-recorder", config[p.RECORDER_THRESHOLD]))
            agents.append(("archive-replayer", config[p.REPLAYER_THRESHOLD]))
        for name, threshold_ns in agents:
            self.trackers[name] = (
                self._add(MAX_CYCLE_TIME, f"{name} max cycle time in ns: {mode}"),
                self._add(
                    CYCLE_TIME_EXCEEDED,
                    f"{name} work cycle time exceeded count:"
                    f" threshold={format_duration(threshold_ns)} {mode}",
                ),
            )
        self.control_sessions = self._add(CONTROL_SESSIONS, "Archive Control Sessions")
        self.recording_sessions = self._add(RECORDING_SESSIONS, "Archive Recording Sessions")
        self.replay_sessions = self._add(REPLAY_SESSIONS, "Archive Replay Sessions")
        self.max_write_time = self._add(MAX_WRITE_TIME, "archive-recorder max write time in ns")
        self.total_write_bytes = self._add(TOTAL_WRITE_BYTES, "archive-recorder total write bytes")
        self.total_write_time = self._add(
            TOTAL_WRITE_TIME, "archive-recorder total write time in ns"
        )
        self.max_read_time = self._add(MAX_READ_TIME, "archive-replayer max read time in ns")
        self.total_read_bytes = self._add(TOTAL_READ_BYTES, "archive-replayer total read bytes")
        self.total_read_time = self._add(TOTAL_READ_TIME, "archive-replayer total read time in ns")

    def release_archive_id(self) -> None:
        """Remove the counter by which archives find each other, for one that starts at once.

        The driver keeps the counters of a client that has closed until its next timer, which is up
        to a second away; a counter that is removed by itself is gone with the next command.
        """
        if self.errors is not None:
            self.errors.close()

    def add_own(self) -> None:
        """Add the counters that the reference does not have, after all those that it has."""
        self.authentications_rejected = self._add(
            AUTHENTICATIONS_REJECTED, "Archive Authentications Rejected"
        )
        self.requests_unauthorised = self._add(
            REQUESTS_UNAUTHORISED, "Archive Requests Unauthorised"
        )
        self.sessions_refused = self._add(SESSIONS_REFUSED, "Archive Control Sessions Refused")
        self.sessions_dropped = {
            end: self._add(SESSIONS_DROPPED, f"Archive Control Sessions Dropped: {end.value}")
            for end in DROPS
        }

    def add_times(self) -> tuple[Counter, Counter]:
        """Add the counters of the time index: entries written, and notes lost for lack of room."""
        self.times = (
            self._add(TIME_INDEX_ENTRIES, "Archive Time Index Entries"),
            self._add(TIME_NOTES_LOST, "Archive Time Notes Lost"),
        )
        return self.times

    def add_verification(self) -> tuple[Counter, Counter, Counter, Counter]:
        """Add the counters of verification: bytes, segments, damaged segments, due segments."""
        return (
            self._add(VERIFIED_BYTES, "Archive Verified Bytes"),
            self._add(VERIFIED_SEGMENTS, "Archive Verified Segments"),
            self._add(BAD_SEGMENTS, "Archive Bad Segments"),
            self._add(WAITING_SEGMENTS, "Archive Segments To Verify"),
        )

    def _add(self, type_id: int, label: str, behind_suffix: str = "") -> Counter:
        return self._aeron.add_counter(type_id, label + self._suffix + behind_suffix, self._key)

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
        head = f"rec-pos: {recording_id} {session_id} {stream_id} "
        room = MAX_LABEL_LENGTH - len(self._suffix) - len(head)
        return self._aeron.add_counter(
            RECORDING_POSITION,
            head + stripped_channel[:room] + self._suffix,
            recording_position_key(recording_id, session_id, source_identity, self._archive_id),
        )

    def control_session(
        self, control_session_id: int, client_info: str, source_identity: str, session_id: int
    ) -> Future[Counter]:
        """Add a control session's counter without waiting for the driver."""
        tail = f"sourceIdentity={source_identity} sessionId={session_id}{self._suffix}"
        head = f"control-session: {client_info} " if client_info else "control-session: "
        room = MAX_LABEL_LENGTH - len(tail)
        return self._aeron.add_counter_async(
            CONTROL_SESSION, head[:room] + tail, self._key + _I64.pack(control_session_id)
        )
