"""The connection of a client to a driver, through shared memory (spec client 2)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aerolog.transport.client.liveness import Liveness
from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.memory.cnc import CncFile
from aerolog.transport.memory.counters import RECORD_ALLOCATED
from aerolog.transport.time_units import NS_PER_MS, NS_PER_S

if TYPE_CHECKING:
    from aerolog.transport.client.options import ClientOptions
    from aerolog.transport.memory.broadcast import BroadcastReceiver
    from aerolog.transport.memory.counters import CountersReader
    from aerolog.transport.memory.ring_buffer import ManyToOneRingBuffer

_NEXT_SESSION_ID_SINCE = 1 << 16
# Appended to the label of the heartbeat counter; says with which release this is compatible.
_COMPATIBLE_WITH = "version=1.51.0 commit=9773cba37e"


@dataclass(frozen=True, slots=True)
class DriverConnection:
    """A driver's shared memory as one client uses it."""

    cnc: CncFile
    client_id: int
    ring: ManyToOneRingBuffer
    receiver: BroadcastReceiver
    counters: CountersReader
    liveness: Liveness

    @property
    def knows_next_session_id(self) -> bool:
        """Whether the driver answers the next-session-id command."""
        at = SystemCounter.CONTROL_PROTOCOL_VERSION
        counters = self.counters
        return (
            counters.counter_state(at) == RECORD_ALLOCATED
            and counters.counter_type_id(at) == CounterType.SYSTEM
            and counters.counter_registration_id(at) == at
            and counters.counter_value(at) >= _NEXT_SESSION_ID_SINCE
        )


def connect(options: ClientOptions) -> DriverConnection:
    """Wait for a live driver and connect to it as one of its clients.

    Raises:
        DriverTimeoutError: no driver within the driver timeout.
        FileFormatError: its cnc.dat is damaged or of another version.
        ConfigurationError: the keepalive interval is longer than the driver tolerates.
    """

    def sleep(seconds: float) -> None:
        if options.driver_invoker is None:
            time.sleep(seconds)
        else:
            options.driver_invoker()

    cnc = CncFile.connect(
        options.aeron_dir,
        timeout_ms=options.driver_timeout_ns // NS_PER_MS,
        file_system=options.file_system,
        clock=options.clock,
        sleep=sleep,
    )
    keepalive_ns = options.keepalive_interval_ns
    inter_service_ns = cnc.header.client_liveness_timeout_ns
    if keepalive_ns >= inter_service_ns:
        raise ConfigurationError(
            f"keepalive_interval of {keepalive_ns / NS_PER_S:g} s must be less than the driver's "
            f"client liveness timeout of {inter_service_ns / NS_PER_S:g} s"
        )
    client_id = cnc.to_driver.next_correlation_id()
    receiver = cnc.receiver()
    watch = Liveness(
        receiver,
        cnc.to_driver,
        cnc.counters,
        options.clock,
        client_id=client_id,
        driver_timeout_ns=options.driver_timeout_ns,
        keepalive_interval_ns=keepalive_ns,
        inter_service_timeout_ns=inter_service_ns,
        label_suffix=f" name={options.name} {_COMPATIBLE_WITH}".encode("ascii", "replace"),
    )
    return DriverConnection(cnc, client_id, cnc.to_driver, receiver, cnc.counters, watch)
