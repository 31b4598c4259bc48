"""The types of the driver's counters (spec counters 2 to 4), and of the transport's own."""

from __future__ import annotations

from typing import Final

from aerolog.transport.counters.counter_kind import NO_KEY, CounterKind, KeyLayout

SYSTEM_KEY: Final = KeyLayout("i32 system counter id")
STREAM_KEY: Final = KeyLayout(
    "i64 registration id", "i32 session id", "i32 stream id", "i32 length", "text channel"
)
CHANNEL_KEY: Final = KeyLayout("i32 length", "text channel")
ADDRESS_KEY: Final = KeyLayout("i32 id of the channel's counter", "i32 length", "text address")
HEARTBEAT_KEY: Final = KeyLayout("i64 client id")
NEIGHBOR_KEY: Final = KeyLayout("i32 index")
NAME_KEY: Final = KeyLayout("i32 length", "text name")


class CounterType(CounterKind):
    """Types of the counters of drivers. Native code has those that it uses in the .pxd."""

    SYSTEM = 0, "", SYSTEM_KEY, "One of the system counters, which have ids of their own"
    PUBLISHER_LIMIT = 1, "pub-lmt", STREAM_KEY, "Position up to which publishers may write"
    SENDER_POSITION = 2, "snd-pos", STREAM_KEY, "Position up to which the sender has sent"
    RECEIVER_HWM = 3, "rcv-hwm", STREAM_KEY, "Highest position that the receiver has seen"
    SUBSCRIBER_POSITION = (
        4,
        "sub-pos",
        STREAM_KEY,
        "Position up to which the subscriber has consumed",
    )
    RECEIVER_POSITION = 5, "rcv-pos", STREAM_KEY, "Position up to which nothing is missing"
    SEND_CHANNEL_STATUS = 6, "snd-channel", CHANNEL_KEY, "Status of a channel for sending"
    RECEIVE_CHANNEL_STATUS = 7, "rcv-channel", CHANNEL_KEY, "Status of a channel for receiving"
    SENDER_LIMIT = 9, "snd-lmt", STREAM_KEY, "Position up to which flow control lets the sender go"
    PER_IMAGE = (
        10,
        "rcv-cc-{algorithm}-{figure}",
        STREAM_KEY,
        "A figure of congestion control: the round trip in nanoseconds, or the window in bytes",
    )
    CLIENT_HEARTBEAT = (
        11,
        "client-heartbeat",
        HEARTBEAT_KEY,
        "Time of the client's last sign of life, epoch milliseconds",
    )
    PUBLISHER_POSITION = (
        12,
        "pub-pos ({kind})",
        STREAM_KEY,
        "Position of the publishers, as the conductor saw it last",
    )
    SENDER_BPE = 13, "snd-bpe", STREAM_KEY, "Times the sender had no window left"
    LOCAL_SOCKET_ADDRESS = (
        14,
        "{side}-local-sockaddr",
        ADDRESS_KEY,
        "Status of a socket; the address is in the key and the label",
    )
    RESOLVER_NEIGHBORS = 15, "Resolver neighbors", NO_KEY, "Neighbors of the driver's name resolver"
    RESOLVER_CACHE_ENTRIES = (
        16,
        "Resolver cache entries",
        NO_KEY,
        "Names that the driver's name resolver has in its cache",
    )
    FLOW_CONTROL_RECEIVERS = (
        17,
        "fc-receivers",
        STREAM_KEY,
        "Receivers that flow control tracks",
    )
    MDC_DESTINATIONS = 18, "mdc-num-dest", CHANNEL_KEY, "Destinations of the channel"
    SENDER_NAKS_RECEIVED = (
        19,
        "snd-naks-received",
        STREAM_KEY,
        "NAKs received: requests to send again",
    )
    RECEIVER_NAKS_SENT = 20, "rcv-naks-sent", STREAM_KEY, "NAKs sent: requests to send again"
    RESOLVER_BOOTSTRAP_NEIGHBOR = (
        21,
        "Bootstrap neighbor",
        NEIGHBOR_KEY,
        "Not used; the label shows the neighbor's name and address",
    )
    NAME_ENTRY = (
        2001,
        "NameEntry",
        NAME_KEY,
        "Address that a name of the table has: 0 the first, 1 the second, -1 none",
    )


#: Types of the counters of publications, images and subscriptions.
OF_STREAMS: Final = frozenset(each for each in CounterType if each.key is STREAM_KEY)
