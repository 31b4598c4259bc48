"""The types of an archive's counters (spec counters 7), and of those that only ours has."""

from __future__ import annotations

from typing import Final

from aerolog.transport.counters.counter_kind import NO_KEY, CounterKind, KeyLayout

ARCHIVE_KEY: Final = KeyLayout("i64 archive id")
SESSION_KEY: Final = KeyLayout("i64 archive id", "i64 control session id")
POSITION_KEY: Final = KeyLayout(
    "i64 recording id", "i32 session id", "i32 length", "text source identity", "i64 archive id"
)
RECORDING_KEY: Final = KeyLayout("i64 recording id")


class ArchiveCounterType(CounterKind):
    """Types of the counters of archives and of their clients."""

    RECORDING_POSITION = 100, "rec-pos", POSITION_KEY, "Position up to which a stream is recorded"
    ERRORS = 101, "Archive Errors", ARCHIVE_KEY, "Errors, repeated ones included"
    CONTROL_SESSIONS = 102, "Archive Control Sessions", ARCHIVE_KEY, "Open control sessions"
    MAX_CYCLE_TIME = (
        103,
        "{agent} max cycle time in ns: {mode}",
        ARCHIVE_KEY,
        "Longest duty cycle of an agent since the start, nanoseconds",
    )
    CYCLE_TIME_EXCEEDED = (
        104,
        "{agent} work cycle time exceeded count: threshold={threshold} {mode}",
        ARCHIVE_KEY,
        "Duty cycles of an agent that took longer than the threshold",
    )
    MAX_WRITE_TIME = (
        105,
        "archive-recorder max write time in ns",
        ARCHIVE_KEY,
        "Longest write since the start, nanoseconds",
    )
    WRITTEN_BYTES = 106, "archive-recorder total write bytes", ARCHIVE_KEY, "Bytes written"
    WRITE_TIME = (
        107,
        "archive-recorder total write time in ns",
        ARCHIVE_KEY,
        "Time taken by writes, nanoseconds",
    )
    MAX_READ_TIME = (
        108,
        "archive-replayer max read time in ns",
        ARCHIVE_KEY,
        "Longest read since the start, nanoseconds",
    )
    READ_BYTES = 109, "archive-replayer total read bytes", ARCHIVE_KEY, "Bytes read"
    READ_TIME = (
        110,
        "archive-replayer total read time in ns",
        ARCHIVE_KEY,
        "Time taken by reads, nanoseconds",
    )
    RECORDING_SESSIONS = 111, "Archive Recording Sessions", ARCHIVE_KEY, "Active recordings"
    REPLAY_SESSIONS = 112, "Archive Replay Sessions", ARCHIVE_KEY, "Active replays"
    CONTROL_SESSION = 113, "control-session", SESSION_KEY, "Id of the control session"
    SUBSCRIPTION_STATE = (
        114,
        "Persistent Subscription State",
        NO_KEY,
        "What the persistent subscription does",
    )
    SUBSCRIPTION_JOIN_DIFFERENCE = (
        115,
        "Persistent Subscription Join Difference",
        NO_KEY,
        "Bytes between the replay and the live stream",
    )
    SUBSCRIPTION_LIVE_LEFT = (
        116,
        "Persistent Subscription Live Left Count",
        NO_KEY,
        "Times the subscription left the live stream",
    )
    SUBSCRIPTION_LIVE_JOINED = (
        117,
        "Persistent Subscription Live Joined Count",
        NO_KEY,
        "Times the subscription joined the live stream",
    )
    AUTHENTICATIONS_REJECTED = (
        1101,
        "Archive Authentications Rejected",
        ARCHIVE_KEY,
        "Clients that the authenticator rejected",
    )
    REQUESTS_UNAUTHORISED = (
        1102,
        "Archive Requests Unauthorised",
        ARCHIVE_KEY,
        "Requests that the authorisation service denied",
    )
    SESSIONS_REFUSED = (
        1103,
        "Archive Control Sessions Refused",
        ARCHIVE_KEY,
        "Connect requests above the limit, or of another version",
    )
    SESSIONS_DROPPED = (
        1104,
        "Archive Control Sessions Dropped: {reason}",
        ARCHIVE_KEY,
        "Sessions that the archive ended, for one reason",
    )
    TIME_INDEX_ENTRIES = (
        10_011,
        "Archive Time Index Entries",
        ARCHIVE_KEY,
        "Entries written to time indexes",
    )
    TIME_NOTES_LOST = (
        10_012,
        "Archive Time Notes Lost",
        ARCHIVE_KEY,
        "Entries that time indexes lack, for want of room",
    )
    VERIFIED_BYTES = 10_021, "Archive Verified Bytes", ARCHIVE_KEY, "Bytes verified"
    VERIFIED_SEGMENTS = 10_022, "Archive Verified Segments", ARCHIVE_KEY, "Segment files verified"
    BAD_SEGMENTS = 10_023, "Archive Bad Segments", ARCHIVE_KEY, "Damaged segment files"
    WAITING_SEGMENTS = (
        10_024,
        "Archive Segments To Verify",
        ARCHIVE_KEY,
        "Segment files that wait to be verified",
    )
    REPLAY_LIMIT = (
        10_041,
        "aerolog-replay-limit",
        RECORDING_KEY,
        "Position up to which the archive may replay now",
    )


#: Types of the counters that an archive adds as a whole, and not for a recording or a session.
OF_ARCHIVES: Final = frozenset(
    each for each in ArchiveCounterType if each.key in {ARCHIVE_KEY, SESSION_KEY}
)
