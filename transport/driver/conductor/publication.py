"""What every publication is to the conductor, whatever its medium (spec cnc-and-commands 14)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from aerolog.transport.driver.channels.channel_params import PublicationParams, StartPosition
    from aerolog.transport.driver.conductor.clients import AeronClient
    from aerolog.transport.driver.logs.log_store import LogFile

#: Where images come from that are a publication's own log.
LOCAL_SOURCE: Final = "aeron:ipc"


@dataclass(slots=True, eq=False, kw_only=True)
class Publication:
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
        log: the log's file.
    """

    registration_id: int
    client_id: int
    stream_id: int
    session_id: int
    channel: str
    params: PublicationParams
    is_exclusive: bool
    start: StartPosition
    log: LogFile

    @property
    def image_id(self) -> int:
        """Names its images."""
        return self.registration_id

    @property
    def source_identity(self) -> str:
        """Where its images come from."""
        return LOCAL_SOURCE


PublicationT = TypeVar("PublicationT", bound=Publication)


@dataclass(slots=True, eq=False)
class PublicationLink(Generic[PublicationT]):
    """A client's hold on a publication.

    Attributes:
        registration_id: correlation id of the command that added it.
        client: owner.
        publication: shared with other links, or exclusive.
    """

    registration_id: int
    client: AeronClient
    publication: PublicationT
