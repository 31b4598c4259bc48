"""Adds, shares, removes and ends UDP publications.

See spec cnc-and-commands 14 and spec wire-protocol 5.8.

Conductor only. The part of timer events of which clients are told nothing is in ``send_stream``,
and destinations are in ``publication_destinations``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from aerolog.transport.driver.channels.channel_params import (
    NULL_VALUE,
    PROTOTYPE_CORRELATION_ID,
)
from aerolog.transport.driver.channels.network_params import (
    check_response_publication,
    network_publication_params,
)
from aerolog.transport.driver.conductor.command_error import (
    ILLEGAL_ARGUMENT,
    ILLEGAL_STATE,
    generic,
)
from aerolog.transport.driver.conductor.driver_publications import DriverPublications
from aerolog.transport.driver.conductor.driver_stream import ACTIVE, DONE, DRAINING, LINGER
from aerolog.transport.driver.flow_control.flow_control import PythonFlowControl
from aerolog.transport.driver.send.network_publication import NetworkPublication
from aerolog.transport.driver.send.publication_factory import plan_publication
from aerolog.transport.driver.send.spies import Spies
from aerolog.transport.protocol.commands import AddExclusivePublication

if TYPE_CHECKING:
    from aerolog.transport.driver.channels.channel_params import PublicationParams
    from aerolog.transport.driver.conductor.conductor_context import ConductorContext
    from aerolog.transport.driver.flow_control.flow_control import FlowControl
    from aerolog.transport.driver.receive.network_subscriptions import NetworkSubscriptions
    from aerolog.transport.driver.receive.publication_images import PublicationImages
    from aerolog.transport.driver.send.send_channel_endpoint import SendChannelEndpoints
    from aerolog.transport.network.udp_channel import UdpChannel
    from aerolog.transport.protocol.commands import AddPublication


class NetworkPublications(DriverPublications[NetworkPublication]):
    """All UDP publications of a driver and the clients' references to them.

    Args:
        conductor: the parts of the driver that publications use.
        endpoints: the endpoints that send publications.
        subscriptions: the subscriptions that wait for responses to publications.
        images: the images to which publications respond.

    Attributes:
        spies: the spies that read publications.
    """

    def __init__(
        self,
        conductor: ConductorContext,
        endpoints: SendChannelEndpoints,
        subscriptions: NetworkSubscriptions,
        images: PublicationImages,
    ) -> None:
        super().__init__(
            conductor.context,
            conductor.agent,
            conductor.clients,
            conductor.order,
            conductor.sessions,
        )
        self._conductor = conductor
        self._endpoints = endpoints
        self._subscriptions = subscriptions
        self._images = images
        self.spies = Spies(conductor, self.items)

    def publish(
        self, command: AddPublication | AddExclusivePublication, channel: UdpChannel
    ) -> None:
        """Share an existing publication, or make a new one.

        Raises:
            PublicationAwaitedError: the log of a publication to which the command refers is being
                made.
        """
        is_exclusive = isinstance(command, AddExclusivePublication)
        params = self._params(command, channel)
        endpoint = self._endpoints.get_or_open(channel, params, command.correlation_id)
        check_response_publication(channel, params)
        responds = params.is_response and params.response_correlation_id != PROTOTYPE_CORRELATION_ID
        if responds:
            self._images.check_response_requested(params.response_correlation_id)
        if not is_exclusive:
            for shared in self.shareable(command.stream_id, params):
                if shared.endpoint is endpoint:
                    _confirm_match(shared, params, channel)
                    self.link(command, self._clients.get_or_add(command.client_id), shared)
                    return
        media = endpoint.channel.canonical_form
        if not is_exclusive:
            self.await_shareable(command.stream_id, params, media)
        self.check_session_free(command, params, media)
        plan = plan_publication(
            self._conductor, command, channel, params, endpoint, is_exclusive=is_exclusive
        )
        endpoint.publications += 1  # which keeps the endpoint open until the log is made

        def cancel() -> None:
            plan.cancel()
            endpoint.publications -= 1
            self._endpoints.close_if_unused(endpoint)

        def added(publication: NetworkPublication) -> None:
            self._conductor.sender.add_publication(publication.stream)
            if isinstance(publication.flow_control, PythonFlowControl):
                self._agent.ask_at_timers()
            if responds:
                self._images.set_response_session(
                    params.response_correlation_id, publication.session_id
                )
            self.spies.join(publication)

        self.make(command, params, media, replace(plan, cancel=cancel), added)

    def on_timer(self) -> None:
        """Run the timer event of every publication, the last one first."""
        for publication in reversed(self.items):
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
                self._context.errors.record(error)

    def _active(self, publication: NetworkPublication) -> None:
        stream = publication.stream
        if stream.revoked:
            stream.end_stream()
            stream.mark_end_of_stream()
            stream.disconnect()
            self.spies.leave(publication)
            stream.enter(LINGER)
            self.note_revoked(publication)
            return
        self.spies.move_untethered(publication)
        stream.on_timer(self._agent.now_ns)

    def _draining(self, publication: NetworkPublication) -> None:
        stream = publication.stream
        stream.settle()
        if stream.drained and stream.subscribers_drained:
            stream.sample_publisher()
            self.spies.leave(publication)
            stream.enter(LINGER)
            publication.since_ns = self._agent.now_ns

    def _linger(self, publication: NetworkPublication) -> None:
        """Let the sender go on until receivers have seen the end, then end the publication."""
        stream = publication.stream
        waited_ns = self._agent.now_ns - publication.since_ns
        is_over = (
            stream.has_received_unicast_eos or waited_ns >= publication.params.linger_timeout_ns
        )
        if stream.references > 0 or not is_over:
            return
        stream.enter(DONE)
        self._sessions.discard(publication.session_id, publication.stream_id, publication.media)
        self._agent.remove_stream(stream)
        self._conductor.sender.remove_publication(stream)
        publication.endpoint.publications -= 1
        self._endpoints.close_if_unused(publication.endpoint)

    def _params(
        self, command: AddPublication | AddExclusivePublication, channel: UdpChannel
    ) -> PublicationParams:
        lookups = self.lookups(command.stream_id, channel.canonical_form)
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
