"""The media driver's configuration properties (spec configuration 5), read through Settings."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from aerolog.transport.concurrent.idle import ALIASES
from aerolog.transport.config.definition import Declare
from aerolog.transport.config.known_names import STRICT
from aerolog.transport.config.settings import Settings
from aerolog.transport.events.properties import DRIVER_EVENT_PROPERTIES
from aerolog.transport.memory.aeron_directory import unconfigured_aeron_dir
from aerolog.transport.time_units import NS_PER_MS as _MS
from aerolog.transport.time_units import NS_PER_S as _S

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aerolog.transport.config.sources import Properties

_K: Final = 1024
_M: Final = 1024 * _K
_G: Final = 1024 * _M

_DRIVER: Final = "io.aeron.driver."

# Built-in implementations: the accepted text and the value that it stands for.
_MODES: Final = {mode: mode for mode in ("DEDICATED", "SHARED_NETWORK", "SHARED", "INVOKER")}
# The text itself is kept, because each agent makes its own idle strategy of name and arguments.
_IDLE: Final = {name: name for name in ALIASES}
_TERMINATION: Final = {
    "deny": "deny",
    "allow": "allow",
    _DRIVER + "DefaultDenyTerminationValidator": "deny",
    _DRIVER + "DefaultAllowTerminationValidator": "allow",
}
# The default suppliers use the strategy that ``aeron.unicast.flow.control.strategy`` names.
_UNICAST_FLOW_CONTROL: Final = {
    "default": "default",
    "unicast_max": "unicast_max",
    "aeron_unicast_flow_control_strategy_supplier": "unicast_max",
    _DRIVER + "DefaultUnicastFlowControlSupplier": "default",
}
_MULTICAST_FLOW_CONTROL: Final = {
    "default": "default",
    "multicast_max": "multicast_max",
    "multicast_min": "multicast_min",
    "multicast_tagged": "multicast_tagged",
    "aeron_max_multicast_flow_control_strategy_supplier": "multicast_max",
    "aeron_min_flow_control_strategy_supplier": "multicast_min",
    "aeron_tagged_flow_control_strategy_supplier": "multicast_tagged",
    _DRIVER + "DefaultMulticastFlowControlSupplier": "default",
    _DRIVER + "MaxMulticastFlowControlSupplier": "multicast_max",
    _DRIVER + "MinMulticastFlowControlSupplier": "multicast_min",
    _DRIVER + "TaggedMulticastFlowControlSupplier": "multicast_tagged",
}
_CONGESTION_CONTROL: Final = {
    "default": "default",
    "static": "static",
    "cubic": "cubic",
    "aeron_static_window_congestion_control_strategy_supplier": "static",
    "aeron_cubic_congestion_control_strategy_supplier": "cubic",
    _DRIVER + "DefaultCongestionControlSupplier": "default",
    _DRIVER + "StaticWindowCongestionControlSupplier": "static",
    _DRIVER + "ext.CubicCongestionControlSupplier": "cubic",
}
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
# ``aeron.driver.resolver.interface`` switches the gossip resolver on, whatever the supplier is.
_NAME_RESOLVER: Final = {
    "default": "default",
    "csv_table": "csv_table",
    "aeron_default_name_resolver_supplier": "default",
    "driver": "default",
}

#: Entry point groups in which other packages offer strategies by name.
FLOW_CONTROL_PLUG_INS: Final = "aerolog.flow_control"
CONGESTION_CONTROL_PLUG_INS: Final = "aerolog.congestion_control"

_add: Final = Declare()

# Directory, life cycle, diagnostics (5.1)
DIR = _add.text(
    "aeron.dir", None, "directory of the driver; a default per user when empty", keyword="dir"
)
DRIVER_TIMEOUT = _add.millis(
    "aeron.driver.timeout", 10_000, "age of a heartbeat above which another driver counts as dead"
)
DIR_WARN_IF_EXISTS = _add.boolean(
    "aeron.dir.warn.if.exists", False, "say so on stderr when the directory exists at start"
)
DIR_DELETE_ON_START = _add.boolean(
    "aeron.dir.delete.on.start",
    False,
    "delete what a dead driver left, without saving its errors",
)
DIR_DELETE_ON_SHUTDOWN = _add.boolean(
    "aeron.dir.delete.on.shutdown", False, "delete the directory on close"
)
PRINT_CONFIGURATION = _add.boolean(
    "aeron.print.configuration", False, "print the configuration at start"
)
ENABLE_EXPERIMENTAL_FEATURES = _add.boolean(
    "aeron.enable.experimental.features",
    False,
    "without effect: no feature is gated by it",
    any_case=True,
)
PERFORM_STORAGE_CHECKS = _add.boolean(
    "aeron.perform.storage.checks", True, "check free space before a log is created"
)
LOW_FILE_STORE_WARNING_THRESHOLD = _add.size(
    "aeron.low.file.store.warning.threshold",
    160 * _M,
    "warn in the error log at or below this free space",
)
DRIVER_TERMINATION_VALIDATOR = _add.choice(
    "aeron.driver.termination.validator",
    "deny",
    _TERMINATION,
    "whether a terminate command is obeyed",
    keyword="termination_validator",
)

# Buffers (5.2)
CONDUCTOR_BUFFER_LENGTH = _add.size(
    "aeron.conductor.buffer.length",
    _M + 768,
    "to-driver ring buffer: power of two + 768",
    low=_M + 768,
)
CLIENTS_BUFFER_LENGTH = _add.size(
    "aeron.clients.buffer.length",
    _M + 128,
    "to-clients broadcast buffer: power of two + 128",
    low=_M + 128,
)
COUNTERS_BUFFER_LENGTH = _add.size(
    "aeron.counters.buffer.length",
    8 * _M,
    "counter values",
    low=_M,
    high=500 * _M,
)
ERROR_BUFFER_LENGTH = _add.size(
    "aeron.error.buffer.length", 4 * _M, "distinct error log", low=4 * _M
)
LOSS_REPORT_BUFFER_LENGTH = _add.size(
    "aeron.loss.report.buffer.length", _M, "loss report, rounded up to the page size"
)
FILE_PAGE_SIZE = _add.size(
    "aeron.file.page.size", 4 * _K, "alignment of files, a power of two", low=4 * _K, high=_G
)
TERM_BUFFER_LENGTH = _add.size(
    "aeron.term.buffer.length", 16 * _M, "term length of network publications"
)
IPC_TERM_BUFFER_LENGTH = _add.size(
    "aeron.ipc.term.buffer.length", 64 * _M, "term length of IPC publications"
)
TERM_BUFFER_SPARSE_FILE = _add.boolean(
    "aeron.term.buffer.sparse.file", True, "logs take room on disk as they are used"
)
PUBLICATION_TERM_WINDOW_LENGTH = _add.size(
    "aeron.publication.term.window.length",
    0,
    "window of network publications, 0 for half a term",
    high=_G,
)
IPC_PUBLICATION_TERM_WINDOW_LENGTH = _add.size(
    "aeron.ipc.publication.term.window.length",
    0,
    "window of IPC publications, 0 for half a term",
    high=_G,
)
MTU_LENGTH = _add.size("aeron.mtu.length", 1408, "largest datagram of network publications")
IPC_MTU_LENGTH = _add.size("aeron.ipc.mtu.length", 1408, "largest frame of IPC publications")
RCV_INITIAL_WINDOW_LENGTH = _add.size(
    "aeron.rcv.initial.window.length", 128 * _K, "initial receiver window"
)
SOCKET_SO_RCVBUF = _add.size(
    "aeron.socket.so_rcvbuf", 128 * _K, "socket receive buffer, 0 for the system's"
)
SOCKET_SO_SNDBUF = _add.size("aeron.socket.so_sndbuf", 0, "socket send buffer, 0 for the system's")
SOCKET_MULTICAST_TTL = _add.integer(
    "aeron.socket.multicast.ttl", 0, "multicast time to live, 0 for the system's"
)

# Timers and liveness (5.3)
TIMER_INTERVAL = _add.duration("aeron.timer.interval", _S, "period of the conductor's housekeeping")
CLIENT_LIVENESS_TIMEOUT = _add.duration(
    "aeron.client.liveness.timeout", 10 * _S, "a client without keepalive for so long is dead"
)
PUBLICATION_UNBLOCK_TIMEOUT = _add.duration(
    "aeron.publication.unblock.timeout", 15 * _S, "an abandoned claim is released after so long"
)
PUBLICATION_CONNECTION_TIMEOUT = _add.duration(
    "aeron.publication.connection.timeout", 5 * _S, "no status message for so long: not connected"
)
PUBLICATION_LINGER_TIMEOUT = _add.duration(
    "aeron.publication.linger.timeout", 5 * _S, "time that a drained network publication is kept"
)
IMAGE_LIVENESS_TIMEOUT = _add.duration(
    "aeron.image.liveness.timeout", 10 * _S, "an image without data for so long is removed"
)
RCV_STATUS_MESSAGE_TIMEOUT = _add.duration(
    "aeron.rcv.status.message.timeout", 200 * _MS, "longest interval between status messages"
)
SEND_TO_STATUS_POLL_RATIO = _add.integer(
    "aeron.send.to.status.poll.ratio", 6, "sends per poll for status messages"
)
COUNTERS_FREE_TO_REUSE_TIMEOUT = _add.duration(
    "aeron.counters.free.to.reuse.timeout", _S, "a freed counter id rests for so long"
)
UNTETHERED_WINDOW_LIMIT_TIMEOUT = _add.duration(
    "aeron.untethered.window.limit.timeout",
    5 * _S,
    "lag of an untethered subscriber that is tolerated",
)
UNTETHERED_LINGER_TIMEOUT = _add.duration(
    "aeron.untethered.linger.timeout",
    -1,
    "time it then has to drain, -1 for the window limit timeout",
    low=-1,
)
UNTETHERED_RESTING_TIMEOUT = _add.duration(
    "aeron.untethered.resting.timeout", 10 * _S, "time it rests before it joins again"
)
DRIVER_RESOURCE_FREE_LIMIT = _add.integer(
    "aeron.driver.resource.free.limit", 10, "logs deleted per conductor cycle"
)
DRIVER_CONDUCTOR_CYCLE_THRESHOLD = _add.duration(
    "aeron.driver.conductor.cycle.threshold", 100 * _MS, "longer conductor cycles are counted"
)
DRIVER_SENDER_CYCLE_THRESHOLD = _add.duration(
    "aeron.driver.sender.cycle.threshold", 100 * _MS, "longer sender cycles are counted"
)
DRIVER_RECEIVER_CYCLE_THRESHOLD = _add.duration(
    "aeron.driver.receiver.cycle.threshold", 100 * _MS, "longer receiver cycles are counted"
)
NAME_RESOLVER_THRESHOLD = _add.duration(
    "aeron.name.resolver.threshold",
    5 * _S,
    "longer name resolutions are counted",
    env="AERON_DRIVER_NAME_RESOLVER_THRESHOLD",
)

# Loss, flow and congestion control (5.4)
NAK_UNICAST_DELAY = _add.duration(
    "aeron.nak.unicast.delay", 1000, "delay of a request for retransmission", low=1000
)
NAK_UNICAST_RETRY_DELAY_RATIO = _add.size(
    "aeron.nak.unicast.retry.delay.ratio", 100, "its retry delay, in multiples of the delay", low=1
)
NAK_MULTICAST_GROUP_SIZE = _add.integer(
    "aeron.nak.multicast.group.size", 10, "estimated size of a multicast group"
)
NAK_MULTICAST_MAX_BACKOFF = _add.duration(
    "aeron.nak.multicast.max.backoff", 10 * _MS, "longest backoff in a multicast group"
)
RETRANSMIT_UNICAST_DELAY = _add.duration(
    "aeron.retransmit.unicast.delay", 0, "delay of a retransmission"
)
RETRANSMIT_UNICAST_LINGER = _add.duration(
    "aeron.retransmit.unicast.linger", 10 * _MS, "a repeated request within so long is ignored"
)
MAX_RESEND = _add.integer("aeron.max.resend", 16, "retransmissions at a time, 1 to 256")
UNICAST_FLOWCONTROL_SUPPLIER = _add.choice(
    "aeron.unicast.FlowControl.supplier",
    "default",
    _UNICAST_FLOW_CONTROL,
    "flow control of unicast publications",
    plug_ins=FLOW_CONTROL_PLUG_INS,
)
MULTICAST_FLOWCONTROL_SUPPLIER = _add.choice(
    "aeron.multicast.FlowControl.supplier",
    "default",
    _MULTICAST_FLOW_CONTROL,
    "flow control of multicast publications",
    plug_ins=FLOW_CONTROL_PLUG_INS,
)
UNICAST_FLOW_CONTROL_RRWM = _add.integer(
    "aeron.unicast.flow.control.rrwm",
    16,
    "retransmission limit in receiver windows, unicast",
    low=1,
)
MULTICAST_FLOW_CONTROL_RRWM = _add.integer(
    "aeron.multicast.flow.control.rrwm",
    4,
    "retransmission limit in receiver windows, multicast",
    low=1,
)
FLOW_CONTROL_GROUP_TAG = _add.long(
    "aeron.flow.control.group.tag", -1, "tag that tagged flow control requires"
)
FLOW_CONTROL_GROUP_MIN_SIZE = _add.integer(
    "aeron.flow.control.group.min.size", 0, "receivers needed before it counts as connected"
)
FLOW_CONTROL_RECEIVER_TIMEOUT = _add.duration(
    "aeron.flow.control.receiver.timeout", 5 * _S, "a silent receiver is dropped after so long"
)
RECEIVER_GROUP_TAG = _add.long("aeron.receiver.group.tag", None, "tag sent in status messages")
RECEIVER_GROUP_CONSIDERATION = _add.inferable(
    "aeron.receiver.group.consideration", "whether receivers are members of a group"
)
CONGESTIONCONTROL_SUPPLIER = _add.choice(
    "aeron.CongestionControl.supplier",
    "default",
    _CONGESTION_CONTROL,
    "congestion control of images",
    plug_ins=CONGESTION_CONTROL_PLUG_INS,
)
REJOIN_STREAM = _add.boolean(
    "aeron.rejoin.stream", True, "a lost image is joined again", any_case=True
)
RELIABLE_STREAM = _add.boolean("aeron.reliable.stream", True, "gaps are asked for")
TETHER_SUBSCRIPTIONS = _add.boolean(
    "aeron.tether.subscriptions", True, "subscribers hold publishers back"
)
SPIES_SIMULATE_CONNECTION = _add.boolean(
    "aeron.spies.simulate.connection", False, "spies count as receivers"
)
PUBLICATION_RESERVED_SESSION_ID_LOW = _add.integer(
    "aeron.publication.reserved.session.id.low", -1, "lowest session id never handed out"
)
PUBLICATION_RESERVED_SESSION_ID_HIGH = _add.integer(
    "aeron.publication.reserved.session.id.high", 1000, "highest session id never handed out"
)
DRIVER_STREAM_SESSION_LIMIT = _add.integer(
    "aeron.driver.stream.session.limit", 2**31 - 1, "sessions per stream and receive endpoint"
)
SOURCE_IMAGES_MAX = _add.integer(
    "aerolog.driver.source.images.max",
    4096,
    "images that a host may have, whatever its ports; 0: any number",
    keyword="source_images_max",
    low=0,
)
SOURCE_IMAGE_RATE = _add.integer(
    "aerolog.driver.source.image.rate",
    1024,
    "images that a host may begin in a second; 0: any number",
    keyword="source_image_rate",
    low=0,
)

# Threads (5.5)
THREADING_MODE = _add.choice(
    "aeron.threading.mode", "DEDICATED", _MODES, "which agents share a thread"
)
CONDUCTOR_IDLE_STRATEGY = _add.choice(
    "aeron.conductor.idle.strategy", "backoff", _IDLE, "what the conductor thread does without work"
)
SENDER_IDLE_STRATEGY = _add.choice(
    "aeron.sender.idle.strategy", "backoff", _IDLE, "what the sender thread does without work"
)
RECEIVER_IDLE_STRATEGY = _add.choice(
    "aeron.receiver.idle.strategy", "backoff", _IDLE, "what the receiver thread does without work"
)
SHAREDNETWORK_IDLE_STRATEGY = _add.choice(
    "aeron.sharednetwork.idle.strategy",
    "backoff",
    _IDLE,
    "what the sharednetwork thread does without work",
)
SHARED_IDLE_STRATEGY = _add.choice(
    "aeron.shared.idle.strategy", "backoff", _IDLE, "what the shared thread does without work"
)
CONDUCTOR_IDLE_STRATEGY_INIT_ARGS = _add.text(
    "aeron.conductor.idle.strategy.init.args", None, "arguments of the conductor idle strategy"
)
SENDER_IDLE_STRATEGY_INIT_ARGS = _add.text(
    "aeron.sender.idle.strategy.init.args", None, "arguments of the sender idle strategy"
)
RECEIVER_IDLE_STRATEGY_INIT_ARGS = _add.text(
    "aeron.receiver.idle.strategy.init.args", None, "arguments of the receiver idle strategy"
)
SHAREDNETWORK_IDLE_STRATEGY_INIT_ARGS = _add.text(
    "aeron.sharednetwork.idle.strategy.init.args",
    None,
    "arguments of the sharednetwork idle strategy",
)
SHARED_IDLE_STRATEGY_INIT_ARGS = _add.text(
    "aeron.shared.idle.strategy.init.args", None, "arguments of the shared idle strategy"
)
CONDUCTOR_CPU_AFFINITY = _add.integer(
    "aeron.conductor.cpu.affinity", -1, "CPU of the conductor thread, -1 for any", low=-1, high=255
)
SENDER_CPU_AFFINITY = _add.integer(
    "aeron.sender.cpu.affinity", -1, "CPU of the sender thread, -1 for any", low=-1, high=255
)
RECEIVER_CPU_AFFINITY = _add.integer(
    "aeron.receiver.cpu.affinity", -1, "CPU of the receiver thread, -1 for any", low=-1, high=255
)
DRIVER_ASYNC_EXECUTOR_ENABLED = _add.boolean(
    "aeron.driver.async.executor.enabled",
    True,
    "names are resolved off the conductor",
    any_case=True,
)

# Names and addresses (5.6)
DRIVER_RESOLVER_NAME = _add.text(
    "aeron.driver.resolver.name", None, "name of this driver in the name resolver"
)
DRIVER_RESOLVER_INTERFACE = _add.text(
    "aeron.driver.resolver.interface", None, "address of the name resolver"
)
DRIVER_RESOLVER_BOOTSTRAP_NEIGHBOR = _add.text(
    "aeron.driver.resolver.bootstrap.neighbor", None, "first neighbors of the name resolver"
)
DRIVER_RERESOLUTION_CHECK_INTERVAL = _add.duration(
    "aeron.driver.reresolution.check.interval", _S, "period of re-resolution checks"
)
SENDER_WILDCARD_PORT_RANGE = _add.port_range(
    "aeron.sender.wildcard.port.range", "ports for senders"
)
RECEIVER_WILDCARD_PORT_RANGE = _add.port_range(
    "aeron.receiver.wildcard.port.range", "ports for receivers"
)

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

# Disturbed networks and offload: properties of aerolog that the reference does not have
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
    True,
    "subscriptions may have media-rcv-ts-offset, as with the C driver; false: it is refused",
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

PROPERTIES: Final = (*_add.table, *DRIVER_EVENT_PROPERTIES, STRICT)


def driver_settings(
    properties: Properties | None = None, keywords: Mapping[str, Any] | None = None
) -> Settings:
    """Return the settings of a driver.

    Args:
        properties: texts by the reference's names; the environment when None.
        keywords: overrides from Python, named as the properties without ``aeron.``.

    Raises:
        ConfigurationError: an unknown keyword, or a value that cannot be used.
    """
    return Settings(PROPERTIES, properties, keywords)


def aeron_dir(settings: Settings) -> str:
    """Return the driver's directory as an absolute path without links (spec configuration 4)."""
    return os.path.realpath(settings[DIR] or unconfigured_aeron_dir())
