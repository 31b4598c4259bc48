"""What a crash may leave of recordings, and whether it did.

A ``Log`` is a recording's stream, byte for byte. An ``Outcome`` is one state in which a crash may
leave a recording; while a request is under way there are several.
"""

from __future__ import annotations

import copy
import struct
import time
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from aerolog.archive.format.layout import MAX_I64
from aerolog.archive.format.segment import parse_segment_name, recording_id_of, segment_file_name
from aerolog.archive.retention.folder_facts import look
from aerolog.archive.time_index import TimeIndex
from aerolog.testing.recordings import RecordingBuilder
from aerolog.testing.streams import StreamCheckError
from aerolog.transport.protocol.fixed_layout import align
from aerolog.transport.protocol.frames import (
    DATA_HEADER_LENGTH,
    FRAME_ALIGNMENT,
    FRAME_PAD,
    SESSION_ID_OFFSET,
    TYPE_OFFSET,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.transport.memory.filesystem import FileSystem

_LENGTH: Final = struct.Struct("<i")
_TYPE: Final = struct.Struct("<H")
_SESSION_ID: Final = struct.Struct("<i")
#: Blocks between two notes keep the time of the earlier one: see docs/archive/time-index.md.
LEEWAY_NS: Final = 11_000_000
_SHOWN: Final = 64  # bytes around a difference


class Log(RecordingBuilder):
    """The frames of one recording, and the messages in them.

    Attributes:
        messages: payloads in order.
        begins: position of each message's first frame.
        ends: position behind each message.
        sent_ns: no message was recorded before this time, epoch ns.
        recorded_ns: each message was recorded by this time, as far as that is known.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.messages: list[bytes] = []
        self.begins: list[int] = []
        self.ends: list[int] = []
        self.sent_ns: list[int] = []
        self.recorded_ns: list[int] = []

    def add(self, payload: bytes, reserved_value: int = 0, sent_ns: int | None = None) -> int:
        """Append a message as a publication does; returns the position behind it."""
        before = self.position
        end = super().add(payload, reserved_value)
        fragments = -(-max(1, len(payload)) // (self.mtu_length - DATA_HEADER_LENGTH))
        self.messages.append(payload)
        self.begins.append(self.frames_between(before, end)[-fragments])
        self.ends.append(end)
        self.sent_ns.append(time.time_ns() if sent_ns is None else sent_ns)
        self.recorded_ns.append(MAX_I64)
        return end

    def recorded(self, position: int, now_ns: int) -> None:
        """Take note that everything up to a position is recorded."""
        for index in range(len(self.ends) - 1, -1, -1):
            if self.recorded_ns[index] != MAX_I64:
                break
            if self.ends[index] <= position:
                self.recorded_ns[index] = now_ns

    def was_copied(self, position: int, sent_ns: int, before: Log | None) -> None:
        """Take note that what follows a position was recorded from a time on, as a copy.

        Args:
            position: what lies before it was there already.
            sent_ns: when the copy began, epoch ns.
            before: the copy as it was then, None for a new one.
        """
        times = {}
        if before is not None:
            times = dict(
                zip(
                    before.begins,
                    zip(before.sent_ns, before.recorded_ns, strict=True),
                    strict=True,
                )
            )
        for index, begin in enumerate(self.begins):
            is_new = begin >= position
            self.sent_ns[index], self.recorded_ns[index] = (
                (sent_ns, MAX_I64) if is_new else times[begin]
            )

    def frames_between(self, start: int, stop: int) -> list[int]:
        """Positions of the frames that begin in a range; a frame begins at its start."""
        found, at = [], start
        while at < stop:
            found.append(at)
            (length,) = _LENGTH.unpack_from(self.data, at - self.first_base)
            at += align(length, FRAME_ALIGNMENT)
        return found

    def is_boundary(self, position: int) -> bool:
        """Whether a frame ends there, or the recording begins."""
        start = self.start_position
        at = max((end for end in self.ends if end <= position), default=start)
        stops = {*self.frames_between(at, self.position), self.position}
        return position in stops

    def bytes_between(self, start: int, stop: int) -> bytes:
        """The frames in a range, padding with its zeros."""
        return bytes(self.data[start - self.first_base : stop - self.first_base])

    def messages_between(self, start: int, stop: int) -> list[tuple[int, bytes]]:
        """Position behind and payload of each whole message in a range."""
        first = bisect_left(self.begins, start)
        rows = zip(self.ends[first:], self.messages[first:], strict=True)
        return [(end, message) for end, message in rows if end <= stop]

    def cut(self, position: int) -> Log:
        """A copy that ends at a position, where a message ends."""
        other = copy.copy(self)
        other.data = self.data[: position - self.first_base]
        other.position = position
        count = sum(end <= position for end in self.ends)
        other.messages = self.messages[:count]
        other.begins = self.begins[:count]
        other.ends = self.ends[:count]
        other.sent_ns = self.sent_ns[:count]
        other.recorded_ns = self.recorded_ns[:count]
        return other

    def replayed(self, position: int) -> Log:
        """A copy as a replay from a position on gives it: in one session, the latest."""
        other = self.cut(self.position)
        other.data = bytearray(self.data)
        for at in self.frames_between(position, self.position):
            (kind,) = _TYPE.unpack_from(other.data, at - self.first_base + TYPE_OFFSET)
            if self.checksum is None or kind == FRAME_PAD:
                _SESSION_ID.pack_into(
                    other.data, at - self.first_base + SESSION_ID_OFFSET, self.session_id
                )
        return other

    def joined(self, behind: Log) -> Log:
        """A copy that goes on with another log, which begins where this one ends."""
        other = self.cut(self.position)
        other.data = self.data + behind.data
        other.position = behind.position
        other.session_id = behind.session_id
        other.messages = self.messages + behind.messages
        other.begins = self.begins + behind.begins
        other.ends = self.ends + behind.ends
        other.sent_ns = self.sent_ns + behind.sent_ns
        other.recorded_ns = self.recorded_ns + behind.recorded_ns
        return other


@dataclass(frozen=True, slots=True)
class Outcome:
    """One state in which a recording may be after a crash and a restart.

    Attributes:
        log: its stream.
        start: its start position.
        low: of its stop position.
        high: of its stop position.
        detached: whether segments before its start may be there.
        channel: its original channel, None for any.
    """

    log: Log
    start: int
    low: int
    high: int
    detached: bool = False
    channel: str | None = None

    def problem(self, found: RecordingDescriptor) -> str:
        """What does not agree with the catalog, empty when all does."""
        if found.start_position != self.start:
            return f"start {found.start_position}, not {self.start}"
        if not self.low <= found.stop_position <= self.high:
            return f"stop {found.stop_position}, not {self.low} to {self.high}"
        if not self.log.is_boundary(found.stop_position):
            return f"stop {found.stop_position} is inside a frame"
        if self.channel is not None and found.original_channel != self.channel:
            return f"channel {found.original_channel}, not {self.channel}"
        return ""


#: By recording id: the states that are allowed, None among them where it need not be there.
Allowed = dict[int, list[Outcome | None]]


@dataclass(slots=True)
class Truth:
    """A recording while a scenario runs.

    Attributes:
        log: its stream.
        start: its start position.
        stop: its stop position, None while it is active.
        floor: asked for the position that the archive has told of, while it is active.
        detached: whether segments before its start are there.
        channel: its original channel, None for any.
    """

    log: Log
    start: int
    stop: int | None = None
    floor: Callable[[], int] = field(default=lambda: 0)
    detached: bool = False
    channel: str | None = None

    def outcome(self) -> Outcome:
        """What a crash may leave of it at this moment."""
        low = max(self.start, self.floor()) if self.stop is None else self.stop
        high = self.log.position if self.stop is None else self.stop
        return Outcome(self.log, self.start, low, high, self.detached, self.channel)


def check_catalog(
    found: Sequence[RecordingDescriptor], allowed: Mapping[int, list[Outcome | None]]
) -> dict[int, Outcome]:
    """Compare a catalog with what may be in it.

    Returns:
        By recording id: the outcome that it has.

    Raises:
        StreamCheckError: something is missing, too much, or wrong.
    """
    ids = [descriptor.recording_id for descriptor in found]
    if len(set(ids)) != len(ids):
        raise StreamCheckError(f"a recording is there twice: {ids}")
    for recording_id in set(ids) - set(allowed):
        raise StreamCheckError(f"recording {recording_id} is there, and nobody made it")
    matched = {}
    by_id = {descriptor.recording_id: descriptor for descriptor in found}
    for recording_id, outcomes in allowed.items():
        descriptor = by_id.get(recording_id)
        if descriptor is None:
            if None not in outcomes:
                raise StreamCheckError(f"recording {recording_id} is lost")
            continue
        possible = [outcome for outcome in outcomes if outcome is not None]
        problems = [outcome.problem(descriptor) for outcome in possible]
        if "" not in problems:
            raise StreamCheckError(f"recording {recording_id}: {'; or '.join(problems)}")
        matched[recording_id] = possible[problems.index("")]
    return matched


def check_segments(
    names: Sequence[str],
    read: Callable[[str], bytes],
    found: Sequence[RecordingDescriptor],
    outcomes: Mapping[int, Outcome],
    *,
    nothing_behind: bool = True,
) -> None:
    """Compare segment files with the streams that they hold.

    Args:
        names: of the files in the folder.
        read: gives a file's content by its name.
        found: the catalog's recordings.
        outcomes: by recording id, as ``check_catalog`` returns them.
        nothing_behind: whether there are only zeros behind a stop position.

    Raises:
        StreamCheckError: a byte differs, or a file is too much or missing.
    """
    by_id = {descriptor.recording_id: descriptor for descriptor in found}
    for name in names:
        owner = recording_id_of(name)
        if owner is not None and owner not in by_id:
            raise StreamCheckError(f"{name} belongs to no recording")
    for recording_id, outcome in outcomes.items():
        descriptor = by_id[recording_id]
        mine = {
            parse_segment_name(name).base_position
            for name in names
            if recording_id_of(name) == recording_id
        }
        _check_names(descriptor, outcome, mine)
        _check_bytes(descriptor, outcome.log, read, mine, nothing_behind)


def _check_names(descriptor: RecordingDescriptor, outcome: Outcome, mine: set[int]) -> None:
    start, stop = descriptor.start_position, descriptor.stop_position
    length = descriptor.segment_file_length
    first = descriptor.segment_base(start)
    needed = set(range(first, max(stop, first), length))
    optional = {descriptor.segment_base(stop), first}
    too_many = {base for base in mine - needed - optional if base > start or not outcome.detached}
    if too_many or needed - mine:
        raise StreamCheckError(
            f"recording {descriptor.recording_id} from {start} to {stop} has segments at"
            f" {sorted(mine)}: missing {sorted(needed - mine)}, too many {sorted(too_many)}"
        )


def _check_bytes(
    descriptor: RecordingDescriptor,
    log: Log,
    read: Callable[[str], bytes],
    mine: set[int],
    nothing_behind: bool,
) -> None:
    start, stop = descriptor.start_position, descriptor.stop_position
    length = descriptor.segment_file_length
    for base in sorted(mine):
        if base < descriptor.segment_base(start):
            continue  # detached
        name = segment_file_name(descriptor.recording_id, base)
        content = read(name)
        begin, end = max(start, base), min(stop, base + length)
        if begin < end:
            _compare(name, begin, content[begin - base : end - base], log.bytes_between(begin, end))
        if nothing_behind and any(content[max(end, base) - base :]):
            raise StreamCheckError(f"{name} holds something behind the stop position {stop}")
        if len(content) != length:
            raise StreamCheckError(f"{name} is {len(content)} bytes long, not {length}")


def _compare(name: str, begin: int, found: bytes, expected: bytes) -> None:
    if found == expected:
        return
    at = next(
        (i for i, (a, b) in enumerate(zip(found, expected, strict=False)) if a != b),
        min(len(found), len(expected)),
    )
    raise StreamCheckError(
        f"{name} differs at position {begin + at}: {found[at : at + _SHOWN].hex()} and not"
        f" {expected[at : at + _SHOWN].hex()}"
    )


def check_times(
    archive_dir: str,
    files: FileSystem,
    found: Sequence[RecordingDescriptor],
    outcomes: Mapping[int, Outcome],
) -> dict[int, int]:
    """Compare the times that an archive gives for messages with when they were sent.

    Args:
        archive_dir: the archive's folder.
        files: the file system to read from.
        found: the catalog's recordings, all of them stopped.
        outcomes: by recording id, as ``check_catalog`` returns them.

    Returns:
        By recording id: how many of its messages have no known time.

    Raises:
        StreamCheckError: a time is false, or retention by age would delete what is younger.
    """
    now_ms = max((one.stop_timestamp for one in found), default=0)
    facts = {one.recording_id: one for one in look(archive_dir, now_ms, files).recordings}
    unknown = {}
    for descriptor in found:
        recording_id = descriptor.recording_id
        log = outcomes[recording_id].log
        timeline = facts[recording_id].timeline
        with TimeIndex.open(archive_dir, recording_id, files=files) as index:
            is_told = index.source != "descriptor"
            unknown[recording_id] = 0
            for begin, end, sent, recorded in zip(
                log.begins, log.ends, log.sent_ns, log.recorded_ns, strict=True
            ):
                if begin < descriptor.start_position or end > descriptor.stop_position:
                    continue
                low, high = sent - LEEWAY_NS, min(recorded, MAX_I64 - LEEWAY_NS) + LEEWAY_NS
                whose = f"position {begin} of recording {recording_id}, sent at {sent}"
                for tells in (index, timeline) if is_told else (timeline,):
                    if tells.position_at(low) > begin:
                        raise StreamCheckError(f"{whose}: {tells} has it before {low}")
                if not is_told or not index.knows(begin):
                    unknown[recording_id] += 1
                elif not low <= index.time_at(begin) <= high:
                    raise StreamCheckError(
                        f"{whose}: its time is said to be {index.time_at(begin)}"
                    )
                if is_told and recorded < MAX_I64 and index.end_position_at(high) <= begin:
                    raise StreamCheckError(f"{whose}: {index} has it at {high} or later")
    return unknown
