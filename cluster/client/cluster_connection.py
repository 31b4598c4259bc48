"""Connecting to a cluster, step by step (spec cluster 8).

`ClusterConnection.poll` never waits, so that a duty cycle or an event loop can turn it.
"""

from __future__ import annotations

import contextlib
from enum import IntEnum
from typing import TYPE_CHECKING

from aerolog.cluster.client.cluster_session import BATCH_LIMIT, ClusterSession
from aerolog.cluster.client.ingress import IngressPublications
from aerolog.cluster.client.options import parse_endpoints
from aerolog.cluster.errors import ClusterAuthenticationError, ClusterError
from aerolog.cluster.protocol import (
    SCHEMA,
    Challenge,
    ChallengeResponse,
    EventCode,
    SessionConnectRequest,
    SessionEvent,
)
from aerolog.transport.client.steps.session_connection import (
    SessionConnection,
    client_info,
    resolved_channel,
)
from aerolog.transport.errors import ConfigurationError, MessageFormatError
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aerolog.cluster.client.options import ClusterClientOptions
    from aerolog.cluster.protocol import Message
    from aerolog.transport.client import Aeron
    from aerolog.transport.client.publication import Publication
    from aerolog.transport.client.steps.caller import Steps
    from aerolog.transport.client.subscription import Subscription


class ConnectStep(IntEnum):
    """The steps of connecting; the numbers are the reference's."""

    CREATE_EGRESS_SUBSCRIPTION = -1
    CREATE_INGRESS_PUBLICATIONS = 0
    AWAIT_PUBLICATION_CONNECTED = 1
    SEND_MESSAGE = 2
    POLL_RESPONSE = 3
    CONCLUDE_CONNECT = 4
    DONE = 5


class ClusterConnection(SessionConnection[ClusterSession]):
    """A session with a cluster that is being made.

    Attributes:
        step: the step that it has reached.
    """

    _TIMEOUT = "cluster connect timeout"

    def __init__(self, aeron: Aeron, options: ClusterClientOptions) -> None:
        self.step: ConnectStep = ConnectStep.CREATE_EGRESS_SUBSCRIPTION
        self._options = options
        self._ingress = IngressPublications(aeron, options)
        super().__init__(aeron, options)

    def _why(self) -> str:
        options = self._options
        places = options.ingress_endpoints or options.ingress_channel
        driver = f"the media driver in {self._aeron.aeron_dir}"
        if self.step < ConnectStep.AWAIT_PUBLICATION_CONNECTED:
            return f"{driver} did not add the streams in time: try again"
        if self.step == ConnectStep.AWAIT_PUBLICATION_CONNECTED:
            return (
                f"{driver} is there, but no member of a cluster on {places} stream"
                f" {options.ingress_stream_id}: start one, or name the endpoints of another"
            )
        return (
            f"a member is on {places}, but its answer did not come to {options.egress_channel}"
            f" stream {options.egress_stream_id}: see whether the cluster has a leader, and whether"
            " it can send there"
        )

    def close(self) -> None:
        """Give up: the streams are closed."""
        super().close()
        self._ingress.close()

    def _run(self) -> Steps[ClusterSession]:
        options = self._options
        channel = ChannelUri.parse(options.egress_channel)
        if channel.is_udp:
            channel = channel.put("rejoin", "false")
        subscription = yield from self._added(
            self._aeron.add_subscription_async(str(channel), options.egress_stream_id)
        )
        self.step = ConnectStep.CREATE_INGRESS_PUBLICATIONS
        endpoints = options.endpoints()
        self._ingress.add(endpoints)
        while True:
            self.step = ConnectStep.AWAIT_PUBLICATION_CONNECTED
            while (found := self._ingress.connected()) is None:
                yield 0
            member, publication = found
            response_channel = yield from resolved_channel(subscription, channel)
            answer = yield from self._ask(subscription, publication, response_channel)
            if answer.code != EventCode.REDIRECT:
                break
            try:
                endpoints = parse_endpoints(answer.detail)
            except ConfigurationError as error:
                raise ClusterError(f"the cluster redirects to nobody: {error}") from None
            leader = (
                {answer.leader_member_id: endpoints[answer.leader_member_id]}
                if (answer.leader_member_id in endpoints)
                else endpoints
            )
            self._ingress.close()
            self._ingress.add(leader)
        _check_ok(answer)
        self.step = ConnectStep.DONE
        return ClusterSession(
            self._aeron, options, subscription, self._ingress.keep(member), endpoints, answer
        )

    def _ask(
        self, subscription: Subscription, publication: Publication, response_channel: str
    ) -> Steps[SessionEvent]:
        """Send the connect request, and the answer to a challenge; return what ends them."""
        options = self._options
        correlation_id = self._aeron.next_correlation_id()
        request: Message = SessionConnectRequest(
            correlation_id=correlation_id,
            response_stream_id=options.egress_stream_id,
            response_channel=response_channel,
            encoded_credentials=options.encoded_credentials(),
            client_info=client_info(options.name),
        )
        while True:
            self.step = ConnectStep.SEND_MESSAGE
            encoded = request.encode()
            while not publication.offer(encoded) > 0:
                yield 0
            self.step = ConnectStep.POLL_RESPONSE
            answer = yield from self._await(subscription, correlation_id)
            if isinstance(answer, SessionEvent):
                return answer
            correlation_id = self._aeron.next_correlation_id()
            request = ChallengeResponse(
                correlation_id=correlation_id,
                cluster_session_id=answer.cluster_session_id,
                encoded_credentials=options.answer_challenge(answer.encoded_challenge),
            )

    @staticmethod
    def _await(subscription: Subscription, correlation_id: int) -> Steps[SessionEvent | Challenge]:
        while True:
            for message in _egress_messages(subscription):
                if (
                    isinstance(message, SessionEvent | Challenge)
                    and message.correlation_id == correlation_id
                ):
                    return message
            yield 0


def _egress_messages(subscription: Subscription) -> Iterator[Message]:
    """Take what has come, one by one, so that the messages of the session stay for it.

    Bytes that are no message of the schema are skipped, since anybody may publish there.
    """
    for _ in range(BATCH_LIMIT):
        received = subscription.poll_messages(1)
        if not received:
            return
        with contextlib.suppress(MessageFormatError):
            message = SCHEMA.decode(received[0].data)
            if message is not None:
                yield message


def _check_ok(answer: SessionEvent) -> None:
    """Raise what the cluster said, unless it said OK."""
    if answer.code == EventCode.AUTHENTICATION_REJECTED:
        raise ClusterAuthenticationError(answer.detail or "session failed authentication")
    if answer.code != EventCode.OK:
        raise ClusterError(f"{answer.detail or answer.code.name}")
