"""Adds, shares, removes and ends UDP publications.

See spec cnc-and-commands 14 and spec wire-protocol 5.8.

Conductor only. The part of timer events of which clients are told nothing is in ``send_stream``,
and destinations are in ``publication_destinations``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.transport.driver.channels.channel_params import (
    NULL_VALUE,
    PROTOTYPE_CORRELATION_ID,
    PublicationLookups,
    TaggedSession,
)
from aerolog.transport.driver.channels.network_params import (
    check_response_publication,
    network_publication_params,
)
from aerolog.transport.driver.conductor.command_error import (
    ILLEGAL_ARGUMENT,
    ILLEGAL_STATE,
    generic,
    invalid_channel,
)
from aerolog.transport.driver.conductor.driver_publication import PublicationLink
from aerolog.transport.driver.context import remove_at
from aerolog.transport.driver.counters.system_counters import SystemCounter
from aerolog.transport.driver.flow_control.flow_control import PythonFlowControl
from aerolog.transport.driver.send.publication_factory import discard_publication, make_publication
from aerolog.transport.driver.send.send_stream import ACTIVE, DONE, DRAINING, LINGER
from aerolog.transport.protocol.commands import AddExclusivePublication
from aerolog.transport.protocol.responses import ExclusivePublicationReady, PublicationReady

if TYPE_CHECKING:
    from aerolog.transport.driver.channels.channel_params import PublicationParams
    from aerolog.transport.driver.conductor.conductor_context import ConductorContext
    from aerolog.transport.driver.flow_control.flow_control import FlowControl
    from aerolog.transport.driver.receive.network_subscriptions import NetworkSubscriptions
    from aerolog.transport.driver.receive.publication_images import PublicationImages
    from aerolog.transport.driver.send.network_publication import NetworkPublication
    from aerolog.transport.driver.send.send_channel_endpoint import (
        SendChannelEndpoint,
        SendChannelEndpoints,
    )
    from aerolog.transport.driver.send.spies import Spies
    from aerolog.transport.network.udp_channel import UdpChannel
    from aerolog.transport.protocol.commands import AddPublication


class NetworkPublications:
    """All UDP publications of a driver and the clients' references to them.

    Args:
        conductor: the parts of the driver that publications use.
        endpoints: the endpoints that send publications.
        spies: the spies that read publications.
        subscriptions: the subscriptions that wait for responses to publications.
        images: the images to which publications respond.
        publications: the list of publications, in order of creation except where a removal has
            moved the last one.
    """

    def __init__(
        self,
        conductor: ConductorContext,
        endpoints: SendChannelEndpoints,
        spies: Spies,
        subscriptions: NetworkSubscriptions,
        images: PublicationImages,
        publications: list[NetworkPublication],
    ) -> None:
        self._conductor = conductor
        self._context = conductor.context
        self._endpoints = endpoints
        self._spies = spies
        self._subscriptions = subscriptions
        self._images = images
        self._publications = publications
        self._links: list[PublicationLink[NetworkPublication]] = []

    def add(self, command: AddPublication | AddExclusivePublication, channel: UdpChannel) -> None:
        """Share an existing publication, or make a new one."""
        is_exclusive = isinstance(command, AddExclusivePublication)
        params = self._params(command, channel)
        endpoint = self._endpoints.get_or_open(channel, params, command.correlation_id)
        check_response_publication(channel, params)
        if params.is_response and params.response_correlation_id != PROTOTYPE_CORRELATION_ID:
            self._images.check_response_requested(params.response_correlation_id)
        shared = None if is_exclusive else self._shareable(command.stream_id, endpoint, params)
        if shared is None:
            self._add_new(command, channel, params, endpoint, is_exclusive=is_exclusive)
        else:
            _confirm_match(shared, params, channel)
            client = self._conductor.clients.get_or_add(command.client_id)
            shared.stream.references += 1
            self._links.append(PublicationLink(command.correlation_id, client, shared))
            self._tell_ready(command, shared)

    def remove(self, registration_id: int, *, revoke: bool) -> bool:
        """Drop one reference to a publication, whoever asks; return False for an unknown id."""
        for index, link in enumerate(self._links):
            if link.registration_id == registration_id:
                if revoke:
                    link.publication.stream.revoke()
                remove_at(self._links, index)
                self._drop_reference(link.publication)
                return True
        return False

    def drop_links_of_gone_clients(self) -> None:
        """Drop the links of clients that are gone."""
        for index in range(len(self._links) - 1, -1, -1):
            link = self._links[index]
            if link.client.gone:
                self._drop_reference(link.publication)
                remove_at(self._links, index)

    def find(self, registration_id: int) -> NetworkPublication | None:
        """Return the publication of an id."""
        return next((p for p in self._publications if p.registration_id == registration_id), None)

    def on_timer(self) -> None:
        """Run the timer event of every publication, the last one first."""
        for publication in reversed(self._publications):
            self._report_flow_control(publication.flow_control)
            state = publication.stream.state
            if state == ACTIVE:
                self._active(publication)
            elif state == DRAINING:
                self._draining(publication)
            elif state == LINGER:
                self._linger(publication)

    def _report_flow_control(self, flow_control: FlowControl) -> None:
        """Record what a strategy in Python has raised on the sender's thread."""
        if isinstance(flow_control, PythonFlowControl):
            error = flow_control.take_error()
            if error is not None:
                self._conductor.context.errors.record(error)

    def _active(self, publication: NetworkPublication) -> None:
        stream = publication.stream
        now_ns = self._conductor.agent.now_ns
        if stream.revoked:
            stream.end_stream()
            stream.mark_end_of_stream()
            stream.disconnect()
            self._spies.leave(publication)
            stream.enter(LINGER)
            self._conductor.context.counters.get_and_add(SystemCounter.PUBLICATIONS_REVOKED, 1)
            self._conductor.context.events.revoked(
                stream.publisher_position,
                publication.session_id,
                publication.stream_id,
                publication.channel,
            )
            return
        for counter_id in stream.due_spies(now_ns):
            self._spies.move_untethered(publication, counter_id)
        stream.on_timer(now_ns)

    def _draining(self, publication: NetworkPublication) -> None:
        stream = publication.stream
        stream.settle()
        if stream.drained and stream.spies_drained:
            stream.sample_publisher()
            self._spies.leave(publication)
            stream.enter(LINGER)
            publication.since_ns = self._conductor.agent.now_ns

    def _linger(self, publication: NetworkPublication) -> None:
        """Let the sender go on until receivers have seen the end, then end the publication."""
        stream = publication.stream
        waited_ns = self._conductor.agent.now_ns - publication.since_ns
        is_over = (
            stream.has_received_unicast_eos or waited_ns >= publication.params.linger_timeout_ns
        )
        if stream.references > 0 or not is_over:
            return
        stream.enter(DONE)
        self._conductor.sessions.discard(
            publication.session_id, publication.stream_id, publication.media
        )
        self._conductor.agent.remove_stream(stream)
        self._conductor.sender.remove_publication(stream)
        publication.endpoint.publications -= 1
        self._endpoints.close_if_unused(publication.endpoint)

    def _params(
        self, command: AddPublication | AddExclusivePublication, channel: UdpChannel
    ) -> PublicationParams:
        lookups = PublicationLookups(
            self._conductor.sessions.check_tag_free,
            self._tagged_session,
            lambda: self._conductor.sessions.take(command.stream_id, channel.canonical_form),
        )
        params = network_publication_params(
            channel, command.stream_id, self._context.settings, lookups
        )
        wanted = params.response_correlation_id
        if not params.is_response and wanted != NULL_VALUE and not self._subscriptions.has(wanted):
            raise generic(
                ILLEGAL_ARGUMENT,
                f"unable to find response subscription for response-correlation-id={wanted}",
            )
        return params

    def _add_new(
        self,
        command: AddPublication | AddExclusivePublication,
        channel: UdpChannel,
        params: PublicationParams,
        endpoint: SendChannelEndpoint,
        *,
        is_exclusive: bool,
    ) -> None:
        media = endpoint.channel.canonical_form
        if self._conductor.sessions.is_active(params.session_id, command.stream_id, media):
            raise invalid_channel(
                f"existing publication has clashing sessionId={params.session_id} "
                f"for streamId={command.stream_id} channel={command.channel}"
            )
        publication = make_publication(
            self._conductor, command, channel, params, endpoint, is_exclusive=is_exclusive
        )
        try:
            client = self._conductor.clients.get_or_add(command.client_id)
        except BaseException:
            discard_publication(self._context, publication)
            raise
        publication.stream.references += 1
        endpoint.publications += 1
        self._publications.append(publication)
        self._conductor.sessions.add(publication.session_id, publication.stream_id, media)
        self._conductor.sessions.take_tag(params.entity_tag, publication.channel)
        self._conductor.agent.add_stream(publication.stream)
        self._conductor.sender.add_publication(publication.stream)
        if isinstance(publication.flow_control, PythonFlowControl):
            self._conductor.agent.ask_at_timers()
        self._links.append(PublicationLink(command.correlation_id, client, publication))
        self._tell_ready(command, publication)
        if params.is_response and params.response_correlation_id != PROTOTYPE_CORRELATION_ID:
            self._images.set_response_session(
                params.response_correlation_id, publication.session_id
            )
        self._spies.link(publication)

    def _tell_ready(
        self, command: AddPublication | AddExclusivePublication, publication: NetworkPublication
    ) -> None:
        ready = ExclusivePublicationReady if publication.is_exclusive else PublicationReady
        self._context.tell(
            ready(
                command.correlation_id,
                publication.registration_id,
                publication.session_id,
                publication.stream_id,
                publication.limit_id,
                publication.endpoint.status_id,
                publication.log.path,
            )
        )

    def _drop_reference(self, publication: NetworkPublication) -> None:
        """Drop one reference; a publication without references drains."""
        stream = publication.stream
        stream.references -= 1
        if stream.references == 0:
            stream.end_stream()
            if stream.state == ACTIVE and not stream.revoked:
                stream.enter(DRAINING)
                publication.since_ns = self._conductor.agent.now_ns

    def _shareable(
        self, stream_id: int, endpoint: SendChannelEndpoint, params: PublicationParams
    ) -> NetworkPublication | None:
        for publication in self._publications:
            if (
                publication.stream_id == stream_id
                and publication.endpoint is endpoint
                and not publication.is_exclusive
                and publication.stream.state == ACTIVE
                and publication.params.response_correlation_id == params.response_correlation_id
            ):
                return publication
        return None

    def _tagged_session(self, tag: int) -> TaggedSession | None:
        holder = self._with_entity_tag(tag)
        if holder is None:
            return None
        return TaggedSession(holder.session_id, holder.params.mtu_length, holder.params.term_length)

    def _with_entity_tag(self, tag: int) -> NetworkPublication | None:
        if tag == NULL_VALUE:
            return None
        return next((p for p in self._publications if p.params.entity_tag == tag), None)


def _confirm_match(
    existing: NetworkPublication, params: PublicationParams, channel: UdpChannel
) -> None:
    """Refuse to share a publication whose parameters differ from the channel's."""
    first = existing.endpoint.channel.original
    existing.confirm_match(params, channel.uri, first)
    found = existing.params
    if found.spies_simulate_connection != params.spies_simulate_connection:
        has_ssc = str(found.spies_simulate_connection).lower()
        wants_ssc = str(params.spies_simulate_connection).lower()
        raise generic(
            ILLEGAL_STATE,
            "existing publication has different spiesSimulateConnection: "
            f"existing={has_ssc} requested={wants_ssc} existingChannel={first} "
            f"channel={channel.original}",
        )
