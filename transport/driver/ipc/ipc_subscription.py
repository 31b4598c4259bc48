"""The links of clients to IPC streams that they subscribe to (spec cnc-and-commands 15)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aerolog.transport.driver.channels.channel_params import SubscriptionParams
    from aerolog.transport.driver.conductor.clients import AeronClient
    from aerolog.transport.driver.ipc.ipc_publication import IpcPublication


@dataclass(slots=True, eq=False)
class IpcSubscriptionLink:
    """A client's subscription to an IPC stream.

    Attributes:
        registration_id: the correlation id of the command that added it.
        client: the client that owns it.
        stream_id: the stream that it subscribes to.
        channel: as the client wrote it.
        params: the parameters of the channel.
        session_id: the only session to match; None for any. A response subscription gets it when
            the response publication has been made.
        images: maps publications to the ids of position counters; -1 for an image that is gone for
            good because its untethered subscriber fell behind.
    """

    registration_id: int
    client: AeronClient
    stream_id: int
    channel: str
    params: SubscriptionParams
    session_id: int | None
    images: dict[IpcPublication, int] = field(default_factory=dict)

    def matches(self, publication: IpcPublication) -> bool:
        """Return whether a publication has the stream and the session of this subscription."""
        if self.stream_id != publication.stream_id:
            return False
        if self.session_id is None:
            return not self.params.is_response
        return self.session_id == publication.session_id
