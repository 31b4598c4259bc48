"""Mark files, recording logs and recovery plans in the reference's words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.cluster.files import EntryType, RecordingLog
from aerolog.tools.archive_files.message_text import camel
from aerolog.tools.cluster.members import endpoints_of
from aerolog.tools.terminal.hexdump import hex_rows
from aerolog.tools.terminal.terminal_text import fit
from aerolog.transport.protocol.sbe import WireEnum

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from aerolog.cluster.files import LogEntry, RecoveryPlan
    from aerolog.cluster.protocol import ClusterMembersExtendedResponse, MemberEntry
    from aerolog.transport.protocol.sbe import Message

_SNAPSHOT_FIELDS: Final = (
    "recording_id",
    "leadership_term_id",
    "term_base_log_position",
    "log_position",
    "timestamp",
    "service_id",
)
_MASK: Final = 2**64 - 1


def message_line(message: Message) -> str:
    """A message as one line: ``[Name](ids):field=value|...``."""
    layout = message.LAYOUT
    shown = (f"{name}={value}" for name, value in message_fields(message, quote="'"))
    return (
        f"[{layout.name}](sbeTemplateId={layout.template_id}|sbeSchemaId={layout.schema.id}"
        f"|sbeSchemaVersion={layout.schema_version}|sbeBlockLength={layout.block_length}):"
        + "|".join(shown)
    )


def message_fields(message: Message, quote: str = "") -> Iterator[tuple[str, object]]:
    """Names and values of a message's fields in the schema's form, texts in quotes."""
    for name in message.LAYOUT.names:
        value = getattr(message, name)
        if isinstance(value, WireEnum):
            value = "NULL_VAL" if value.name == "NULL" else value.name
        elif isinstance(value, str):
            value = f"{quote}{fit(value, tabs=True)}{quote}"
        if name != "reserved":
            yield camel(name), value


def raw_dump(data: bytes) -> str:
    """Bytes as offsets, hexadecimal digits, and characters, with escapes for control characters."""
    rows = (
        f"{at:06d}:  {digits:<47}   |  {fit(str(data[at : at + 16], 'ascii', 'replace'))}\n"
        for at, digits, _ in hex_rows(data)
    )
    return "".join(rows)


def recording_log_line(log: RecordingLog) -> str:
    """A recording log as one line."""
    indexes = {
        entry.leadership_term_id: index
        for index, entry in enumerate(log.entries)
        if entry.is_valid and entry.type == EntryType.TERM
    }
    cache = ", ".join(f"{term_id}={indexes[term_id]}" for term_id in _hashed(list(indexes)))
    entries = ", ".join(map(_entry, log.entries))
    return f"RecordingLog{{entries=[{entries}], cacheIndex={{{cache}}}}}"


def plan_line(plan: RecoveryPlan) -> str:
    """A recovery plan as one line."""
    log = "null"
    if plan.log is not None:
        seen = plan.log.descriptor
        log = (
            f"Log[recordingId={seen.recording_id}, leadershipTermId={plan.log.leadership_term_id},"
            f" termBaseLogPosition={plan.log.term_base_log_position},"
            f" logPosition={plan.log.log_position}, startPosition={plan.log.start_position},"
            f" stopPosition={seen.stop_position}, initialTermId={seen.initial_term_id},"
            f" termBufferLength={seen.term_buffer_length}, mtuLength={seen.mtu_length},"
            f" sessionId={seen.session_id}]"
        )
    snapshots = ", ".join(map(snapshot_line, plan.snapshots))
    return (
        f"RecoveryPlan[lastLeadershipTermId={plan.last_leadership_term_id},"
        f" lastTermBaseLogPosition={plan.last_term_base_log_position},"
        f" appendedLogPosition={plan.appended_log_position},"
        f" committedLogPosition={plan.committed_log_position}, snapshots=[{snapshots}], log={log}]"
    )


def members_line(seen: ClusterMembersExtendedResponse) -> str:
    """What a module answers about its members as one line."""
    members = ", ".join(_member(one, seen.leader_member_id) for one in seen.active_members)
    return (
        f"currentTimeNs={seen.current_time_ns}, leaderMemberId={seen.leader_member_id},"
        f" memberId={seen.member_id}, activeMembers=[{members}]"
    )


def _member(member: MemberEntry, leader_id: int) -> str:
    # What only another member would know has the value that it has before it is known.
    ingress, consensus, log, catchup, archive = endpoints = endpoints_of(member)
    is_leader = str(member.member_id == leader_id).lower()
    return (
        f"ClusterMember{{id={member.member_id}, isBallotSent=false, isLeader={is_leader},"
        f" leadershipTermId={member.leadership_term_id}, logPosition={member.log_position},"
        " candidateTermId=-1, catchupReplaySessionId=-1, correlationId=-1,"
        f" timeOfLastAppendPositionNs={member.time_of_last_append_ns},"
        f" ingressEndpoint='{ingress}', consensusEndpoint='{consensus}', logEndpoint='{log}',"
        f" catchupEndpoint='{catchup}', archiveEndpoint='{archive}',"
        f" endpoints='{','.join(endpoints)}', publication=null, vote=null}}"
    )


def snapshot_line(entry: LogEntry) -> str:
    """A part of a snapshot as it stands in a recovery plan."""
    return f"Snapshot[{_fields(entry)}]"


def _entry(entry: LogEntry) -> str:
    valid = str(entry.is_valid).lower()
    where = f", archiveEndpoint={entry.archive_endpoint}" if entry.archive_endpoint else ""
    return (
        f"Entry{{{_fields(entry)}, type={entry.type.name}, isValid={valid},"
        f" entryIndex={entry.index}{where}}}"
    )


def _fields(entry: LogEntry) -> str:
    return ", ".join(f"{camel(name)}={getattr(entry, name)}" for name in _SNAPSHOT_FIELDS)


# The reference prints the terms in the order of its hash table, which probes linearly, grows when
# more than 65 in 100 slots are taken, and is walked downwards from a free slot.


def _hashed(ids: Sequence[int]) -> list[int]:
    slots: list[int | None] = [None] * 8
    for count, term_id in enumerate(ids, 1):
        _insert(slots, term_id)
        if count > int(len(slots) * 0.65):
            old, slots = slots, [None] * (2 * len(slots))
            for each in old:
                if each is not None:
                    _insert(slots, each)
    start = 0 if slots[-1] is None else slots.index(None)
    walked = (slots[(start - 1 - step) % len(slots)] for step in range(len(slots)))
    return [each for each in walked if each is not None]


def _insert(slots: list[int | None], term_id: int) -> None:
    at = _hash(term_id) % len(slots)
    while slots[at] is not None:
        at = (at + 1) % len(slots)
    slots[at] = term_id


def _hash(value: int) -> int:
    """The hash by which the table places a key; its low bits count."""
    x = value & _MASK
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & _MASK
    x ^= x >> 31
    low = (x ^ x >> 32) & 0xFFFFFFFF
    return ((low << 1) - (low << 8) & 0xFFFFFFFF) >> 1
