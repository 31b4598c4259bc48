"""Clients of a driver and their liveness (spec cnc-and-commands 13), for the conductor's thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.driver.context import take_from
from aerolog.transport.driver.counters.stream_counters import heartbeat_key, heartbeat_label
from aerolog.transport.protocol.responses import ClientTimeout, CounterReady, UnavailableCounter

if TYPE_CHECKING:
    from aerolog.transport.driver.conductor.conductor_agent import ConductorAgent
    from aerolog.transport.driver.context import DriverContext


@dataclass(slots=True, eq=False)
class AeronClient:
    """One client, known from its first command that adds something.

    Attributes:
        client_id: the id that the client has taken for itself.
        heartbeat_counter_id: the counter to which the client writes the time.
        closed_by_command: whether the client has sent a close command.
        gone: whether the client has closed or timed out; the same timer event frees what it owns.
    """

    client_id: int
    heartbeat_counter_id: int
    closed_by_command: bool = False
    gone: bool = False


class Clients:
    """The clients that a driver knows."""

    def __init__(self, context: DriverContext, agent: ConductorAgent) -> None:
        self._context = context
        self._agent = agent
        self._clients: list[AeronClient] = []

    def __len__(self) -> int:
        return len(self._clients)

    def get_or_add(self, client_id: int) -> AeronClient:
        """Return a client; a new one is added and announced to all clients."""
        found = self.find(client_id)
        if found is not None:
            return found
        counter_id = self._context.counters.allocate(
            CounterType.CLIENT_HEARTBEAT,
            heartbeat_label(client_id),
            heartbeat_key(client_id),
            registration_id=client_id,
            owner_id=client_id,
            value=self._agent.now_ms,
        )
        client = AeronClient(client_id, counter_id)
        self._clients.append(client)
        self._agent.watch_client(counter_id)
        self._context.tell(CounterReady(client_id, counter_id))
        return client

    def keepalive(self, client_id: int) -> None:
        """Record a keepalive that came as a command."""
        client = self.find(client_id)
        if client is not None:
            self._context.counters.set_value(client.heartbeat_counter_id, self._agent.now_ms)

    def close(self, client_id: int) -> None:
        """Mark a client as closed for the next timer event; an unknown client is no error."""
        client = self.find(client_id)
        if client is not None:
            client.closed_by_command = True
            self._context.counters.set_value(client.heartbeat_counter_id, 0)

    def on_timer(self) -> None:
        """Find the clients that have closed or timed out, announce that, and forget them."""
        counters = self._context.counters
        for client in take_from(
            self._clients, lambda client: self._agent.is_client_due(client.heartbeat_counter_id)
        ):
            client.gone = True
            if not client.closed_by_command:
                counters.get_and_add(SystemCounter.CLIENT_TIMEOUTS, 1)
                self._context.tell(ClientTimeout(client.client_id))
            self._context.tell(UnavailableCounter(client.client_id, client.heartbeat_counter_id))
            self._agent.forget_client(client.heartbeat_counter_id)
            self._context.free_counter(client.heartbeat_counter_id)

    def find(self, client_id: int) -> AeronClient | None:
        """Return a client, None for one that is not known."""
        return next((c for c in self._clients if c.client_id == client_id), None)
