"""Spies: subscriptions that read the logs of this driver's UDP publications.

Spec wire-protocol 11; spec cnc-and-commands 15.1, 15.4, 16. Conductor only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aerolog.transport.driver.channels.destination_params import check_receive_destination
from aerolog.transport.driver.channels.network_params import network_subscription_params
from aerolog.transport.driver.conductor.subscription_links import (
    allocate_position,
    drop_position,
    move_untethered,
    tell_available,
    tell_unavailable,
)
from aerolog.transport.driver.context import remove_at
from aerolog.transport.errors import ControlProtocolError, ErrorCode
from aerolog.transport.memory.counters import NULL_COUNTER_ID
from aerolog.transport.protocol.responses import (
    OperationSuccess,
    SubscriptionReady,
)

if TYPE_CHECKING:
    from aerolog.transport.driver.channels.network_params import NetworkSubscriptionParams
    from aerolog.transport.driver.conductor.clients import AeronClient
    from aerolog.transport.driver.conductor.conductor_context import ConductorContext
    from aerolog.transport.driver.send.network_publication import NetworkPublication
    from aerolog.transport.network.udp_channel import UdpChannel
    from aerolog.transport.protocol.commands import (
        AddReceiveDestination,
        AddSubscription,
        RemoveReceiveDestination,
    )

_NO_CHANNEL_STATUS = -1


@dataclass(slots=True, eq=False)
class Spy:
    """A client's subscription to UDP publications of this driver.

    Attributes:
        registration_id: the correlation id of the command that added it; of a destination, that
            of the multi-destination subscription.
        client: the client that owns it.
        stream_id: the stream that it subscribes to.
        channel: as the client wrote it.
        udp_channel: the same channel, resolved.
        params: the parameters of the channel.
        images: maps publications to the ids of position counters; -1 for an image that is gone for
            good because its untethered spy fell behind.
    """

    registration_id: int
    client: AeronClient
    stream_id: int
    channel: str
    udp_channel: UdpChannel
    params: NetworkSubscriptionParams
    images: dict[NetworkPublication, int] = field(default_factory=dict)

    def matches(self, publication: NetworkPublication) -> bool:
        """Return whether a publication has its stream, and its tag or its session and channel."""
        if self.stream_id != publication.stream_id:
            return False
        ours, theirs = self.udp_channel, publication.endpoint.channel
        if ours.tag is not None and ours.tag == theirs.tag:
            return True
        if self.params.session_id is None:
            matches_session = not self.params.is_response
        else:
            matches_session = self.params.session_id == publication.session_id
        return matches_session and ours.canonical_form == theirs.canonical_form


class Spies:
    """All spies of a driver; the owner of the publications passes in the list of them."""

    def __init__(self, conductor: ConductorContext, publications: list[NetworkPublication]) -> None:
        self._conductor = conductor
        self._context = conductor.context
        self._publications = publications
        self._spies: list[Spy] = []

    def add(self, command: AddSubscription, channel: UdpChannel) -> None:
        """Spy on a channel from now on, and on the publications that exist already."""
        params = network_subscription_params(channel, self._context.settings)
        spy = Spy(
            command.correlation_id,
            self._conductor.clients.get_or_add(command.client_id),
            command.stream_id,
            command.channel,
            channel,
            params,
        )
        self._spies.append(spy)
        self._context.tell(SubscriptionReady(command.correlation_id, _NO_CHANNEL_STATUS))
        self._link_publications(spy)

    def remove(self, registration_id: int) -> bool:
        """Remove a spy without announcing its images' ends; return False for an unknown id."""
        found = False
        for index in range(len(self._spies) - 1, -1, -1):
            if self._spies[index].registration_id == registration_id:
                found = True
                self._close(self._spies[index])
                remove_at(self._spies, index)
        return found

    def add_destination(
        self,
        command: AddReceiveDestination,
        channel: UdpChannel,
        client: AeronClient,
        stream_id: int,
    ) -> None:
        """Add a spy to a multi-destination subscription."""
        check_receive_destination(channel.uri, channel.original)
        params = network_subscription_params(channel, self._context.settings)
        spy = Spy(command.registration_id, client, stream_id, command.channel, channel, params)
        self._spies.append(spy)
        self._context.tell(OperationSuccess(command.correlation_id))
        self._link_publications(spy)

    def remove_destination(self, command: RemoveReceiveDestination) -> None:
        """Remove a spy from a multi-destination subscription; announce its images' ends."""
        gone = None
        for index, spy in enumerate(self._spies):
            if (spy.registration_id, spy.channel) == (command.registration_id, command.channel):
                gone = spy
                remove_at(self._spies, index)
                break
        if gone is None:
            raise ControlProtocolError(
                ErrorCode.UNKNOWN_SUBSCRIPTION, f"unknown subscription: {command.registration_id}"
            )
        self._context.tell(OperationSuccess(command.correlation_id))
        for publication in list(gone.images):
            tell_unavailable(self._context, gone, publication)
            self._unlink(gone, publication)

    def close_of_gone_clients(self) -> None:
        """Close the spies of clients that are gone, without a message."""
        for index in range(len(self._spies) - 1, -1, -1):
            if self._spies[index].client.gone:
                self._close(self._spies[index])
                remove_at(self._spies, index)

    def link(self, publication: NetworkPublication) -> None:
        """Give every spy that matches an image of a new publication."""
        for spy in self._spies:
            if publication not in spy.images and spy.matches(publication):
                self._link(spy, publication)

    def leave(self, publication: NetworkPublication) -> None:
        """Tell every spy with an image that a publication has ended, and unlink it.

        The position counters are freed with the publication's own.
        """
        for spy in self._spies:
            if publication in spy.images:
                tell_unavailable(self._context, spy, publication)
                counter_id = spy.images.pop(publication)
                if counter_id != NULL_COUNTER_ID:
                    publication.stream.remove_spy(counter_id)
                    publication.counter_ids.append(counter_id)

    def move_untethered(self, publication: NetworkPublication, counter_id: int) -> None:
        """Move an untethered spy whose time has come to its next state."""
        spy = next(spy for spy in self._spies if spy.images.get(publication) == counter_id)
        stream, now_ns = publication.stream, self._conductor.agent.now_ns
        if not move_untethered(
            self._context,
            spy,
            publication,
            counter_id,
            stream.spies.state(counter_id),
            lambda state: stream.set_spy_state(counter_id, state, now_ns),
        ):
            self._drop_position(spy, publication)

    def _link_publications(self, spy: Spy) -> None:
        for publication in self._publications:
            if spy.matches(publication) and publication.accepts_spies:
                self._link(spy, publication)

    def _link(self, spy: Spy, publication: NetworkPublication) -> None:
        join_position = publication.stream.join_position()
        counter_id = allocate_position(
            self._context, spy, publication.session_id, join_position, publication.image_id
        )
        spy.images[publication] = counter_id
        publication.stream.add_spy(counter_id, spy.params.is_tether, self._conductor.agent.now_ns)
        tell_available(self._context, spy, publication, spy.images[publication])

    def _close(self, spy: Spy) -> None:
        self._context.events.subscription_removed(spy.stream_id, spy.registration_id, spy.channel)
        for publication in list(spy.images):
            self._unlink(spy, publication)

    def _unlink(self, spy: Spy, publication: NetworkPublication) -> None:
        self._drop_position(spy, publication)
        del spy.images[publication]

    def _drop_position(self, spy: Spy, publication: NetworkPublication) -> None:
        """Free an image's position counter; the spy is told of the image's end later."""
        drop_position(self._context, spy.images, publication, publication.stream.remove_spy)
