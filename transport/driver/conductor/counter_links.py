"""Counters that clients add, static ones too (spec cnc-and-commands 17), conductor only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aerolog.transport.driver.conductor.command_error import CommandError
from aerolog.transport.driver.context import remove_at, take_from
from aerolog.transport.errors import ControlProtocolError, ErrorCode
from aerolog.transport.memory.counters import NULL_COUNTER_ID
from aerolog.transport.protocol.responses import (
    CounterReady,
    OperationSuccess,
    StaticCounter,
    UnavailableCounter,
)

if TYPE_CHECKING:
    from aerolog.transport.driver.conductor.clients import AeronClient, Clients
    from aerolog.transport.driver.context import DriverContext
    from aerolog.transport.protocol.commands import AddCounter, AddStaticCounter, RemoveCounter

STATIC_OWNER = -1


@dataclass(slots=True, eq=False)
class CounterLink:
    """A client's reference to a counter.

    Attributes:
        registration_id: the correlation id of the command that added it.
        client: the client that owns the counter.
        counter_id: the id of the counter.
    """

    registration_id: int
    client: AeronClient
    counter_id: int


class CounterLinks:
    """The counters of all clients."""

    def __init__(self, context: DriverContext, clients: Clients) -> None:
        self._context = context
        self._clients = clients
        self._links: list[CounterLink] = []

    def add(self, command: AddCounter) -> None:
        """Allocate a counter for a client."""
        client = self._clients.get_or_add(command.client_id)
        counter_id = self._context.counters.allocate(
            command.type_id,
            command.label,
            command.key,
            registration_id=command.correlation_id,
            owner_id=command.client_id,
        )
        self._links.append(CounterLink(command.correlation_id, client, counter_id))
        self._context.tell(CounterReady(command.correlation_id, counter_id))

    def add_static(self, command: AddStaticCounter) -> None:
        """Find or allocate a counter that outlives its client."""
        self._clients.get_or_add(command.client_id)
        counters = self._context.counters
        counter_id = counters.find_by_registration_id(command.registration_id, command.type_id)
        if counter_id == NULL_COUNTER_ID:
            counter_id = counters.allocate(
                command.type_id,
                command.label,
                command.key,
                registration_id=command.registration_id,
                owner_id=STATIC_OWNER,
            )
        elif counters.counter_owner_id(counter_id) != STATIC_OWNER:
            raise CommandError(
                ErrorCode.GENERIC_ERROR,
                f"cannot add static counter, because a non-static counter exists "
                f"(counterId={counter_id}) for typeId={command.type_id} and "
                f"registrationId={command.registration_id}",
                quiet=True,
            )
        self._context.tell(StaticCounter(command.correlation_id, counter_id))

    def remove(self, command: RemoveCounter) -> None:
        """Free a counter, whichever client asks for it."""
        for index, link in enumerate(self._links):
            if link.registration_id == command.registration_id:
                remove_at(self._links, index)
                # Freed first: who has the answer finds the counter freed.
                self._context.free_counter(link.counter_id)
                self._context.tell(OperationSuccess(command.correlation_id))
                self._context.tell(UnavailableCounter(link.registration_id, link.counter_id))
                return
        raise ControlProtocolError(
            ErrorCode.UNKNOWN_COUNTER, f"unknown counter: {command.registration_id}"
        )

    def on_timer(self) -> None:
        """Free the counters of clients that are gone."""
        for link in take_from(self._links, lambda link: link.client.gone):
            self._context.free_counter(link.counter_id)
            self._context.tell(UnavailableCounter(link.registration_id, link.counter_id))
