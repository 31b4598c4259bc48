"""The parameters of a channel as a table: key, kind, order of writing (spec channel-uri 6, 21)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

SCHEME: Final = "aeron"
SPY_QUALIFIER: Final = "aeron-spy"
SPY_PREFIX: Final = "aeron-spy:"
TAG_PREFIX: Final = "tag:"
INVALID_TAG: Final = -1
RESERVED: Final = "reserved"
RESERVED_OFFSET: Final = -8
PROTOTYPE: Final = "prototype"
PROTOTYPE_CORRELATION_ID: Final = -2
MAX_URI_LENGTH: Final = 4095
IPC_MEDIA: Final = "ipc"
UDP_MEDIA: Final = "udp"
IPC_CHANNEL: Final = "aeron:ipc"

ENDPOINT: Final = "endpoint"
INTERFACE: Final = "interface"
CONTROL: Final = "control"
CONTROL_MODE: Final = "control-mode"
TAGS: Final = "tags"
ALIAS: Final = "alias"
MTU: Final = "mtu"
TERM_LENGTH: Final = "term-length"
INIT_TERM_ID: Final = "init-term-id"
TERM_ID: Final = "term-id"
TERM_OFFSET: Final = "term-offset"
SESSION_ID: Final = "session-id"
STREAM_ID: Final = "stream-id"
LINGER: Final = "linger"
RELIABLE: Final = "reliable"
SPARSE: Final = "sparse"
EOS: Final = "eos"
TETHER: Final = "tether"
GROUP: Final = "group"
REJOIN: Final = "rejoin"
TTL: Final = "ttl"
CC: Final = "cc"
FC: Final = "fc"
GTAG: Final = "gtag"
SSC: Final = "ssc"
SO_SNDBUF: Final = "so-sndbuf"
SO_RCVBUF: Final = "so-rcvbuf"
RCV_WND: Final = "rcv-wnd"
PUB_WND: Final = "pub-wnd"
MEDIA_RCV_TS_OFFSET: Final = "media-rcv-ts-offset"
CHANNEL_RCV_TS_OFFSET: Final = "channel-rcv-ts-offset"
CHANNEL_SND_TS_OFFSET: Final = "channel-snd-ts-offset"
RESPONSE_ENDPOINT: Final = "response-endpoint"
RESPONSE_CORRELATION_ID: Final = "response-correlation-id"
NAK_DELAY: Final = "nak-delay"
UNTETHERED_WINDOW_LIMIT_TIMEOUT: Final = "untethered-window-limit-timeout"
UNTETHERED_LINGER_TIMEOUT: Final = "untethered-linger-timeout"
UNTETHERED_RESTING_TIMEOUT: Final = "untethered-resting-timeout"
MAX_RESEND: Final = "max-resend"

CONTROL_MODE_MANUAL: Final = "manual"
CONTROL_MODE_DYNAMIC: Final = "dynamic"
CONTROL_MODE_RESPONSE: Final = "response"
CONTROL_MODES: Final = (CONTROL_MODE_MANUAL, CONTROL_MODE_DYNAMIC, CONTROL_MODE_RESPONSE)


class Kind(Enum):
    """How the builder reads and writes a value."""

    TEXT = "text"
    CONTROL_MODE = "manual, dynamic or response"
    MTU = "size, 32 to 65504, a multiple of 32"
    TERM_LENGTH = "size, a power of two from 64k to 1g"
    SIZE = "size"
    DURATION = "duration"
    BOOLEAN = "true or false"
    INT32 = "signed 32-bit decimal"
    INT64 = "signed 64-bit decimal"
    TERM_OFFSET = "0 to 1073741824, a multiple of 32"
    SESSION_ID = "signed 32-bit decimal, or tag:N"
    TTL = "0 to 255"
    TIMESTAMP_OFFSET = "signed 32-bit decimal, or reserved"
    RESPONSE_CORRELATION_ID = "signed 64-bit decimal from -1, or prototype"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One known parameter.

    Attributes:
        key: the key in a channel.
        kind: how the value is read and written.
        stripped: whether the archive's stripped channel keeps it (spec channel-uri 22).
        label: the parameter's name in errors of the reference's builder.
        aliases: further keyword names besides the key in snake case.
        meaning: one line for the reference page.
    """

    key: str
    kind: Kind
    stripped: bool
    meaning: str
    label: str = ""
    aliases: tuple[str, ...] = ()


_P = Parameter

#: All known parameters, in the order in which the builder writes them.
PARAMETERS: Final[tuple[Parameter, ...]] = (
    _P(TAGS, Kind.TEXT, True, "channel tag[,entity tag]: names an endpoint and a publication"),
    _P(ENDPOINT, Kind.TEXT, True, "host:port that data is sent to, or received on"),
    _P(INTERFACE, Kind.TEXT, True, "local interface: address[/prefix][:port] or {name}[:port]"),
    _P(CONTROL, Kind.TEXT, True, "host:port of the control address"),
    _P(CONTROL_MODE, Kind.CONTROL_MODE, True, "multi-destination or response mode"),
    _P(MTU, Kind.MTU, False, "largest datagram of the publication"),
    _P(TERM_LENGTH, Kind.TERM_LENGTH, False, "length of a term of the publication's log"),
    _P(INIT_TERM_ID, Kind.INT32, False, "first term id; with the next two", "initial-term-id"),
    _P(TERM_ID, Kind.INT32, False, "term id to start at"),
    _P(TERM_OFFSET, Kind.TERM_OFFSET, False, "offset in that term to start at"),
    _P(SESSION_ID, Kind.SESSION_ID, True, "session of the publication, or the only one to receive"),
    _P(TTL, Kind.TTL, True, "multicast time to live"),
    _P(RELIABLE, Kind.BOOLEAN, False, "false: gaps become padding instead of being asked for"),
    _P(LINGER, Kind.DURATION, False, "time that a drained publication is kept"),
    _P(ALIAS, Kind.TEXT, True, "free text for people"),
    _P(CC, Kind.TEXT, True, "congestion control: static or cubic", aliases=("congestion_control",)),
    _P(FC, Kind.TEXT, True, "flow control: max, min or tagged, with options",
       aliases=("flow_control",)),
    _P(GTAG, Kind.INT64, True, "group tag sent in status messages", aliases=("group_tag",)),
    _P(SPARSE, Kind.BOOLEAN, False, "sparse log files"),
    _P(EOS, Kind.BOOLEAN, False, "signal the end of the stream on close",
       aliases=("end_of_stream",)),
    _P(TETHER, Kind.BOOLEAN, True, "false: a slow subscriber may be left behind"),
    _P(GROUP, Kind.BOOLEAN, True, "whether a receiver is a member of a group"),
    _P(REJOIN, Kind.BOOLEAN, True, "false: a lost image is not joined again"),
    _P(SSC, Kind.BOOLEAN, False, "spies count as connected receivers",
       aliases=("spies_simulate_connection",)),
    _P(SO_SNDBUF, Kind.SIZE, True, "socket send buffer", aliases=("socket_sndbuf_length",)),
    _P(SO_RCVBUF, Kind.SIZE, True, "socket receive buffer", aliases=("socket_rcvbuf_length",)),
    _P(RCV_WND, Kind.SIZE, True, "receiver window", aliases=("receiver_window",)),
    _P(MEDIA_RCV_TS_OFFSET, Kind.TIMESTAMP_OFFSET, True, "where the media's receive time goes",
       "mediaReceiveTimestampOffset"),
    _P(CHANNEL_RCV_TS_OFFSET, Kind.TIMESTAMP_OFFSET, True, "where the receive time goes",
       "channelReceiveTimestampOffset"),
    _P(CHANNEL_SND_TS_OFFSET, Kind.TIMESTAMP_OFFSET, True, "where the send time goes",
       "channelSendTimestampOffset"),
    _P(RESPONSE_ENDPOINT, Kind.TEXT, True, "control address of a response channel, for clients"),
    _P(RESPONSE_CORRELATION_ID, Kind.RESPONSE_CORRELATION_ID, True,
       "image or subscription that a response channel belongs to", "responseCorrelationId"),
    _P(NAK_DELAY, Kind.DURATION, False, "delay of a request for retransmission"),
    _P(UNTETHERED_WINDOW_LIMIT_TIMEOUT, Kind.DURATION, False,
       "lag of an untethered subscriber that is tolerated"),
    _P(UNTETHERED_LINGER_TIMEOUT, Kind.DURATION, False,
       "time an untethered subscriber has to drain"),
    _P(UNTETHERED_RESTING_TIMEOUT, Kind.DURATION, False,
       "time an untethered subscriber rests before it joins again"),
    _P(MAX_RESEND, Kind.INT32, False, "retransmissions at a time, 1 to 256"),
    _P(STREAM_ID, Kind.INT32, True, "must equal the stream id of the command"),
    _P(PUB_WND, Kind.SIZE, False, "window of the publication, mtu to half a term",
       aliases=("publication_window",)),
)  # fmt: skip

BY_KEY: Final = {parameter.key: parameter for parameter in PARAMETERS}

#: The parameters by keyword argument: the key in snake case, and the aliases.
BY_KEYWORD: Final = {
    keyword: parameter
    for parameter in PARAMETERS
    for keyword in (parameter.key.replace("-", "_"), *parameter.aliases)
}
