"""What changes for UDP publications at timer events (spec wire-protocol 5.8, 11).

Conductor only; the parts that tell no client anything are native, in ``publication``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.transport.driver.counters.system_counters import SystemCounter
from aerolog.transport.driver.flow_control.flow_control import PythonFlowControl
from aerolog.transport.driver.send.send_stream import ACTIVE, DONE, DRAINING, LINGER

if TYPE_CHECKING:
    from aerolog.transport.driver.conductor.network_context import NetworkParts
    from aerolog.transport.driver.flow_control.flow_control import FlowControl
    from aerolog.transport.driver.send.network_publication import UdpPublication
    from aerolog.transport.driver.send.send_channel_endpoint import SendChannels
    from aerolog.transport.driver.send.spies import Spies


class PublicationTimers:
    """Carries out the changes of state of UDP publications."""

    def __init__(
        self,
        parts: NetworkParts,
        endpoints: SendChannels,
        spies: Spies,
        publications: list[UdpPublication],
    ) -> None:
        self._parts = parts
        self._endpoints = endpoints
        self._spies = spies
        self._publications = publications

    def on_timer(self) -> None:
        """Let every publication have its timer event, the last one first."""
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
        """Write down what a strategy in Python raised; on the sender's thread nobody hears it."""
        if isinstance(flow_control, PythonFlowControl):
            error = flow_control.take_error()
            if error is not None:
                self._parts.context.errors.record(error)

    def _active(self, publication: UdpPublication) -> None:
        stream = publication.stream
        now_ns = self._parts.clockwork.now_ns
        if stream.revoked:
            stream.end_stream()
            stream.mark_end_of_stream()
            stream.disconnect()
            self._spies.leave(publication)
            stream.enter(LINGER)
            self._parts.context.counters.get_and_add(SystemCounter.PUBLICATIONS_REVOKED, 1)
            self._parts.context.events.revoked(
                stream.publisher_position,
                publication.session_id,
                publication.stream_id,
                publication.channel,
            )
            return
        for counter_id in stream.due_spies(now_ns):
            self._spies.move_untethered(publication, counter_id)
        stream.on_timer(now_ns)

    def _draining(self, publication: UdpPublication) -> None:
        stream = publication.stream
        stream.settle()
        if stream.drained and stream.spies_drained:
            stream.sample_publisher()
            self._spies.leave(publication)
            stream.enter(LINGER)
            publication.since_ns = self._parts.clockwork.now_ns

    def _linger(self, publication: UdpPublication) -> None:
        """Nobody publishes any more: let the sender go on until receivers have noticed."""
        stream = publication.stream
        waited_ns = self._parts.clockwork.now_ns - publication.since_ns
        is_over = (
            stream.has_received_unicast_eos or waited_ns >= publication.params.linger_timeout_ns
        )
        if stream.references > 0 or not is_over:
            return
        stream.enter(DONE)
        self._parts.sessions.discard(
            publication.session_id, publication.stream_id, publication.media
        )
        self._parts.clockwork.remove_stream(stream)
        self._parts.sender.remove_publication(stream)
        publication.endpoint.publications -= 1
        self._endpoints.close_if_unused(publication.endpoint)
