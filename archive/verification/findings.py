"""The findings of a verification: where they are, what is wrong, and what can be done about it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from aerolog.archive.verification import segment_check as native

if TYPE_CHECKING:
    from aerolog.archive.verification.closed_spans import Span
    from aerolog.archive.verification.segment_check import SegmentCheck


class Kind(StrEnum):
    """The kinds of faults that a verification finds."""

    HEADER = "header"  #: a frame's header does not say where it stands, or of what stream
    LENGTH = "length"  #: a frame has a length that it cannot have there
    TYPE = "type"  #: a frame is neither data nor padding
    PADDING = "padding"  #: there is something else than zeros behind a header of padding
    CHECKSUM = "checksum"  #: a frame's checksum is not that of its body
    TAIL = "tail"  #: frames end before the recording does
    MISSING = "missing"  #: a segment is not there
    CHANGED = "changed"  #: a segment is sound and not what it was
    UNREADABLE = "unreadable"  #: a file cannot be opened or read, and may be sound
    CATALOG = "catalog"  #: a catalog entry is damaged
    SESSION = "session"  #: a frame has a session id of its own; sound as the reference sees it
    HEALTH = "health"  #: a health file is damaged or of another recording; no data is concerned


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with a recording.

    Attributes:
        recording_id: the id of the recording.
        position: the position of the faulty frame or segment.
        kind: the kind of fault.
        text: a line that describes the fault, with file and offset.
        remedy: a line that says what can be done.
        base: position at which the faulty segment begins, -1 when the fault is in no segment.
    """

    recording_id: int
    position: int
    kind: Kind
    text: str
    remedy: str
    base: int = -1

    @property
    def is_damage(self) -> bool:
        """Whether the fault is damage to the recording, as far as that can be told."""
        return self.kind not in {Kind.HEALTH, Kind.SESSION, Kind.UNREADABLE}


_REPAIR: Final = "aerolog verify {} --repair-plan says what can be saved"
_REMEDIES: Final = {
    Kind.MISSING: "bring the file back from a copy, or " + _REPAIR,
    Kind.CHANGED: "bring the file back from a copy; aerolog verify {} --repair takes it as it is",
    Kind.UNREADABLE: "look at who may read the file, at the disk, and whether it is mounted, then"
    " verify again",
    Kind.CATALOG: "aerolog explain DIR/archive.catalog tells more",
    Kind.SESSION: "nothing to do if a client extended the recording by a single message",
    Kind.HEALTH: "nothing to do: it is made anew with the next verification",
}
_KINDS: Final = {
    native.CHECK_LENGTH: Kind.LENGTH,
    native.CHECK_TYPE: Kind.TYPE,
    native.CHECK_VERSION: Kind.HEADER,
    native.CHECK_TERM_OFFSET: Kind.HEADER,
    native.CHECK_TERM_ID: Kind.HEADER,
    native.CHECK_STREAM_ID: Kind.HEADER,
    native.CHECK_PADDING: Kind.PADDING,
    native.CHECK_CHECKSUM: Kind.CHECKSUM,
    native.CHECK_NO_FRAME: Kind.TAIL,
    native.CHECK_CUT_OFF: Kind.TAIL,
    native.CHECK_IO_ERROR: Kind.UNREADABLE,
}
_TEXTS: Final = {
    native.CHECK_LENGTH: "impossible frame length {found}, at most {expected} fit",
    native.CHECK_TYPE: "unknown frame type {found}",
    native.CHECK_VERSION: "unknown frame version {found}",
    native.CHECK_TERM_OFFSET: "wrong term offset {found} in a frame, expected {expected}",
    native.CHECK_TERM_ID: "wrong term id {found} in a frame, expected {expected}",
    native.CHECK_STREAM_ID: "wrong stream id {found} in a frame, expected {expected}",
    native.CHECK_PADDING: "a padding frame holds data",
    native.CHECK_CHECKSUM: "checksum {found} in a frame, computed {expected}",
    native.CHECK_NO_FRAME: "no frame, though the recording goes on to position {expected}",
    native.CHECK_CUT_OFF: "the file ends at offset {found}, though there are frames up to"
    " offset {expected}",
}


def remedy_of(kind: Kind, recording_id: int) -> str:
    """Return a line that says what can be done about a kind of fault."""
    return _REMEDIES.get(kind, _REPAIR).format(recording_id)


def finding_of(span: Span, kind: Kind, text: str, position: int | None = None) -> Finding:
    """Make a finding about a segment.

    Args:
        span: the segment.
        kind: the kind of fault.
        text: a description of the fault, without recording and file.
        position: the position of the faulty frame; by default that of the first frame.
    """
    at = span.base + span.start if position is None else position
    return Finding(
        span.recording_id,
        at,
        kind,
        f"recording {span.recording_id} at position {at}: {text}"
        f" ({span.name}, offset {at - span.base})",
        remedy_of(kind, span.recording_id),
        span.base,
    )


def odd_session_of_check(span: Span, check: SegmentCheck) -> Finding | None:
    """Return a finding about sessions of a single frame, None when a check met none."""
    if check.odd_sessions == 0:
        return None
    more = f"; {check.odd_sessions} frames are like that" if check.odd_sessions > 1 else ""
    text = f"session id {check.odd_session_id} is that of a single frame{more}"
    return finding_of(span, Kind.SESSION, text, span.base + check.odd_offset)


def finding_of_check(span: Span, check: SegmentCheck) -> Finding:
    """Return the finding with which a native check has ended."""
    if check.status == native.CHECK_IO_ERROR:
        text = os.strerror(check.found)
    else:
        text = _TEXTS[check.status].format(found=check.found, expected=check.expected)
    return finding_of(span, _KINDS[check.status], text, span.base + check.bad_offset)
