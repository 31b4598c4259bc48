"""Properties of the UDP side that other drivers have too (spec configuration 5.4 to 5.6, 8).

They are part of the driver's one table, see ``properties``.
"""

from __future__ import annotations

from typing import Final

from aerolog.transport.concurrent.idle import ALIASES
from aerolog.transport.config.definition import Declare

_S: Final = 1_000_000_000
_DRIVER: Final = "io.aeron.driver."

# Built-in implementations: accepted text -> what it stands for.
_IDLE: Final = {name: name for name in ALIASES}
_UNICAST_STRATEGY: Final = {_DRIVER + "UnicastFlowControl": "unicast_max"}
_MULTICAST_STRATEGY: Final = {
    _DRIVER + "MaxMulticastFlowControl": "multicast_max",
    _DRIVER + "MinMulticastFlowControl": "multicast_min",
    _DRIVER + "TaggedMulticastFlowControl": "multicast_tagged",
}
_SEND_ENDPOINT: Final = {
    "default": "default",
    "debug": "debug",
    _DRIVER + "DefaultSendChannelEndpointSupplier": "default",
    _DRIVER + "ext.DebugSendChannelEndpointSupplier": "debug",
}
_RECEIVE_ENDPOINT: Final = {
    "default": "default",
    "debug": "debug",
    _DRIVER + "DefaultReceiveChannelEndpointSupplier": "default",
    _DRIVER + "ext.DebugReceiveChannelEndpointSupplier": "debug",
}
_NAME_RESOLVER: Final = {
    "default": "default",
    "csv_table": "csv_table",
    "aeron_default_name_resolver_supplier": "default",
}

_add: Final = Declare()

# Flow and congestion control (5.4)
UNICAST_FLOW_CONTROL_STRATEGY = _add.choice(
    "aeron.unicast.flow.control.strategy",
    "unicast_max",
    _UNICAST_STRATEGY,
    "flow control of unicast publications when the supplier is the default one",
)
MULTICAST_FLOW_CONTROL_STRATEGY = _add.choice(
    "aeron.multicast.flow.control.strategy",
    "multicast_max",
    _MULTICAST_STRATEGY,
    "flow control of multicast publications when the supplier is the default one",
)
PREFERRED_MULTICAST_FLOW_CONTROL_ASF = _add.hex_bytes(
    "aeron.PreferredMulticastFlowControl.asf",
    b"\xff" * 8,
    "former form of aeron.flow.control.group.tag, 8 bytes, used when that one is not given",
    keyword="preferred_multicast_flow_control_asf",
)
FLOW_CONTROL_SM_ASF = _add.hex_bytes(
    "aeron.flow.control.sm.applicationSpecificFeedback",
    b"",
    "former form of aeron.receiver.group.tag, 8 bytes, used when that one is not given",
    keyword="flow_control_sm_application_specific_feedback",
)
CUBIC_INITIAL_RTT = _add.duration(
    "aeron.CubicCongestionControl.initialRtt",
    100_000,
    "round-trip time that cubic starts with",
    keyword="cubic_congestion_control_initial_rtt",
)
CUBIC_MEASURE_RTT = _add.boolean(
    "aeron.CubicCongestionControl.measureRtt",
    False,
    "cubic measures the round-trip time",
    keyword="cubic_congestion_control_measure_rtt",
)
CUBIC_TCP_MODE = _add.boolean(
    "aeron.CubicCongestionControl.tcpMode",
    False,
    "cubic is never slower than standard TCP",
    keyword="cubic_congestion_control_tcp_mode",
)

# Endpoints and batches (5.4, 8)
SEND_CHANNEL_ENDPOINT_SUPPLIER = _add.choice(
    "aeron.SendChannelEndpoint.supplier",
    "default",
    _SEND_ENDPOINT,
    "debug: send endpoints lose what aeron.debug.send says",
    keyword="send_channel_endpoint_supplier",
)
RECEIVE_CHANNEL_ENDPOINT_SUPPLIER = _add.choice(
    "aeron.ReceiveChannelEndpoint.supplier",
    "default",
    _RECEIVE_ENDPOINT,
    "debug: receive endpoints lose what aeron.debug.receive says",
    keyword="receive_channel_endpoint_supplier",
)
SENDER_IO_VECTOR_CAPACITY = _add.integer(
    "aeron.sender.io.vector.capacity",
    4,
    "without effect: a call of the sender takes as many datagrams as window and term allow",
    low=1,
)
RECEIVER_IO_VECTOR_CAPACITY = _add.integer(
    "aeron.receiver.io.vector.capacity",
    4,
    "without effect: a call of the receiver takes as many datagrams as are there, up to 64",
    low=1,
)
NETWORK_PUBLICATION_MAX_MESSAGES_PER_SEND = _add.integer(
    "aeron.network.publication.max.messages.per.send",
    4,
    "without effect: a cycle of the sender takes as many as window and term allow",
    low=1,
)
DRIVER_CONNECT = _add.boolean(
    "aeron.driver.connect", True, "sockets of unicast publications are connected"
)

# Loss on demand (5.4, 8)
SEND_DATA_LOSS_RATE = _add.double(
    "aeron.debug.send.data.loss.rate", 0.0, "share of outgoing data that debug endpoints lose"
)
SEND_CONTROL_LOSS_RATE = _add.double(
    "aeron.debug.send.control.loss.rate",
    0.0,
    "share of control frames to the sender that debug endpoints lose",
)
RECEIVE_DATA_LOSS_RATE = _add.double(
    "aeron.debug.receive.data.loss.rate", 0.0, "share of incoming data that debug endpoints lose"
)
RECEIVE_CONTROL_LOSS_RATE = _add.double(
    "aeron.debug.receive.control.loss.rate",
    0.0,
    "share of control frames from the receiver that debug endpoints lose",
)
SEND_DATA_LOSS_SEED = _add.long(
    "aeron.debug.send.data.loss.seed", -1, "seed of that loss, -1 for the time"
)
SEND_CONTROL_LOSS_SEED = _add.long(
    "aeron.debug.send.control.loss.seed", -1, "seed of that loss, -1 for the time"
)
RECEIVE_DATA_LOSS_SEED = _add.long(
    "aeron.debug.receive.data.loss.seed", -1, "seed of that loss, -1 for the time"
)
RECEIVE_CONTROL_LOSS_SEED = _add.long(
    "aeron.debug.receive.control.loss.seed", -1, "seed of that loss, -1 for the time"
)
OUTGOING_INTERCEPTORS = _add.text(
    "aeron.udp.channel.outgoing.interceptors",
    "",
    "comma list of loss, fixed-loss, multi-gap-loss; they act on incoming datagrams only",
)
INCOMING_INTERCEPTORS = _add.text(
    "aeron.udp.channel.incoming.interceptors", "", "comma list of loss, fixed-loss, multi-gap-loss"
)
LOSS_ARGS = _add.text(
    "aeron.udp.channel.transport.bindings.loss.args",
    None,
    "of loss: rate, seed and recv-msg-mask, as key=value with bars between",
)
FIXED_LOSS_ARGS = _add.text(
    "aeron.udp.channel.transport.bindings.fixed.loss.args",
    None,
    "of fixed-loss: term-id, term-offset and length",
)
MULTI_GAP_LOSS_ARGS = _add.text(
    "aeron.udp.channel.transport.bindings.multi.gap.loss.args",
    None,
    "of multi-gap-loss: term-id, gap-radix, gap-length and total-gaps",
)

# Bad networks and offload of our own; the reference has no such properties
_REHEARSAL: Final = ", as key=value with bars between; empty for nothing"
REHEARSE_SEND_DATA = _add.text(
    "aeron.rehearse.send.data", "", "what befalls datagrams that send endpoints send" + _REHEARSAL
)
REHEARSE_SEND_CONTROL = _add.text(
    "aeron.rehearse.send.control",
    "",
    "what befalls datagrams that send endpoints receive" + _REHEARSAL,
)
REHEARSE_RECEIVE_DATA = _add.text(
    "aeron.rehearse.receive.data",
    "",
    "what befalls datagrams that receive endpoints receive" + _REHEARSAL,
)
REHEARSE_RECEIVE_CONTROL = _add.text(
    "aeron.rehearse.receive.control",
    "",
    "what befalls datagrams that receive endpoints send" + _REHEARSAL,
)
NETWORK_OFFLOAD = _add.boolean(
    "aeron.network.offload",
    True,
    "the kernel cuts and joins datagrams where it can; what is on the wire is the same",
    any_case=True,
)

MEDIA_RECEIVE_TIMESTAMPS = _add.boolean(
    "aeron.media.receive.timestamps",
    False,
    "subscriptions may have media-rcv-ts-offset, as with the C driver; refused otherwise",
    any_case=True,
)

# Names (5.5, 5.6, 8)
DRIVER_ASYNC_EXECUTOR_IDLE_STRATEGY = _add.choice(
    "aeron.driver.async.executor.idle.strategy",
    "sleep-ms",
    _IDLE,
    "without effect: the thread that resolves names sleeps until there is work",
)
DRIVER_ASYNC_EXECUTOR_IDLE_STRATEGY_INIT_ARGS = _add.text(
    "aeron.driver.async.executor.idle.strategy.init.args",
    None,
    "without effect, as the strategy that they belong to",
)
DRIVER_RESOLVER_NEIGHBOR_TIMEOUT = _add.duration(
    "aeron.driver.resolver.neighbor.timeout",
    10 * _S,
    "a silent neighbor is forgotten after so long",
)
DRIVER_RESOLVER_SELF_RESOLUTION_INTERVAL = _add.duration(
    "aeron.driver.resolver.self.resolution.interval", _S, "period of telling the own name"
)
DRIVER_RESOLVER_NEIGHBOR_RESOLUTION_INTERVAL = _add.duration(
    "aeron.driver.resolver.neighbor.resolution.interval",
    2 * _S,
    "period of telling the names of neighbors",
)
DRIVER_RESOLVER_BOOTSTRAP_RESOLUTION_INTERVAL = _add.duration(
    "aeron.driver.resolver.bootstrap.neighbor.resolution.interval",
    10 * _S,
    "period of looking up first neighbors that do not answer",
    keyword="driver_resolver_bootstrap_neighbor_resolution_interval",
)
NAME_RESOLVER_SUPPLIER = _add.choice(
    "aeron.name.resolver.supplier", "default", _NAME_RESOLVER, "who knows names"
)
NAME_RESOLVER_INIT_ARGS = _add.text(
    "aeron.name.resolver.init.args", None, "arguments of the name resolver"
)
NAME_RESOLVER_CSV_LOOKUP_TABLE_ARGS = _add.text(
    "aeron.name.resolver.csv.lookup.table.args",
    None,
    "rows of csv_table: name, initial host, re-resolution host; bars between rows",
)

NETWORK_PROPERTIES: Final = _add.table
