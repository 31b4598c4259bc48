"""Lines of StreamStat and BacklogStat (spec stat-tools 5, 6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.tools.views import counter_keys
from aerolog.transport.counters.counter_types import CounterType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aerolog.tools.views.counters_snapshot import CountersSnapshot

_POSITIONS: Final = frozenset(
    {
        CounterType.PUBLISHER_LIMIT,
        CounterType.SENDER_POSITION,
        CounterType.RECEIVER_HWM,
        CounterType.SUBSCRIBER_POSITION,
        CounterType.RECEIVER_POSITION,
        CounterType.SENDER_LIMIT,
        CounterType.PUBLISHER_POSITION,
    }
)
_STREAM_TYPES: Final = _POSITIONS | {
    CounterType.SENDER_BPE,
    CounterType.SENDER_NAKS_RECEIVED,
    CounterType.RECEIVER_NAKS_SENT,
}
_BACKLOG_TYPES: Final = _POSITIONS | {CounterType.PER_IMAGE}
_MASK: Final = 0xFFFFFFFF

#: Session id, stream id and channel of the key, as the reference groups counters.
Group = tuple[int, int, str]


def first_line(path: str) -> str:
    """What ErrorStat, StreamStat and BacklogStat print before anything else."""
    return f"Command `n Control file {path}"


def stream_stat(snapshot: CountersSnapshot) -> Iterator[str]:
    """The lines of StreamStat but for the first."""
    groups = _groups(snapshot, _STREAM_TYPES)
    for group in sorted(groups):
        rows = groups[group]
        items = " ".join(
            f"{counter_keys.label_name(snapshot.label(row))}:"
            f"{counter_keys.stream_key(snapshot.key(row)).registration_id}:{snapshot.values[row]}"
            for row in rows
        )
        yield f"{_head(snapshot, group, rows)} : {items}"


def backlog_stat(snapshot: CountersSnapshot) -> Iterator[str]:
    """The lines of BacklogStat but for the first."""
    groups = _groups(snapshot, _BACKLOG_TYPES)
    for group in _hash_order(list(groups)):
        rows = groups[group]
        session_id, stream_id, channel = group
        yield f"sessionId={session_id} streamId={stream_id} channel={channel} : "
        yield from _backlog(snapshot, rows)
        yield ""


def _groups(snapshot: CountersSnapshot, types: frozenset[CounterType]) -> dict[Group, list[int]]:
    groups: dict[Group, list[int]] = {}
    for row in snapshot.rows_of(types):
        key = counter_keys.stream_key(snapshot.key(row))
        groups.setdefault((key.session_id, key.stream_id, key.channel), []).append(row)
    return groups


def _head(snapshot: CountersSnapshot, group: Group, rows: list[int]) -> str:
    """The group with the longest channel that a label has."""
    session_id, stream_id, channel = group
    longest = ""
    for row in rows:
        found = counter_keys.label_channel(snapshot.label(row)) or channel
        if len(found) > len(longest):
            longest = found
    return f"sessionId={session_id} streamId={stream_id} channel={longest}"


def _backlog(snapshot: CountersSnapshot, rows: list[int]) -> Iterator[str]:
    ids: dict[int, int] = {}
    values: dict[int, int] = {}
    subscribers: dict[int, int] = {}
    for row in rows:
        type_id = snapshot.type_ids[row]
        registration_id = counter_keys.stream_key(snapshot.key(row)).registration_id
        if type_id == CounterType.SUBSCRIBER_POSITION:
            subscribers[registration_id] = snapshot.values[row]
        ids[type_id] = registration_id
        values[type_id] = snapshot.values[row]
    if CounterType.PUBLISHER_LIMIT in ids or CounterType.PUBLISHER_POSITION in ids:
        yield from _of_publisher(ids, values)
    if CounterType.RECEIVER_HWM in ids or CounterType.RECEIVER_POSITION in ids:
        hwm = values.get(CounterType.RECEIVER_HWM, 0)
        receiver = ids.get(CounterType.RECEIVER_HWM, ids.get(CounterType.RECEIVER_POSITION))
        position = values.get(CounterType.RECEIVER_POSITION, 0)
        yield f"┌─receiver {receiver} is at position {position}"
        listed = sorted(subscribers.items())
        for index, (registration_id, position) in enumerate(listed, 1):
            corner = "└─" if index == len(listed) else "├─"
            yield f"{corner}subscriber {registration_id} has {hwm - position} backlog bytes"


def _of_publisher(ids: dict[int, int], values: dict[int, int]) -> Iterator[str]:
    position = values.get(CounterType.PUBLISHER_POSITION, 0)
    window = values.get(CounterType.PUBLISHER_LIMIT, 0) - position
    publisher = ids.get(CounterType.PUBLISHER_LIMIT, ids.get(CounterType.PUBLISHER_POSITION))
    yield (
        f"┌─for publisher {publisher} the last sampled position is {position} "
        f"(~{window} bytes before back-pressure)"
    )
    if CounterType.SENDER_POSITION not in ids and CounterType.SENDER_LIMIT not in ids:
        yield "└─no sender"
        return
    sender = ids.get(CounterType.SENDER_LIMIT, ids.get(CounterType.SENDER_POSITION))
    sent = values.get(CounterType.SENDER_POSITION, 0)
    allowed = values.get(CounterType.SENDER_LIMIT, 0) - sent
    behind = position - sent
    state = f"has to send {behind} bytes" if behind >= 0 else f"is at position {sent}"
    yield f"└─sender {sender} {state} ({allowed} bytes remaining in the sender window)"


def _hash_order(groups: list[Group]) -> list[Group]:
    """The order in which a hash table of the reference's language gives its keys back.

    It has chains, a new key at a chain's head; a table doubles when it is over three quarters full
    or, while small, when a chain gets long, and keeps the order within each half. Chains of eight
    in a table of 64 become trees there, whose order is not followed here.
    """
    table: list[list[tuple[int, Group]]] = [[] for _ in range(16)]
    for size, group in enumerate(groups):
        if size > len(table) * 3 // 4:
            table = _doubled(table)
        code = _hash_code(group)
        chain = table[code & (len(table) - 1)]
        was_long = len(chain) >= 7  # a chain of eight with the new one
        chain.insert(0, (code, group))
        if was_long and len(table) < 64:
            table = _doubled(table)
    return [group for chain in table for _, group in chain]


def _doubled(table: list[list[tuple[int, Group]]]) -> list[list[tuple[int, Group]]]:
    larger: list[list[tuple[int, Group]]] = [[] for _ in range(2 * len(table))]
    for chain in table:
        for code, group in chain:
            larger[code & (len(larger) - 1)].append((code, group))
    return larger


def _hash_code(group: Group) -> int:
    session_id, stream_id, channel = group
    text = 0
    for char in channel:
        text = (31 * text + ord(char)) & _MASK
    code = (31 * (31 * session_id + stream_id) + text) & _MASK
    return code ^ (code >> 16)
