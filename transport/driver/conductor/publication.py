"""What every publication is to the conductor, whatever its medium (spec cnc-and-commands 14)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from aerolog.transport.driver.conductor.command_error import ILLEGAL_STATE, generic
from aerolog.transport.uri import keys

if TYPE_CHECKING:
    from aerolog.transport.driver.channels.channel_params import PublicationParams, StartPosition
    from aerolog.transport.driver.conductor.clients import AeronClient
    from aerolog.transport.driver.logs.log_store import LogFile
    from aerolog.transport.uri import ChannelUri

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

    def confirm_match(self, params: PublicationParams, channel: ChannelUri, first: str) -> None:
        """Refuse to share a publication that is not what a channel asks for.

        Args:
            params: of the channel.
            channel: that is added.
            first: the channel that the publication was made for.

        Raises:
            ControlProtocolError: with the reference's text.
        """
        found, start = self.params, params.start
        comparisons = [
            (keys.MTU, params.has_mtu_length, found.mtu_length, params.mtu_length),
            (keys.TERM_LENGTH, params.has_term_length, found.term_length, params.term_length),
            (keys.SESSION_ID, params.has_session_id, self.session_id, params.session_id),
        ]
        if start is not None:
            comparisons += [
                (keys.INIT_TERM_ID, True, self.start.initial_term_id, start.initial_term_id),
                (keys.TERM_ID, True, self.start.term_id, start.term_id),
                (keys.TERM_OFFSET, True, self.start.term_offset, start.term_offset),
            ]
        for key, is_given, existing, requested in comparisons:
            if is_given and existing != requested:
                raise generic(
                    ILLEGAL_STATE,
                    f"existing publication has different '{key}': existing={existing} "
                    f"requested={requested} existingChannel={first} channel={channel}",
                )


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
