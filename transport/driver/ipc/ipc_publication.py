"""IPC publications as the conductor's control part sees them (spec cnc-and-commands 14)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aerolog.transport.driver.conductor.subscription_links import LOCAL_SOURCE
from aerolog.transport.driver.ipc import ipc_stream

if TYPE_CHECKING:
    from aerolog.transport.driver.channels.channel_params import PublicationParams, StartPosition
    from aerolog.transport.driver.conductor.clients import AeronClient
    from aerolog.transport.driver.ipc.ipc_stream import IpcStream
    from aerolog.transport.driver.logs.log_store import LogFile


@dataclass(slots=True, eq=False)
class IpcPublication:
    """One log with its counters, shared by publication links.

    Attributes:
        registration_id: correlation id of the command that made it; names the log and its images.
        client_id: of the client that made it.
        stream_id: published to.
        session_id: of the publication.
        channel: as the client wrote it.
        params: of the channel.
        is_exclusive: one link only, never shared.
        start: where it began.
        pub_pos_id: counter of the publisher's position.
        pub_lmt_id: counter of the publication limit.
        log: the log's file.
        stream: its native part.
    """

    registration_id: int
    client_id: int
    stream_id: int
    session_id: int
    channel: str
    params: PublicationParams
    is_exclusive: bool
    start: StartPosition
    pub_pos_id: int
    pub_lmt_id: int
    log: LogFile
    stream: IpcStream

    @property
    def image_id(self) -> int:
        """Names its images."""
        return self.registration_id

    @property
    def source_identity(self) -> str:
        """Where its images come from."""
        return LOCAL_SOURCE

    @property
    def is_active(self) -> bool:
        """Whether it may be shared."""
        return self.stream.state == ipc_stream.ACTIVE

    @property
    def accepts_subscriptions(self) -> bool:
        """Whether a new subscriber may join."""
        if self.stream.cooling_down:
            return False
        if self.stream.state == ipc_stream.ACTIVE:
            return True
        return self.stream.state == ipc_stream.DRAINING and not self.stream.drained


@dataclass(slots=True, eq=False)
class PublicationLink:
    """A client's hold on a publication.

    Attributes:
        registration_id: correlation id of the command that added it.
        client: owner.
        publication: shared with other links, or exclusive.
    """

    registration_id: int
    client: AeronClient
    publication: IpcPublication
