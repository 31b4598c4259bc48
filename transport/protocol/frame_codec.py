"""Dataclasses for the frames between drivers, with their encoding (spec wire-protocol 2).

This module serves control paths, tools and tests; the agents' loops read and write the same offsets
natively (``frames.pxd``). Malformed bytes from outside raise MessageFormatError.
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from aerolog.transport.errors import ConfigurationError, MessageFormatError
from aerolog.transport.protocol import frames
from aerolog.transport.protocol.fixed_layout import align

_HEADER: Final = struct.Struct("<iBBH")
_INT: Final = "<i"
_LONG: Final = "<q"


@dataclass(frozen=True, slots=True)
class Frame:
    """Base of all frames; ``LAYOUT`` gives the offset and format of each member by name."""

    TYPE: ClassVar[int]
    LENGTH: ClassVar[int]
    LAYOUT: ClassVar[dict[str, tuple[int, str]]]


@dataclass(frozen=True, slots=True)
class DataFrame(Frame):
    """A fragment of a message, or a heartbeat: no payload and ``frame_length`` 0 (2.2, 2.3).

    If ``frame_length`` is None, it is the length of header and payload.
    """

    TYPE: ClassVar[int] = frames.FRAME_DATA
    LENGTH: ClassVar[int] = frames.DATA_HEADER_LENGTH
    LAYOUT: ClassVar[dict[str, tuple[int, str]]] = {
        "term_offset": (frames.TERM_OFFSET_OFFSET, _INT),
        "session_id": (frames.SESSION_ID_OFFSET, _INT),
        "stream_id": (frames.STREAM_ID_OFFSET, _INT),
        "term_id": (frames.TERM_ID_OFFSET, _INT),
        "reserved_value": (frames.RESERVED_VALUE_OFFSET, _LONG),
    }

    term_offset: int
    session_id: int
    stream_id: int
    term_id: int
    payload: bytes = b""
    flags: int = 0xC0
    reserved_value: int = 0
    frame_length: int | None = None


@dataclass(frozen=True, slots=True)
class PadFrame(Frame):
    """Padding to the end of a term; only its header is sent (2.4)."""

    TYPE: ClassVar[int] = frames.FRAME_PAD
    LENGTH: ClassVar[int] = frames.DATA_HEADER_LENGTH
    LAYOUT: ClassVar[dict[str, tuple[int, str]]] = DataFrame.LAYOUT

    term_offset: int
    session_id: int
    stream_id: int
    term_id: int
    frame_length: int
    flags: int = 0xC0
    reserved_value: int = 0


@dataclass(frozen=True, slots=True)
class SetupFrame(Frame):
    """The parameters of a stream that a receiver needs before it can join the stream (2.5)."""

    TYPE: ClassVar[int] = frames.FRAME_SETUP
    LENGTH: ClassVar[int] = frames.SETUP_LENGTH
    LAYOUT: ClassVar[dict[str, tuple[int, str]]] = {
        "term_offset": (frames.SETUP_TERM_OFFSET_AT, _INT),
        "session_id": (frames.SETUP_SESSION_ID_AT, _INT),
        "stream_id": (frames.SETUP_STREAM_ID_AT, _INT),
        "initial_term_id": (frames.SETUP_INITIAL_TERM_ID_AT, _INT),
        "active_term_id": (frames.SETUP_ACTIVE_TERM_ID_AT, _INT),
        "term_length": (frames.SETUP_TERM_LENGTH_AT, _INT),
        "mtu": (frames.SETUP_MTU_AT, _INT),
        "ttl": (frames.SETUP_TTL_AT, _INT),
    }

    term_offset: int
    session_id: int
    stream_id: int
    initial_term_id: int
    active_term_id: int
    term_length: int
    mtu: int
    ttl: int = 0
    flags: int = 0


@dataclass(frozen=True, slots=True)
class StatusMessage(Frame):
    """A receiver's consumed position and window (2.6); a group tag makes it 8 bytes longer."""

    TYPE: ClassVar[int] = frames.FRAME_STATUS_MESSAGE
    LENGTH: ClassVar[int] = frames.STATUS_LENGTH
    LAYOUT: ClassVar[dict[str, tuple[int, str]]] = {
        "session_id": (frames.STATUS_SESSION_ID_AT, _INT),
        "stream_id": (frames.STATUS_STREAM_ID_AT, _INT),
        "term_id": (frames.STATUS_TERM_ID_AT, _INT),
        "term_offset": (frames.STATUS_TERM_OFFSET_AT, _INT),
        "window": (frames.STATUS_WINDOW_AT, _INT),
        "receiver_id": (frames.STATUS_RECEIVER_ID_AT, _LONG),
    }

    session_id: int
    stream_id: int
    term_id: int
    term_offset: int
    window: int
    receiver_id: int
    group_tag: int | None = None
    flags: int = 0


@dataclass(frozen=True, slots=True)
class Nak(Frame):
    """A receiver's request to send a gap within one term again (2.7)."""

    TYPE: ClassVar[int] = frames.FRAME_NAK
    LENGTH: ClassVar[int] = frames.NAK_LENGTH
    LAYOUT: ClassVar[dict[str, tuple[int, str]]] = {
        "session_id": (frames.NAK_SESSION_ID_AT, _INT),
        "stream_id": (frames.NAK_STREAM_ID_AT, _INT),
        "term_id": (frames.NAK_TERM_ID_AT, _INT),
        "term_offset": (frames.NAK_TERM_OFFSET_AT, _INT),
        "length": (frames.NAK_GAP_LENGTH_AT, _INT),
    }

    session_id: int
    stream_id: int
    term_id: int
    term_offset: int
    length: int
    flags: int = 0


@dataclass(frozen=True, slots=True)
class RttMeasurement(Frame):
    """A request to measure the round trip time (flag 0x80 set) or the reply to one (2.8)."""

    TYPE: ClassVar[int] = frames.FRAME_RTTM
    LENGTH: ClassVar[int] = frames.RTTM_LENGTH
    LAYOUT: ClassVar[dict[str, tuple[int, str]]] = {
        "session_id": (frames.RTTM_SESSION_ID_AT, _INT),
        "stream_id": (frames.RTTM_STREAM_ID_AT, _INT),
        "echo_timestamp_ns": (frames.RTTM_ECHO_TIMESTAMP_AT, _LONG),
        "reception_delta_ns": (frames.RTTM_RECEPTION_DELTA_AT, _LONG),
        "receiver_id": (frames.RTTM_RECEIVER_ID_AT, _LONG),
    }

    session_id: int
    stream_id: int
    echo_timestamp_ns: int
    reception_delta_ns: int
    receiver_id: int
    flags: int = 0


@dataclass(frozen=True, slots=True)
class ErrorFrame(Frame):
    """A receiver's rejection of a stream (2.9); flag 0x08 says that the group tag is valid."""

    TYPE: ClassVar[int] = frames.FRAME_ERROR
    LENGTH: ClassVar[int] = frames.ERROR_LENGTH
    LAYOUT: ClassVar[dict[str, tuple[int, str]]] = {
        "session_id": (frames.ERROR_SESSION_ID_AT, _INT),
        "stream_id": (frames.ERROR_STREAM_ID_AT, _INT),
        "receiver_id": (frames.ERROR_RECEIVER_ID_AT, _LONG),
        "group_tag": (frames.ERROR_GROUP_TAG_AT, _LONG),
        "code": (frames.ERROR_CODE_AT, _INT),
    }

    session_id: int
    stream_id: int
    receiver_id: int
    code: int
    text: str
    group_tag: int = 0
    flags: int = 0


@dataclass(frozen=True, slots=True)
class ResponseSetup(Frame):
    """The session id of the responses, sent by the receiver of the requests (2.10)."""

    TYPE: ClassVar[int] = frames.FRAME_RESPONSE_SETUP
    LENGTH: ClassVar[int] = frames.RESPONSE_SETUP_LENGTH
    LAYOUT: ClassVar[dict[str, tuple[int, str]]] = {
        "session_id": (frames.RESPONSE_SETUP_SESSION_ID_AT, _INT),
        "stream_id": (frames.RESPONSE_SETUP_STREAM_ID_AT, _INT),
        "response_session_id": (frames.RESPONSE_SETUP_RESPONSE_SESSION_ID_AT, _INT),
    }

    session_id: int
    stream_id: int
    response_session_id: int
    flags: int = 0


@dataclass(frozen=True, slots=True)
class ResolutionEntry:
    """A driver's name and the address of its resolver; ``address`` is a numeric host."""

    name: str
    address: str
    port: int
    age_ms: int = 0
    flags: int = 0


@dataclass(frozen=True, slots=True)
class ResolutionFrame(Frame):
    """The names that a driver knows and their addresses, its own name first (2.11)."""

    TYPE: ClassVar[int] = frames.FRAME_RESOLUTION
    LENGTH: ClassVar[int] = frames.COMMON_HEADER_LENGTH
    LAYOUT: ClassVar[dict[str, tuple[int, str]]] = {}

    entries: tuple[ResolutionEntry, ...]
    flags: int = 0


AnyFrame = (
    DataFrame
    | PadFrame
    | SetupFrame
    | StatusMessage
    | Nak
    | RttMeasurement
    | ErrorFrame
    | ResponseSetup
    | ResolutionFrame
)
_TYPES: Final[dict[int, type[AnyFrame]]] = {
    kind.TYPE: kind
    for kind in (
        DataFrame,
        PadFrame,
        SetupFrame,
        StatusMessage,
        Nak,
        RttMeasurement,
        ErrorFrame,
        ResponseSetup,
        ResolutionFrame,
    )
}
_ENTRY_HEAD: Final = struct.Struct("<BBHi")
_NAME_LENGTH: Final = struct.Struct("<h")
_ADDRESS_KINDS: Final = {
    frames.RESOLUTION_TYPE_IPV4: (socket.AF_INET, 4),
    frames.RESOLUTION_TYPE_IPV6: (socket.AF_INET6, 16),
}


def encode_frame(frame: AnyFrame) -> bytes:
    """Encode a frame as it stands in a datagram; DATA is padded to a multiple of 32 bytes.

    Raises:
        ConfigurationError: if a member does not fit its field.
    """
    try:
        tail = _tail(frame)
        out = bytearray(frame.LENGTH) + tail
        length = len(out)
        if isinstance(frame, DataFrame | PadFrame) and frame.frame_length is not None:
            length = frame.frame_length
        _HEADER.pack_into(out, 0, length, frames.CURRENT_VERSION, frame.flags, frame.TYPE)
        for name, (offset, code) in frame.LAYOUT.items():
            struct.pack_into(code, out, offset, getattr(frame, name))
    except struct.error as cause:
        raise ConfigurationError(f"a member of the frame is out of range: {frame}") from cause
    if isinstance(frame, ErrorFrame):
        struct.pack_into(_INT, out, frames.ERROR_TEXT_LENGTH_AT, len(tail))
    if isinstance(frame, DataFrame):
        out += bytes(-len(out) % frames.FRAME_ALIGNMENT)
    return bytes(out)


def decode_frames(datagram: bytes) -> list[AnyFrame]:
    """Decode all frames of a datagram: one control frame or heartbeat, or a run of DATA and PAD.

    Raises:
        MessageFormatError: if the datagram is too short, has another version or an unknown type,
            or if a length or count reaches beyond its end.
    """
    found: list[AnyFrame] = []
    offset = 0
    while True:
        frame, length = _decode(datagram, offset)
        found.append(frame)
        offset += length
        if not isinstance(frame, DataFrame | PadFrame) or offset >= len(datagram):
            return found


def decode_frame(datagram: bytes) -> AnyFrame:
    """Decode the first frame of a datagram; the errors are those of ``decode_frames``."""
    return _decode(datagram, 0)[0]


def _decode(datagram: bytes, offset: int) -> tuple[AnyFrame, int]:
    """Decode the frame at an offset; also return how many bytes it takes in the datagram."""
    left = len(datagram) - offset
    if left < frames.COMMON_HEADER_LENGTH:
        raise MessageFormatError(f"a frame needs 8 bytes, there are {left}")
    length, version, flags, type_id = _HEADER.unpack_from(datagram, offset)
    if version != frames.CURRENT_VERSION:
        raise MessageFormatError(f"frame version is {version}, not 0")
    kind = _TYPES.get(type_id)
    if kind is None:
        raise MessageFormatError(f"frame type is unknown: {type_id:#x}")
    if left < kind.LENGTH:
        raise MessageFormatError(f"{kind.__name__} needs {kind.LENGTH} bytes, there are {left}")
    values: dict[str, Any] = {
        name: struct.unpack_from(code, datagram, offset + at)[0]
        for name, (at, code) in kind.LAYOUT.items()
    }
    if kind is DataFrame:
        return _decode_data(datagram, offset, length, values | {"flags": flags})
    if kind is PadFrame:
        if length < frames.DATA_HEADER_LENGTH:
            raise MessageFormatError(f"PAD of {length} bytes is shorter than its header")
        return PadFrame(frame_length=length, flags=flags, **values), frames.DATA_HEADER_LENGTH
    if not kind.LENGTH <= length <= left:
        raise MessageFormatError(f"{kind.__name__} of {length} bytes in a datagram of {left}")
    body = datagram[offset + kind.LENGTH : offset + length]
    if kind is StatusMessage:
        values["group_tag"] = struct.unpack(_LONG, body)[0] if len(body) == 8 else None
    elif kind is ErrorFrame:
        values["text"] = _error_text(datagram, body)
    elif kind is ResolutionFrame:
        values["entries"] = tuple(_decode_entries(body))
    return kind(flags=flags, **values), length


def _decode_data(
    datagram: bytes, offset: int, length: int, values: dict[str, Any]
) -> tuple[DataFrame, int]:
    left = len(datagram) - offset
    if length == 0 and len(datagram) == frames.DATA_HEADER_LENGTH:
        return DataFrame(frame_length=0, **values), frames.DATA_HEADER_LENGTH
    if not frames.DATA_HEADER_LENGTH <= length <= left:
        raise MessageFormatError(f"DATA of {length} bytes in a datagram of {left}")
    payload = datagram[offset + frames.DATA_HEADER_LENGTH : offset + length]
    return DataFrame(payload=payload, **values), align(length, frames.FRAME_ALIGNMENT)


def _error_text(datagram: bytes, body: bytes) -> str:
    (length,) = struct.unpack_from(_INT, datagram, frames.ERROR_TEXT_LENGTH_AT)
    if not 0 <= length <= len(body):
        raise MessageFormatError(f"error text of {length} bytes in {len(body)}")
    return body[: min(length, frames.ERROR_TEXT_LIMIT)].decode("ascii", "replace")


def _decode_entries(body: bytes) -> list[ResolutionEntry]:
    found = []
    offset = 0
    while offset < len(body):
        entry, length = _decode_entry(body, offset)
        found.append(entry)
        offset += length
    return found


def _decode_entry(body: bytes, offset: int) -> tuple[ResolutionEntry, int]:
    left = len(body) - offset
    kind = _ADDRESS_KINDS.get(body[offset])
    if kind is None:
        raise MessageFormatError(f"resolution type is unknown: {body[offset]}")
    family, size = kind
    fixed = frames.RESOLUTION_ADDRESS_AT + size + _NAME_LENGTH.size
    if left < fixed:
        raise MessageFormatError(f"resolution entry needs {fixed} bytes, there are {left}")
    _, flags, port, age_ms = _ENTRY_HEAD.unpack_from(body, offset)
    start = offset + frames.RESOLUTION_ADDRESS_AT
    address = socket.inet_ntop(family, body[start : start + size])
    (length,) = _NAME_LENGTH.unpack_from(body, start + size)
    if not 0 <= length <= min(left - fixed, frames.RESOLUTION_NAME_LIMIT):
        raise MessageFormatError(f"resolution name of {length} bytes in {left - fixed}")
    name = body[offset + fixed : offset + fixed + length].decode("ascii", "replace")
    return ResolutionEntry(name, address, port, age_ms, flags), (fixed + length + 7) // 8 * 8


def _tail(frame: AnyFrame) -> bytes:
    """Encode the variable part of a frame, which follows the fixed part."""
    if isinstance(frame, DataFrame):
        return frame.payload
    if isinstance(frame, StatusMessage) and frame.group_tag is not None:
        return struct.pack(_LONG, frame.group_tag)
    if isinstance(frame, ErrorFrame):
        return frame.text.encode("ascii", "replace")[: frames.ERROR_TEXT_LIMIT]
    if isinstance(frame, ResolutionFrame):
        return b"".join(encode_resolution_entry(entry) for entry in frame.entries)
    return b""


def encode_resolution_entry(entry: ResolutionEntry) -> bytes:
    """Encode one entry of a RES frame, padded to a multiple of 8 bytes.

    Raises:
        ConfigurationError: if the host is not numeric, the name is longer than 512 bytes, or the
            port or age is out of range.
    """
    kind = frames.RESOLUTION_TYPE_IPV6 if ":" in entry.address else frames.RESOLUTION_TYPE_IPV4
    name = entry.name.encode("ascii", "replace")
    if len(name) > frames.RESOLUTION_NAME_LIMIT:
        raise ConfigurationError(f"a resolver's name has at most 512 bytes: {entry.name}")
    try:
        address = socket.inet_pton(_ADDRESS_KINDS[kind][0], entry.address)
        head = _ENTRY_HEAD.pack(kind, entry.flags, entry.port, entry.age_ms)
    except (OSError, struct.error) as cause:
        raise ConfigurationError(f"resolution entry cannot be written: {entry}") from cause
    out = head + address + _NAME_LENGTH.pack(len(name)) + name
    return out + bytes(-len(out) % 8)
