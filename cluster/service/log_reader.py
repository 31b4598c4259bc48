"""The log as a service reads it: messages up to the commit position (spec cluster 10, 11).

All that costs time with each message is here.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from aerolog.cluster.errors import ClusterError
from aerolog.cluster.protocol import SCHEMA, SCHEMA_ID, SessionMessageHeader
from aerolog.transport.protocol.sbe import HEADER, HEADER_LENGTH

if TYPE_CHECKING:
    from aerolog.cluster.service.service_agent import ServiceAgent
    from aerolog.transport.client import Image, Subscription
    from aerolog.transport.client.message import Header

_SESSION_TEMPLATE: Final = SessionMessageHeader.LAYOUT.template_id
_SESSION_BLOCK: Final = struct.Struct("<qqq")


class LogReader:
    """Reads the log of one JoinLog, which ends at a position or with its image.

    Attributes:
        image: the log's image.
        max_position: where the log ends for this reader, from the JoinLog.
    """

    def __init__(
        self, agent: ServiceAgent, subscription: Subscription, image: Image, max_position: int
    ) -> None:
        self._agent = agent
        self._subscription = subscription
        self.image = image
        self.max_position = max_position
        self._limit = agent.options.log_fragment_limit

    def poll(self, commit_position: int) -> int:
        """Hand over what is committed; returns the number of fragments.

        An error of the service is raised behind the message that it was raised for; the next call
        goes on from there.
        """
        until = min(commit_position, self.max_position)
        if until <= self.image.position:
            return 0
        try:
            return self.image.poll(self._take, self._limit, until=until)
        finally:
            self._agent.end_batch()

    @property
    def is_done(self) -> bool:
        """Whether there is nothing more to come."""
        image = self.image
        return image.closed or image.position >= self.max_position or image.is_end_of_stream

    def close(self) -> None:
        """Leave the log."""
        self._subscription.close()

    def _take(self, data: memoryview, header: Header) -> None:
        block_length, template_id, schema_id, _ = HEADER.unpack_from(data)
        if schema_id != SCHEMA_ID:
            raise ClusterError(f"expected schemaId={SCHEMA_ID}, actual={schema_id}")
        if template_id == _SESSION_TEMPLATE:
            _, session_id, timestamp = _SESSION_BLOCK.unpack_from(data, HEADER_LENGTH)
            self._agent.on_session_message(
                session_id, timestamp, data[HEADER_LENGTH + block_length :], header.position
            )
        elif (message := SCHEMA.decode(data)) is not None:
            self._agent.on_event(message, header.position)
