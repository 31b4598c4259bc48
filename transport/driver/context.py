"""What all of one driver shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from aerolog.transport.protocol.responses import encode_response

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from aerolog.transport.concurrent.clock import Clock
    from aerolog.transport.config.settings import Settings
    from aerolog.transport.driver.error_recorder import ErrorRecorder
    from aerolog.transport.driver.events.driver_events import NoDriverEvents
    from aerolog.transport.driver.logs.log_store import LogStore
    from aerolog.transport.driver.names.driver_names import DriverNames
    from aerolog.transport.memory.broadcast import BroadcastTransmitter
    from aerolog.transport.memory.cnc import CncFile
    from aerolog.transport.memory.counters import CountersManager
    from aerolog.transport.memory.cycle_histograms import CycleHistograms
    from aerolog.transport.memory.loss_report import LossReport
    from aerolog.transport.network.networks import Network
    from aerolog.transport.network.socket_limits import SocketLimits
    from aerolog.transport.protocol.responses import Response

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DriverContext:
    """Everything that a conductor works with.

    Attributes:
        directory: the driver's, absolute.
        settings: its configuration.
        clock: its time.
        cnc: the mapped cnc.dat.
        counters: allocator of counters.
        to_clients: the driver's end of the broadcast buffer.
        errors: where failures go.
        events: the event log.
        logs: log files.
        loss_report: where images note what they missed.
        cycles: where agents count their duty cycles, None when there was no room for it.
        names: resolves channels, and names of silent peers again.
        network: opens the ports of channel endpoints.
        socket_limits: what the system grants sockets.
        random: for session ids and initial term ids.
        may_terminate: decides on a terminate command by its token.
        on_terminate: called when one is obeyed.
        on_ended: called when the conductor has ended, for whatever reason.
    """

    directory: str
    settings: Settings
    clock: Clock
    cnc: CncFile
    counters: CountersManager
    to_clients: BroadcastTransmitter
    errors: ErrorRecorder
    events: NoDriverEvents
    logs: LogStore
    loss_report: LossReport
    cycles: CycleHistograms | None
    names: DriverNames
    network: Network
    socket_limits: SocketLimits
    random: Random
    may_terminate: Callable[[str, bytes], bool]
    on_terminate: Callable[[], None]
    on_ended: Callable[[], None]

    def free_counter(self, counter_id: int) -> None:
        """Free a counter; one that a client has scribbled over is noted and never used again."""
        try:
            self.counters.free(counter_id)
        except ValueError as error:
            self.errors.record(error)

    def tell(self, response: Response) -> None:
        """Send a message to all clients."""
        message = encode_response(response)
        self.to_clients.send(response.TYPE_ID, message)
        self.events.response(response.TYPE_ID, message)


def remove_at(items: list[T], index: int) -> None:
    """Remove an element as the reference's lists do: the last one takes its place."""
    last = items.pop()
    if index < len(items):
        items[index] = last
