"""The state and services that all parts of one driver share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from aerolog.transport.protocol.responses import encode_response

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from random import Random

    from aerolog.transport.concurrent.clock import Clock
    from aerolog.transport.config.settings import Settings
    from aerolog.transport.driver.error_recorder import ErrorRecorder
    from aerolog.transport.driver.events.driver_events import DriverEvents
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
    """The state and services that a driver's conductors and factories work with.

    Attributes:
        directory: the absolute path of the driver's Aeron directory.
        settings: the driver's configuration.
        clock: the source of the driver's time.
        cnc: the mapped cnc.dat.
        counters: allocates and frees the counters in cnc.dat.
        to_clients: the driver's end of the broadcast buffer.
        errors: counts and records the driver's errors.
        events: the event log.
        logs: creates and deletes log files.
        loss_report: the report in which images record the data that they missed.
        cycles: the file of duty cycle histograms, None when there was no room for it.
        names: resolves the names in channels, and resolves those of silent peers again.
        network: opens the ports of channel endpoints.
        socket_limits: the buffer lengths that the system grants to sockets.
        random: the source of session ids and initial term ids.
        may_terminate: decides by its token whether a terminate command is obeyed.
        on_terminate: called when a terminate command is obeyed.
        on_ended: called when the conductor has ended, for whatever reason.
    """

    directory: str
    settings: Settings
    clock: Clock
    cnc: CncFile
    counters: CountersManager
    to_clients: BroadcastTransmitter
    errors: ErrorRecorder
    events: DriverEvents
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
        """Free a counter; one whose metadata a client has damaged is recorded and never reused."""
        try:
            self.counters.free(counter_id)
        except ValueError as error:
            self.errors.record(error)

    def free_counters(self, counter_ids: Iterable[int]) -> None:
        """Free several counters, as `free_counter` does."""
        for counter_id in counter_ids:
            self.free_counter(counter_id)

    def tell(self, response: Response) -> None:
        """Send a message to all clients."""
        message = encode_response(response)
        self.to_clients.send(response.TYPE_ID, message)
        self.events.response(response.TYPE_ID, message)


def remove_at(items: list[T], index: int) -> None:
    """Remove an element as the reference's lists do: the last element takes its place."""
    last = items.pop()
    if index < len(items):
        items[index] = last


def take_from(items: list[T], is_taken: Callable[[T], bool]) -> Iterator[T]:
    """Remove elements as `remove_at` does, the last one first, and yield each."""
    for index in range(len(items) - 1, -1, -1):
        item = items[index]
        if is_taken(item):
            remove_at(items, index)
            yield item
