"""Built-in names that a property takes where the reference takes a class (configuration 8, 9).

Each mapping goes from an accepted text, a Java class or a C alias, to what it stands for. A name
that is not here belongs to code that this process does not have, and is refused by that name.
"""

from __future__ import annotations

from typing import Final

THREADING_MODES: Final = {
    mode: mode for mode in ("DEDICATED", "SHARED_NETWORK", "SHARED", "INVOKER")
}

IDLE_STRATEGIES: Final = {
    "backoff": "backoff",
    "noop": "noop",
    "spin": "spin",
    "busy_spin": "spin",
    "yield": "yield",
    "yielding": "yield",
    "sleep-ns": "sleep-ns",
    "sleeping": "sleep-ns",
    "sleep-ms": "sleep-ms",
    "controllable": "controllable",
    "org.agrona.concurrent.BackoffIdleStrategy": "backoff",
    "org.agrona.concurrent.NoOpIdleStrategy": "noop",
    "org.agrona.concurrent.BusySpinIdleStrategy": "spin",
    "org.agrona.concurrent.YieldingIdleStrategy": "yield",
    "org.agrona.concurrent.SleepingIdleStrategy": "sleep-ns",
    "org.agrona.concurrent.SleepingMillisIdleStrategy": "sleep-ms",
    "org.agrona.concurrent.ControllableIdleStrategy": "controllable",
}

TERMINATION_VALIDATORS: Final = {
    "deny": "deny",
    "allow": "allow",
    "io.aeron.driver.DefaultDenyTerminationValidator": "deny",
    "io.aeron.driver.DefaultAllowTerminationValidator": "allow",
}

UNICAST_FLOW_CONTROL_SUPPLIERS: Final = {
    "io.aeron.driver.DefaultUnicastFlowControlSupplier": "unicast",
    "aeron_unicast_flow_control_strategy_supplier": "unicast",
    "unicast_max": "unicast",
}

MULTICAST_FLOW_CONTROL_SUPPLIERS: Final = {
    "io.aeron.driver.DefaultMulticastFlowControlSupplier": "default",
    "io.aeron.driver.MaxMulticastFlowControlSupplier": "max",
    "io.aeron.driver.MinMulticastFlowControlSupplier": "min",
    "io.aeron.driver.TaggedMulticastFlowControlSupplier": "tagged",
    "aeron_max_multicast_flow_control_strategy_supplier": "max",
    "aeron_min_flow_control_strategy_supplier": "min",
    "aeron_tagged_flow_control_strategy_supplier": "tagged",
    "multicast_max": "max",
    "multicast_min": "min",
    "multicast_tagged": "tagged",
}

UNICAST_FLOW_CONTROLS: Final = {"io.aeron.driver.UnicastFlowControl": "unicast"}

MULTICAST_FLOW_CONTROLS: Final = {
    "io.aeron.driver.MaxMulticastFlowControl": "max",
    "io.aeron.driver.MinMulticastFlowControl": "min",
    "io.aeron.driver.TaggedMulticastFlowControl": "tagged",
}

CONGESTION_CONTROL_SUPPLIERS: Final = {
    "io.aeron.driver.DefaultCongestionControlSupplier": "default",
    "io.aeron.driver.ext.CubicCongestionControlSupplier": "cubic",
    "aeron_static_window_congestion_control_strategy_supplier": "static",
    "aeron_cubic_congestion_control_strategy_supplier": "cubic",
    "default": "default",
    "static": "static",
    "cubic": "cubic",
}

SEND_ENDPOINT_SUPPLIERS: Final = {
    "io.aeron.driver.DefaultSendChannelEndpointSupplier": "default",
    "io.aeron.driver.ext.DebugSendChannelEndpointSupplier": "debug",
}

RECEIVE_ENDPOINT_SUPPLIERS: Final = {
    "io.aeron.driver.DefaultReceiveChannelEndpointSupplier": "default",
    "io.aeron.driver.ext.DebugReceiveChannelEndpointSupplier": "debug",
}

NAME_RESOLVER_SUPPLIERS: Final = {"default": "default", "csv_table": "csv_table"}

FALLBACK_LOGGERS: Final = {"stderr": "stderr", "stdout": "stdout", "no_op": "no_op"}
