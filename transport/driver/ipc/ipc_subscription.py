"""Subscription links: what a client listens to (spec cnc-and-commands 15)."""

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
        registration_id: correlation id of the command that added it.
        client: owner.
        stream_id: listened to.
        channel: as the client wrote it.
        params: of the channel.
        session_id: the only session to match; None for any. A response subscription gets it when
            the response publication is there.
        images: publication -> id of the position counter, -1 for an image that was left behind
            for good.
    """

    registration_id: int
    client: AeronClient
    stream_id: int
    channel: str
    params: SubscriptionParams
    session_id: int | None
    images: dict[IpcPublication, int] = field(default_factory=dict)

    def matches(self, publication: IpcPublication) -> bool:
        """Whether stream and session are those of a publication."""
        if self.stream_id != publication.stream_id:
            return False
        if self.session_id is None:
            return not self.params.is_response
        return self.session_id == publication.session_id
