"""The metadata section of a log as a table of fields (spec log-buffers 2 and 3).

The section is the last 4096 bytes of the file. The driver writes it once, before it announces the
path of the log. Only the tails, the active term count, the end of stream, the connection state and
the revoked mark change afterwards.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, get_type_hints

from aerolog.transport.protocol.fixed_layout import Field
from aerolog.transport.protocol.frame_header import FRAME_HEADER_STRUCT
from aerolog.transport.protocol.frames import (
    DATA_HEADER_LENGTH,
    FLAGS_UNFRAGMENTED,
    FRAME_DATA,
)

LENGTH: Final = 4096
DEFAULT_HEADER_OFFSET: Final = 320
END_OF_STREAM_UNKNOWN: Final = 2**63 - 1


class LogType(IntEnum):
    """Kind of log, as its metadata records it."""

    PUBLICATION = 0
    EXCLUSIVE_PUBLICATION = 1
    IMAGE = 2


# Words that change after the log was created; processes share them.
SHARED_FIELDS: Final = (
    Field("term_tail_counter_0", 0, "q"),
    Field("term_tail_counter_1", 8, "q"),
    Field("term_tail_counter_2", 16, "q"),
    Field("active_term_count", 24, "i"),
    Field("end_of_stream_position", 128, "q"),
    Field("is_connected", 136, "i"),
    Field("active_transport_count", 140, "i"),
    Field("is_publication_revoked", 496, "B"),
)

# Words that the driver writes once.
FIELDS: Final = (
    Field("correlation_id", 256, "q"),
    Field("initial_term_id", 264, "i"),
    Field("default_frame_header_length", 268, "i"),
    Field("mtu_length", 272, "i"),
    Field("term_length", 276, "i"),
    Field("page_size", 280, "i"),
    Field("publication_window_length", 284, "i"),
    Field("receiver_window_length", 288, "i"),
    Field("socket_sndbuf_length", 292, "i"),
    Field("os_default_socket_sndbuf_length", 296, "i"),
    Field("os_max_socket_sndbuf_length", 300, "i"),
    Field("socket_rcvbuf_length", 304, "i"),
    Field("os_default_socket_rcvbuf_length", 308, "i"),
    Field("os_max_socket_rcvbuf_length", 312, "i"),
    Field("max_resend", 316, "i"),
    Field("entity_tag", 448, "q"),
    Field("response_correlation_id", 456, "q"),
    Field("linger_timeout_ns", 464, "q"),
    Field("untethered_window_limit_timeout_ns", 472, "q"),
    Field("untethered_resting_timeout_ns", 480, "q"),
    Field("group", 488, "B"),
    Field("is_response", 489, "B"),
    Field("rejoin", 490, "B"),
    Field("reliable", 491, "B"),
    Field("sparse", 492, "B"),
    Field("signal_eos", 493, "B"),
    Field("spies_simulate_connection", 494, "B"),
    Field("tether", 495, "B"),
    Field("type", 497, "B"),
    Field("untethered_linger_timeout_ns", 500, "q"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogMetadata:
    """Values of a log that never change after its creation.

    Lengths are in bytes, timeouts in nanoseconds. ``term_id`` and ``term_offset`` say where a
    publication starts (by default at its beginning); for an image they only fill the template
    header, since an image log has no tails.
    """

    correlation_id: int
    session_id: int
    stream_id: int
    initial_term_id: int
    term_length: int
    mtu_length: int
    type: LogType
    page_size: int = 4096
    default_frame_header_length: int = DATA_HEADER_LENGTH
    term_id: int | None = None
    term_offset: int = 0
    publication_window_length: int = 0
    receiver_window_length: int = 0
    socket_sndbuf_length: int = 0
    os_default_socket_sndbuf_length: int = 0
    os_max_socket_sndbuf_length: int = 0
    socket_rcvbuf_length: int = 0
    os_default_socket_rcvbuf_length: int = 0
    os_max_socket_rcvbuf_length: int = 0
    max_resend: int = 0
    entity_tag: int = 0
    response_correlation_id: int = 0
    linger_timeout_ns: int = 0
    untethered_window_limit_timeout_ns: int = 0
    untethered_resting_timeout_ns: int = 0
    untethered_linger_timeout_ns: int = 0
    group: bool = False
    is_response: bool = False
    rejoin: bool = False
    reliable: bool = False
    sparse: bool = False
    signal_eos: bool = False
    spies_simulate_connection: bool = False
    tether: bool = False


_BOOLEANS: Final = frozenset(n for n, t in get_type_hints(LogMetadata).items() if t is bool)


def encode(metadata: LogMetadata) -> bytes:
    """Encode the section as a driver writes it, without tails, counts and the end of stream."""
    section = bytearray(LENGTH)
    for field in FIELDS:
        struct.pack_into("<" + field.format, section, field.offset, getattr(metadata, field.name))
    FRAME_HEADER_STRUCT.pack_into(
        section,
        DEFAULT_HEADER_OFFSET,
        0,
        0,
        FLAGS_UNFRAGMENTED,
        FRAME_DATA,
        metadata.term_offset,
        metadata.session_id,
        metadata.stream_id,
        metadata.initial_term_id,
        0,
    )
    return bytes(section)


def decode(section: bytes | bytearray | memoryview) -> LogMetadata:
    """Decode a section; only its length and the type of log are checked.

    Raises:
        struct.error: if the section is shorter than 4096 bytes.
        ValueError: if the type of log is unknown.
    """
    if len(section) < LENGTH:
        raise struct.error(f"a metadata section has {LENGTH} bytes, not {len(section)}")
    values: dict[str, Any] = {}
    for field in FIELDS:
        value = struct.unpack_from("<" + field.format, section, field.offset)[0]
        values[field.name] = value == 1 if field.name in _BOOLEANS else value
    values["type"] = LogType(values["type"])
    header = FRAME_HEADER_STRUCT.unpack_from(section, DEFAULT_HEADER_OFFSET)
    values["term_offset"], values["session_id"], values["stream_id"] = header[4:7]
    return LogMetadata(**values)
