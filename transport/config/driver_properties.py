"""The media driver's properties (configuration 5 and 8), each declared once."""

from __future__ import annotations

import os
import pwd
import tempfile
from pathlib import Path
from typing import Final

from aerolog.transport.config import names
from aerolog.transport.config.definition import Declare
from aerolog.transport.config.values import INT32_MAX

_S: Final = 1_000_000_000
_MS: Final = 1_000_000
_US: Final = 1_000
_K: Final = 1 << 10
_M: Final = 1 << 20
_G: Final = 1 << 30

_driver = Declare()


def default_aeron_dir() -> str:
    """``/dev/shm/aeron-<user>``, or the same in the temporary folder where there is no /dev/shm."""
    shared_memory = Path("/dev/shm")  # noqa: S108
    parent = shared_memory if shared_memory.is_dir() else Path(tempfile.gettempdir())
    return str(parent / f"aeron-{_user_name()}")


def _user_name() -> str:
    # The account of the process comes first, as in Java: USER survives a change of account.
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return os.environ.get("USER") or "default"


# -- directory, life cycle, diagnostics (5.1)
DIR = _driver.text("aeron.dir", None, "driver directory; default: aeron-<user> in /dev/shm")
DRIVER_TIMEOUT_MS = _driver.millis(
    "aeron.driver.timeout", 10_000, "age of a driver's heartbeat above which it counts as dead"
)
DIR_WARN_IF_EXISTS = _driver.boolean(
    "aeron.dir.warn.if.exists", False, "warn when the directory exists at start"
)
DIR_DELETE_ON_START = _driver.boolean(
    "aeron.dir.delete.on.start", False, "delete the directory without looking for a live driver"
)
DIR_DELETE_ON_SHUTDOWN = _driver.boolean(
    "aeron.dir.delete.on.shutdown", False, "delete the directory on close"
)
PRINT_CONFIGURATION = _driver.boolean(
    "aeron.print.configuration", False, "print the configuration at start"
)
DEBUG_TIMEOUT = _driver.duration("aeron.debug.timeout", 0, "replaces timeouts under a debugger")
EXPERIMENTAL_FEATURES = _driver.boolean(
    "aeron.enable.experimental.features", False, "gates nothing", any_case=True
)
FALLBACK_LOGGER = _driver.choice(
    "aeron.fallback.logger", "stderr", names.FALLBACK_LOGGERS,
    "where errors go that do not fit the error log",
)  # fmt: skip
PERFORM_STORAGE_CHECKS = _driver.boolean(
    "aeron.perform.storage.checks", True, "check free space before creating log files"
)
LOW_FILE_STORE_WARNING_THRESHOLD = _driver.size(
    "aeron.low.file.store.warning.threshold", 160 * _M, "warn in the error log below this space"
)
TERMINATION_VALIDATOR = _driver.choice(
    "aeron.driver.termination.validator", "deny", names.TERMINATION_VALIDATORS,
    "whether a terminate command is honoured",
)  # fmt: skip

# -- buffers (5.2)
CONDUCTOR_BUFFER_LENGTH = _driver.size(
    "aeron.conductor.buffer.length", _M + 768, "to-driver ring; a power of two + 768"
)
CLIENTS_BUFFER_LENGTH = _driver.size(
    "aeron.clients.buffer.length", _M + 128, "to-clients broadcast; a power of two + 128"
)
COUNTERS_BUFFER_LENGTH = _driver.size(
    "aeron.counters.buffer.length", 8 * _M, "counter values, 1m to 500m; metadata is 4 times that"
)
ERROR_BUFFER_LENGTH = _driver.size("aeron.error.buffer.length", 4 * _M, "error log, at least 4m")
LOSS_REPORT_BUFFER_LENGTH = _driver.size(
    "aeron.loss.report.buffer.length", _M, "loss report, at least 1m, rounded up to a page"
)
FILE_PAGE_SIZE = _driver.size(
    "aeron.file.page.size", 4 * _K, "alignment of mapped files; a power of two, 4k to 1g"
)
TERM_BUFFER_LENGTH = _driver.size(
    "aeron.term.buffer.length", 16 * _M, "term of a network publication; a power of two, 64k to 1g"
)
IPC_TERM_BUFFER_LENGTH = _driver.size(
    "aeron.ipc.term.buffer.length", 64 * _M, "term of an IPC publication; a power of two, 64k to 1g"
)
TERM_BUFFER_SPARSE_FILE = _driver.boolean(
    "aeron.term.buffer.sparse.file", True, "do not allocate log files when they are created"
)
PUBLICATION_TERM_WINDOW_LENGTH = _driver.size(
    "aeron.publication.term.window.length", 0, "window of network publications; 0 is half a term"
)
IPC_PUBLICATION_TERM_WINDOW_LENGTH = _driver.size(
    "aeron.ipc.publication.term.window.length", 0, "window of IPC publications; 0 is half a term"
)
MTU_LENGTH = _driver.size(
    "aeron.mtu.length", 1408, "mtu of network publications; a multiple of 32, 64 to 65504"
)
IPC_MTU_LENGTH = _driver.size(
    "aeron.ipc.mtu.length", 1408, "mtu of IPC publications; a multiple of 32, 64 to 65504"
)
RCV_INITIAL_WINDOW_LENGTH = _driver.size(
    "aeron.rcv.initial.window.length", 128 * _K, "initial receiver window"
)
SOCKET_SO_RCVBUF = _driver.size(
    "aeron.socket.so_rcvbuf", 128 * _K, "socket receive buffer; 0 is the system's default"
)
SOCKET_SO_SNDBUF = _driver.size(
    "aeron.socket.so_sndbuf", 0, "socket send buffer; 0 is the system's default"
)
SOCKET_MULTICAST_TTL = _driver.integer(
    "aeron.socket.multicast.ttl", 0, "multicast time to live; 0 is the system's default"
)

# -- timers and liveness (5.3)
TIMER_INTERVAL = _driver.duration("aeron.timer.interval", _S, "conductor's housekeeping tick")
CLIENT_LIVENESS_TIMEOUT = _driver.duration(
    "aeron.client.liveness.timeout", 10 * _S, "a client without keepalive for so long is dead"
)
PUBLICATION_UNBLOCK_TIMEOUT = _driver.duration(
    "aeron.publication.unblock.timeout", 15 * _S, "a claim left open for so long is unblocked"
)
PUBLICATION_CONNECTION_TIMEOUT = _driver.duration(
    "aeron.publication.connection.timeout", 5 * _S, "no status message for so long: not connected"
)
PUBLICATION_LINGER_TIMEOUT = _driver.duration(
    "aeron.publication.linger.timeout", 5 * _S, "time that a drained publication is kept"
)
IMAGE_LIVENESS_TIMEOUT = _driver.duration(
    "aeron.image.liveness.timeout", 10 * _S, "an image without data for so long goes"
)
RCV_STATUS_MESSAGE_TIMEOUT = _driver.duration(
    "aeron.rcv.status.message.timeout", 200 * _MS, "longest interval between status messages"
)
SEND_TO_STATUS_POLL_RATIO = _driver.integer(
    "aeron.send.to.status.poll.ratio", 6, "sends to a poll for status messages"
)
COUNTERS_FREE_TO_REUSE_TIMEOUT = _driver.duration(
    "aeron.counters.free.to.reuse.timeout", _S, "rest of a freed counter id"
)
UNTETHERED_WINDOW_LIMIT_TIMEOUT = _driver.duration(
    "aeron.untethered.window.limit.timeout", 5 * _S, "lag of an untethered subscriber tolerated"
)
UNTETHERED_LINGER_TIMEOUT = _driver.duration(
    "aeron.untethered.linger.timeout", -1, "time to drain; -1 is the window limit timeout"
)
UNTETHERED_RESTING_TIMEOUT = _driver.duration(
    "aeron.untethered.resting.timeout", 10 * _S, "rest before an untethered subscriber rejoins"
)
DRIVER_RESOURCE_FREE_LIMIT = _driver.integer(
    "aeron.driver.resource.free.limit", 10, "resources freed in a conductor cycle"
)
CONDUCTOR_CYCLE_THRESHOLD = _driver.duration(
    "aeron.driver.conductor.cycle.threshold", 100 * _MS, "longer conductor cycles are counted"
)
SENDER_CYCLE_THRESHOLD = _driver.duration(
    "aeron.driver.sender.cycle.threshold", 100 * _MS, "longer sender cycles are counted"
)
RECEIVER_CYCLE_THRESHOLD = _driver.duration(
    "aeron.driver.receiver.cycle.threshold", 100 * _MS, "longer receiver cycles are counted"
)
NAME_RESOLVER_THRESHOLD = _driver.duration(
    "aeron.name.resolver.threshold", 5 * _S, "longer name resolutions are counted",
    env="AERON_DRIVER_NAME_RESOLVER_THRESHOLD",
)  # fmt: skip

# -- loss, flow and congestion control (5.4)
NAK_UNICAST_DELAY = _driver.duration(
    "aeron.nak.unicast.delay", 1 * _US, "delay of a unicast NAK, at least 1us"
)
NAK_UNICAST_RETRY_DELAY_RATIO = _driver.size(
    "aeron.nak.unicast.retry.delay.ratio", 100, "delay of a repeated NAK in delays, at least 1"
)
NAK_MULTICAST_GROUP_SIZE = _driver.integer(
    "aeron.nak.multicast.group.size", 10, "estimated size of a group, for NAK backoff"
)
NAK_MULTICAST_MAX_BACKOFF = _driver.duration(
    "aeron.nak.multicast.max.backoff", 10 * _MS, "longest backoff of a multicast NAK"
)
RETRANSMIT_UNICAST_DELAY = _driver.duration(
    "aeron.retransmit.unicast.delay", 0, "delay of a retransmission"
)
RETRANSMIT_UNICAST_LINGER = _driver.duration(
    "aeron.retransmit.unicast.linger", 10 * _MS, "time for which a repeated NAK is ignored"
)
MAX_RESEND = _driver.integer("aeron.max.resend", 16, "retransmissions at a time, 1 to 256")
UNICAST_FLOW_CONTROL_SUPPLIER = _driver.choice(
    "aeron.unicast.FlowControl.supplier", "unicast", names.UNICAST_FLOW_CONTROL_SUPPLIERS,
    "flow control of unicast publications",
)  # fmt: skip
MULTICAST_FLOW_CONTROL_SUPPLIER = _driver.choice(
    "aeron.multicast.FlowControl.supplier", "default", names.MULTICAST_FLOW_CONTROL_SUPPLIERS,
    "flow control of multicast publications",
)  # fmt: skip
UNICAST_FLOW_CONTROL_STRATEGY = _driver.choice(
    "aeron.unicast.flow.control.strategy", "unicast", names.UNICAST_FLOW_CONTROLS,
    "strategy of the default supplier",
)  # fmt: skip
MULTICAST_FLOW_CONTROL_STRATEGY = _driver.choice(
    "aeron.multicast.flow.control.strategy", "max", names.MULTICAST_FLOW_CONTROLS,
    "strategy of the default supplier",
)  # fmt: skip
UNICAST_FLOW_CONTROL_RRWM = _driver.integer(
    "aeron.unicast.flow.control.rrwm", 16, "retransmit limit in receiver windows, at least 1"
)
MULTICAST_FLOW_CONTROL_RRWM = _driver.integer(
    "aeron.multicast.flow.control.rrwm", 4, "retransmit limit in receiver windows, at least 1"
)
FLOW_CONTROL_GROUP_TAG = _driver.long(
    "aeron.flow.control.group.tag", -1, "tag that the tagged strategy requires"
)
FLOW_CONTROL_GROUP_MIN_SIZE = _driver.integer(
    "aeron.flow.control.group.min.size", 0, "receivers needed before connected"
)
FLOW_CONTROL_RECEIVER_TIMEOUT = _driver.duration(
    "aeron.flow.control.receiver.timeout", 5 * _S, "silence after which a receiver is left out"
)
PREFERRED_FLOW_CONTROL_ASF = _driver.hex_bytes(
    "aeron.PreferredMulticastFlowControl.asf", b"\xff" * 8, "deprecated source of the group tag"
)
SM_APPLICATION_SPECIFIC_FEEDBACK = _driver.hex_bytes(
    "aeron.flow.control.sm.applicationSpecificFeedback", b"",
    "deprecated source of the receiver group tag, 8 bytes",
)  # fmt: skip
RECEIVER_GROUP_TAG = _driver.long("aeron.receiver.group.tag", None, "tag sent in status messages")
RECEIVER_GROUP_CONSIDERATION = _driver.inferable(
    "aeron.receiver.group.consideration", "whether a receiver is a member of a group"
)
CONGESTION_CONTROL_SUPPLIER = _driver.choice(
    "aeron.CongestionControl.supplier", "default", names.CONGESTION_CONTROL_SUPPLIERS,
    "congestion control of images",
)  # fmt: skip
CUBIC_INITIAL_RTT = _driver.duration(
    "aeron.CubicCongestionControl.initialRtt", 100 * _US, "first estimate of the round trip"
)
CUBIC_MEASURE_RTT = _driver.boolean(
    "aeron.CubicCongestionControl.measureRtt", False, "measure the round trip"
)
CUBIC_TCP_MODE = _driver.boolean(
    "aeron.CubicCongestionControl.tcpMode", False, "be as careful as TCP"
)
REJOIN_STREAM = _driver.boolean(
    "aeron.rejoin.stream", True, "join a stream again whose image went", any_case=True
)
RELIABLE_STREAM = _driver.boolean(
    "aeron.reliable.stream", True, "ask for lost data; false: gaps become padding"
)
TETHER_SUBSCRIPTIONS = _driver.boolean(
    "aeron.tether.subscriptions", True, "a slow subscriber holds the stream back"
)
SPIES_SIMULATE_CONNECTION = _driver.boolean(
    "aeron.spies.simulate.connection", False, "spies count as connected receivers"
)
RESERVED_SESSION_ID_LOW = _driver.integer(
    "aeron.publication.reserved.session.id.low", -1, "first session id that is not given out"
)
RESERVED_SESSION_ID_HIGH = _driver.integer(
    "aeron.publication.reserved.session.id.high", 1000, "last session id that is not given out"
)
STREAM_SESSION_LIMIT = _driver.integer(
    "aeron.driver.stream.session.limit", INT32_MAX, "sessions of a stream on a receive endpoint",
    lenient=False,
)  # fmt: skip
SEND_CHANNEL_ENDPOINT_SUPPLIER = _driver.choice(
    "aeron.SendChannelEndpoint.supplier", "default", names.SEND_ENDPOINT_SUPPLIERS,
    "send endpoints; debug ones lose what the rates below say",
)  # fmt: skip
RECEIVE_CHANNEL_ENDPOINT_SUPPLIER = _driver.choice(
    "aeron.ReceiveChannelEndpoint.supplier", "default", names.RECEIVE_ENDPOINT_SUPPLIERS,
    "receive endpoints; debug ones lose what the rates below say",
)  # fmt: skip
DEBUG_LOSS = {
    f"{side}.{part}": (
        _driver.double(
            f"aeron.debug.{side}.{part}.loss.rate", 0.0, "share of datagrams a debug endpoint loses"
        ),
        _driver.long(
            f"aeron.debug.{side}.{part}.loss.seed", -1, "seed of that loss; -1 is the time"
        ),
    )
    for side in ("send", "receive")
    for part in ("data", "control")
}

# -- threads (5.5, 8)
THREADING_MODE = _driver.choice(
    "aeron.threading.mode", "DEDICATED", names.THREADING_MODES, "how agents share threads"
)
CONDUCTOR_IDLE_STRATEGY = _driver.choice(
    "aeron.conductor.idle.strategy", "backoff", names.IDLE_STRATEGIES, "conductor's idling"
)
SENDER_IDLE_STRATEGY = _driver.choice(
    "aeron.sender.idle.strategy", "backoff", names.IDLE_STRATEGIES, "sender's idling"
)
RECEIVER_IDLE_STRATEGY = _driver.choice(
    "aeron.receiver.idle.strategy", "backoff", names.IDLE_STRATEGIES, "receiver's idling"
)
SHARED_NETWORK_IDLE_STRATEGY = _driver.choice(
    "aeron.sharednetwork.idle.strategy", "backoff", names.IDLE_STRATEGIES,
    "idling of sender and receiver on one thread",
)  # fmt: skip
SHARED_IDLE_STRATEGY = _driver.choice(
    "aeron.shared.idle.strategy", "backoff", names.IDLE_STRATEGIES, "idling of all on one thread"
)
CONDUCTOR_IDLE_STRATEGY_INIT_ARGS = _driver.text(
    "aeron.conductor.idle.strategy.init.args", None, "arguments of that strategy"
)
SENDER_IDLE_STRATEGY_INIT_ARGS = _driver.text(
    "aeron.sender.idle.strategy.init.args", None, "arguments of that strategy"
)
RECEIVER_IDLE_STRATEGY_INIT_ARGS = _driver.text(
    "aeron.receiver.idle.strategy.init.args", None, "arguments of that strategy"
)
SHARED_NETWORK_IDLE_STRATEGY_INIT_ARGS = _driver.text(
    "aeron.sharednetwork.idle.strategy.init.args", None, "arguments of that strategy"
)
SHARED_IDLE_STRATEGY_INIT_ARGS = _driver.text(
    "aeron.shared.idle.strategy.init.args", None, "arguments of that strategy"
)
CONDUCTOR_CPU_AFFINITY = _driver.integer(
    "aeron.conductor.cpu.affinity", -1, "CPU of the conductor's thread; -1 is any",
    low=-1, high=INT32_MAX, lenient=False,
)  # fmt: skip
SENDER_CPU_AFFINITY = _driver.integer(
    "aeron.sender.cpu.affinity", -1, "CPU of the sender's thread; -1 is any",
    low=-1, high=INT32_MAX, lenient=False,
)  # fmt: skip
RECEIVER_CPU_AFFINITY = _driver.integer(
    "aeron.receiver.cpu.affinity", -1, "CPU of the receiver's thread; -1 is any",
    low=-1, high=INT32_MAX, lenient=False,
)  # fmt: skip
ASYNC_EXECUTOR_ENABLED = _driver.boolean(
    "aeron.driver.async.executor.enabled", True, "resolve names on a thread of their own",
    any_case=True,
)  # fmt: skip
ASYNC_EXECUTOR_IDLE_STRATEGY = _driver.choice(
    "aeron.driver.async.executor.idle.strategy", "sleep-ms", names.IDLE_STRATEGIES,
    "idling of that thread",
)  # fmt: skip

# -- names and addresses (5.6)
RESOLVER_NAME = _driver.text("aeron.driver.resolver.name", None, "this driver's name for others")
RESOLVER_INTERFACE = _driver.text(
    "aeron.driver.resolver.interface", None, "host:port; enables name resolution by gossip"
)
RESOLVER_BOOTSTRAP_NEIGHBOR = _driver.text(
    "aeron.driver.resolver.bootstrap.neighbor", None, "host:port[,host:port] of other drivers"
)
RESOLVER_NEIGHBOR_TIMEOUT = _driver.duration(
    "aeron.driver.resolver.neighbor.timeout", 10 * _S, "a neighbour silent for so long is gone"
)
RESOLVER_SELF_INTERVAL = _driver.duration(
    "aeron.driver.resolver.self.resolution.interval", _S, "interval of telling one's own name"
)
RESOLVER_NEIGHBOR_INTERVAL = _driver.duration(
    "aeron.driver.resolver.neighbor.resolution.interval", 2 * _S, "interval of telling others'"
)
RESOLVER_BOOTSTRAP_INTERVAL = _driver.duration(
    "aeron.driver.resolver.bootstrap.neighbor.resolution.interval", 10 * _S,
    "interval of resolving the bootstrap neighbours again",
)  # fmt: skip
RERESOLUTION_CHECK_INTERVAL = _driver.duration(
    "aeron.driver.reresolution.check.interval", _S, "interval of resolving lost endpoints again"
)
SENDER_WILDCARD_PORT_RANGE = _driver.port_range(
    "aeron.sender.wildcard.port.range", "ports for senders, 'low high'; empty: the system's choice"
)
RECEIVER_WILDCARD_PORT_RANGE = _driver.port_range(
    "aeron.receiver.wildcard.port.range",
    "ports for receivers, 'low high'; empty: the system's choice",
)
NAME_RESOLVER_SUPPLIER = _driver.choice(
    "aeron.name.resolver.supplier", "default", names.NAME_RESOLVER_SUPPLIERS, "name resolver"
)
NAME_RESOLVER_INIT_ARGS = _driver.text(
    "aeron.name.resolver.init.args", None, "rows of the csv_table resolver"
)

#: Every property of the media driver, in the order of the reference page.
DRIVER_PROPERTIES: Final = _driver.table
