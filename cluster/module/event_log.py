"""A consensus module's event log: what it writes, and how an event becomes a line of text.

The property ``aeron.event.cluster.log`` switches it on. Without it `NO_EVENTS` is used, which does
nothing. Only elections, changes of state, acknowledgements and the like are logged, no messages.
"""

from __future__ import annotations

import struct
from enum import Enum, IntEnum
from typing import TYPE_CHECKING, Any, Final

from aerolog.transport.events.component_events import ComponentEvents, EventComponent
from aerolog.transport.events.event_codes import CLUSTER
from aerolog.transport.events.event_fields import Fields, name_and_text, text_field
from aerolog.transport.events.properties import EVENT_CLUSTER_LOG, EVENT_CLUSTER_LOG_DISABLE
from aerolog.transport.protocol.sbe import semantic_version_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.transport.concurrent.clock import Clock
    from aerolog.transport.config.settings import Settings


class ClusterEventCode(IntEnum):
    """The events of a consensus module; names and numbers are the reference's."""

    ELECTION_STATE_CHANGE = 1
    NEW_LEADERSHIP_TERM = 2
    STATE_CHANGE = 3
    ROLE_CHANGE = 4
    CANVASS_POSITION = 5
    REQUEST_VOTE = 6
    CATCHUP_POSITION = 7
    STOP_CATCHUP = 8
    TRUNCATE_LOG_ENTRY = 9
    REPLAY_NEW_LEADERSHIP_TERM = 10
    APPEND_POSITION = 11
    COMMIT_POSITION = 12
    ADD_PASSIVE_MEMBER = 13
    APPEND_SESSION_CLOSE = 14
    DYNAMIC_JOIN_STATE_CHANGE_UNUSED = 15
    CLUSTER_BACKUP_STATE_CHANGE = 16
    TERMINATION_POSITION = 17
    TERMINATION_ACK = 18
    SERVICE_ACK = 19
    REPLICATION_ENDED = 20
    STANDBY_SNAPSHOT_NOTIFICATION = 21
    NEW_ELECTION = 22


E = ClusterEventCode

#: Kind of a field -> how its number is packed and shown; a text has no number.
_NUMBERS: Final[dict[str, tuple[str, Callable[[int], str]]]] = {
    "int": ("i", str),
    "long": ("q", str),
    "bool": ("b", lambda value: "true" if value else "false"),
    "flags": ("B", lambda value: f"0b{value:08b}"),
    "version": ("i", semantic_version_text),
}
#: A change of state, which has no name in the line.
_CHANGE: Final = "change"

_CHANGED: Final = "memberId:int change"
#: The fields of each event with their kinds, in the order of the line; without a kind it is a long.
_LINES: Final[dict[ClusterEventCode, str]] = {
    E.ELECTION_STATE_CHANGE: "memberId:int change leaderId:int candidateTermId leadershipTermId"
    " logPosition logLeadershipTermId appendPosition catchupPosition reason:text",
    E.NEW_LEADERSHIP_TERM: "memberId:int logLeadershipTermId nextLeadershipTermId"
    " nextTermBaseLogPosition nextLogPosition leadershipTermId termBaseLogPosition logPosition"
    " leaderRecordingId timestamp leaderId:int logSessionId:int appVersion:version isStartup:bool",
    E.STATE_CHANGE: _CHANGED,
    E.ROLE_CHANGE: _CHANGED,
    E.CANVASS_POSITION: "memberId:int logLeadershipTermId logPosition leadershipTermId"
    " followerMemberId:int protocolVersion:version",
    E.REQUEST_VOTE: "memberId:int logLeadershipTermId logPosition candidateTermId candidateId:int"
    " protocolVersion:version",
    E.CATCHUP_POSITION: "memberId:int leadershipTermId logPosition followerMemberId:int"
    " catchupEndpoint:text",
    E.STOP_CATCHUP: "memberId:int leadershipTermId followerMemberId:int",
    E.TRUNCATE_LOG_ENTRY: "memberId:int state:text logLeadershipTermId leadershipTermId"
    " candidateTermId commitPosition logPosition appendPosition oldPosition newPosition",
    E.REPLAY_NEW_LEADERSHIP_TERM: "memberId:int isInElection:bool leadershipTermId logPosition"
    " termBaseLogPosition appVersion:int timestamp timeUnit:text",
    E.APPEND_POSITION: "memberId:int leadershipTermId logPosition followerMemberId:int flags:flags",
    E.COMMIT_POSITION: "memberId:int leadershipTermId logPosition leaderId:int",
    E.ADD_PASSIVE_MEMBER: "memberId:int correlationId memberEndpoints:text",
    E.APPEND_SESSION_CLOSE: "memberId:int sessionId closeReason:text leadershipTermId timestamp"
    " timeUnit:text",
    E.CLUSTER_BACKUP_STATE_CHANGE: _CHANGED,
    E.TERMINATION_POSITION: "memberId:int logLeadershipTermId logPosition",
    E.TERMINATION_ACK: "memberId:int logLeadershipTermId logPosition senderMemberId:int",
    E.SERVICE_ACK: "memberId:int logPosition timestamp timeUnit:text ackId relevantId"
    " serviceId:int",
    E.REPLICATION_ENDED: "memberId:int purpose:text channel:text srcRecordingId dstRecordingId"
    " position hasSynced:bool",
    E.STANDBY_SNAPSHOT_NOTIFICATION: "memberId:int recordingId leadershipTermId"
    " termBaseLeadershipPosition logPosition timestamp timeUnit:text serviceId:int"
    " archiveEndpoint:text",
    E.NEW_ELECTION: "memberId:int leadershipTermId logPosition appendPosition reason:text",
}
#: The fields of an event: name and kind.
_FIELDS: Final[dict[ClusterEventCode, list[tuple[str, str]]]] = {
    event: [
        (name, kind or (_CHANGE if name == _CHANGE else "long"))
        for name, _, kind in (field.partition(":") for field in line.split())
    ]
    for event, line in _LINES.items()
}
_TIME_UNITS: Final = {"MILLIS": "MILLISECONDS", "MICROS": "MICROSECONDS", "NANOS": "NANOSECONDS"}


def encode(event: ClusterEventCode, values: tuple[Any, ...]) -> bytes:
    """Encode the fields of an event, in the order of its line.

    Args:
        event: the event.
        values: a value for each field: numbers, texts, members of enums for their names, and for
            a change the old and the new state.
    """
    encoded = b""
    for (_, kind), value in zip(_FIELDS[event], values, strict=True):
        if kind in _NUMBERS:
            encoded += struct.pack("<" + _NUMBERS[kind][0], value)
        elif kind == _CHANGE:
            old, new = value
            encoded += text_field(f"{old.name} -> {new.name}")
        else:
            name = value.name if isinstance(value, Enum) else value
            encoded += text_field(_TIME_UNITS.get(name, name))
    return encoded


def dissect(event: int, data: bytes) -> tuple[str, str]:
    """Return name and text of an event.

    Args:
        event: the event's number; an unknown one is shown as a number.
        data: the recorded bytes, which may be truncated.
    """
    return name_and_text(ClusterEventCode, event, data, _text)


def _text(event: ClusterEventCode, data: bytes) -> str:
    fields = Fields(data)
    return " ".join(_shown(fields, name, kind) for name, kind in _FIELDS.get(event, ()))


def _shown(fields: Fields, name: str, kind: str) -> str:
    if kind in _NUMBERS:
        code, text = _NUMBERS[kind]
        return f"{name}={text(fields.take(code))}"
    return fields.text() if kind == _CHANGE else f"{name}={fields.text()}"


_COMPONENT: Final = EventComponent(
    CLUSTER, "CLUSTER", ClusterEventCode, EVENT_CLUSTER_LOG, EVENT_CLUSTER_LOG_DISABLE, dissect
)


class ClusterEvents(ComponentEvents[ClusterEventCode]):
    """The event log of a module, which writes the configured events."""

    member_id = 0

    def log(self, event: ClusterEventCode, *values: Any) -> None:
        """Log an event of this member.

        Args:
            event: the event.
            values: its fields after the member's id, as `encode` takes them.
        """
        if self.code(event):
            self._write(event, encode(event, (self.member_id, *values)))


#: The event log of a module that logs nothing.
NO_EVENTS: Final = ClusterEvents(_COMPONENT)


def cluster_events(settings: Settings, clock: Clock, member_id: int) -> ClusterEvents:
    """Return the event log that a module's properties configure.

    Unknown event names are reported on stderr and ignored.

    Args:
        settings: the module's settings.
        clock: source of the timestamps.
        member_id: the member that the module runs.

    Raises:
        ConfigurationError: the buffer length is not a power of two.
        OSError: the file cannot be opened.
    """
    found = _COMPONENT.hold(settings, clock)
    if found is None:
        return NO_EVENTS
    events = ClusterEvents(_COMPONENT, *found)
    events.member_id = member_id
    return events
