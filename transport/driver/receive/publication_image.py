"""Images of network publications as the conductor sees them (spec cnc-and-commands 15.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aerolog.transport.driver.logs.log_store import LogFile
    from aerolog.transport.driver.receive.receive_channel_endpoint import ReceiveChannelEndpoint
    from aerolog.transport.driver.receive.receive_stream import ReceiveStream


@dataclass(slots=True, eq=False)
class PublicationImage:
    """One log that is filled from the network, with its counters.

    Attributes:
        correlation_id: the id of the image and its log.
        session_id: the session of the publication.
        stream_id: the stream of the publication.
        endpoint: the endpoint that receives it.
        source_identity: ``host:port`` of the sender.
        source_host: whose limits it counts in (`source_limits`).
        counter_ids: the counters of the receiver, in the order in which they were allocated.
        log: the file of its log.
        stream: the native part, which the conductor and the receiver work on.
        is_response_wanted: whether the publisher waits for a response channel.
        is_released: whether the receiver no longer uses it.
    """

    correlation_id: int
    session_id: int
    stream_id: int
    endpoint: ReceiveChannelEndpoint
    source_identity: str
    source_host: str
    counter_ids: list[int]
    log: LogFile
    stream: ReceiveStream
    is_response_wanted: bool = False
    is_released: bool = False

    @property
    def image_id(self) -> int:
        """The id of the image."""
        return self.correlation_id
