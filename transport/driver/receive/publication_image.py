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
        correlation_id: names the image and its log.
        session_id: of the publication.
        stream_id: of the publication.
        endpoint: where it comes in.
        source_identity: ``host:port`` of the sender.
        counter_ids: of the receiver's side, in the order in which they were allocated.
        log: the log's file.
        stream: what conductor and receiver do with it, native.
        is_response_wanted: the publisher waits for a response channel.
        is_released: the receiver has let go of it.
    """

    correlation_id: int
    session_id: int
    stream_id: int
    endpoint: ReceiveChannelEndpoint
    source_identity: str
    counter_ids: tuple[int, ...]
    log: LogFile
    stream: ReceiveStream
    is_response_wanted: bool = False
    is_released: bool = False

    @property
    def image_id(self) -> int:
        """Names the image."""
        return self.correlation_id
