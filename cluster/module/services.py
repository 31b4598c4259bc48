"""The streams between the module and the services of its node (spec cluster 11)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.cluster.errors import ClusterError, ServiceLostError
from aerolog.cluster.module import properties as p
from aerolog.cluster.module.event_log import ClusterEventCode
from aerolog.cluster.protocol import (
    NULL_POSITION,
    NULL_VALUE,
    SCHEMA,
    JoinLog,
    ServiceAck,
    ServiceTerminationPosition,
)
from aerolog.transport.client.status import OfferStatus
from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.errors import MessageFormatError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aerolog.cluster.module.module_context import ModuleContext
    from aerolog.cluster.protocol import Message
    from aerolog.transport.client.client_counters import CounterView
    from aerolog.transport.client.image import Image
    from aerolog.transport.client.steps.caller import Steps

FRAGMENT_LIMIT: Final = 10
_FAILED_START: Final = -1


class Services:
    """The services of the node: what they are sent, and what they have acknowledged.

    Each service numbers its acknowledgements from 0. `await_acks` waits until all services have
    acknowledged a position. What comes for another position, or when nothing is awaited, is
    reported and passed over: every program beside the driver can send some.

    A service's first acknowledgement names its transport client. The driver frees the counter of
    that client's heartbeat when the service has ended, or stood still for too long.
    """

    def __init__(self, context: ModuleContext) -> None:
        config, aeron = context.config, context.aeron
        self._context = context
        self._count: int = config[p.SERVICE_COUNT]
        self._publication = aeron.add_publication(
            config[p.CONTROL_CHANNEL], config[p.SERVICE_STREAM]
        )
        self._subscription = aeron.add_subscription(
            config[p.CONTROL_CHANNEL], config[p.MODULE_STREAM]
        )
        self._acks: dict[int, ServiceAck] = {}
        self._next_ids = [0] * self._count
        self._heartbeats: dict[int, CounterView] = {}
        self._awaited: int | None = None
        self._reached = NULL_POSITION

    @property
    def images(self) -> tuple[Image, ...]:
        """The images in which services send."""
        return self._subscription.images

    def poll(self) -> Iterator[tuple[Message, bytes]]:
        """Give each message of the services but acknowledgements, with its whole bytes."""
        for received in self._subscription.poll_messages(FRAGMENT_LIMIT):
            try:
                message = SCHEMA.decode(received.data)
            except MessageFormatError as error:
                self._context.reporter.error(error, "message of a service")
                continue
            if isinstance(message, ServiceAck):
                self._on_ack(message)
            elif message is not None:
                yield message, received.data

    def _on_ack(self, ack: ServiceAck) -> None:
        context, service_id = self._context, ack.service_id
        context.events.log(
            ClusterEventCode.SERVICE_ACK,
            ack.log_position,
            ack.timestamp,
            context.config.time_unit,
            ack.ack_id,
            ack.relevant_id,
            service_id,
        )
        if not 0 <= service_id < self._count:
            context.reporter.error(
                ClusterError(
                    f"acknowledgement of service {service_id}, of {self._count} services: set"
                    " aeron.cluster.service.count and aeron.cluster.service.id"
                ),
                "acknowledgement of an unknown service",
            )
        elif self._is_awaited(ack):
            self._acks[service_id] = ack
            if ack.ack_id == 0 and ack.relevant_id != NULL_VALUE:
                self._watch(service_id, ack.relevant_id)
        else:
            text = f"ack out of sequence: expected [ackId={self._next_ids[service_id]},"
            text += f" logPosition={self._awaited}] vs received {ack}"
            if ack.ack_id == 0:
                text = f"duplicate serviceId={service_id}: {text}"
            context.reporter.error(ClusterError(text), "acknowledgement out of sequence")

    def _is_awaited(self, ack: ServiceAck) -> bool:
        if ack.log_position != self._awaited or ack.service_id in self._acks:
            return False
        # The number tells acknowledgements of one position from each other. At a later position it
        # need not fit: a container whose fellow was heard in its place has another count.
        return ack.ack_id == self._next_ids[ack.service_id] or ack.log_position > self._reached

    def _watch(self, service_id: int, client_id: int) -> None:
        found = self._context.aeron.counters.find(
            type_id=CounterType.CLIENT_HEARTBEAT, registration_id=client_id
        )
        if found is None:
            raise ServiceLostError(service_id)
        self._heartbeats[service_id] = found

    def check_alive(self) -> None:
        """Check that each service is there which has been there.

        Raises:
            ServiceLostError: one has ended.
        """
        for service_id, heartbeat in self._heartbeats.items():
            if not heartbeat.is_active:
                raise ServiceLostError(service_id)

    def take_acks(self, log_position: int) -> list[ServiceAck] | None:
        """Take the acknowledgement of each service for a position, None until all have sent one."""
        self._awaited = log_position
        if len(self._acks) < self._count:
            return None
        if self._context.counters.commit_position.value < log_position:
            return None  # without services nobody else says that it is reached
        taken = [self._acks.pop(service_id) for service_id in range(self._count)]
        self._next_ids = [ack.ack_id + 1 for ack in taken]
        self._awaited, self._reached = None, log_position
        return taken

    def await_acks(self, log_position: int) -> Steps[list[ServiceAck]]:
        """Wait until every service has acknowledged a position; the agent polls meanwhile."""
        while (taken := self.take_acks(log_position)) is None:
            yield 0
        return taken

    def _send(self, message: Message) -> Steps[None]:
        data = message.encode()
        while self._count:
            result = self._publication.offer(data)
            if result > 0:
                return
            if result in (OfferStatus.CLOSED, OfferStatus.MAX_POSITION_EXCEEDED):
                raise ClusterError(f"the stream to the services ended: {result!r}")
            yield 0

    def join_log(self, message: JoinLog) -> Steps[None]:
        """Tell the services which log to read."""
        return self._send(message)

    def terminate(self, log_position: int) -> Steps[None]:
        """Tell the services at which position they end, and wait until they have acknowledged it.

        Raises:
            ServiceLostError: one has ended without an acknowledgement.
        """
        yield from self._send(ServiceTerminationPosition(log_position=log_position))
        lost = None
        while self.take_acks(log_position) is None:
            if lost is not None:
                raise lost
            try:
                self.check_alive()
            except ServiceLostError as error:
                lost = error  # what it sent before its end is read first
            yield 0

    def reply(self, message: Message) -> None:
        """Answer a query; an answer that does not fit is left out, as its asker asks again."""
        self._publication.offer(message.encode())

    def close(self) -> None:
        """Close both streams."""
        self._subscription.close()
        self._publication.close()
