"""What publications of all media have in common (spec cnc-and-commands 14)."""

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

#: The source identity of images of a publication's own log.
LOCAL_SOURCE: Final = "aeron:ipc"


@dataclass(slots=True, eq=False, kw_only=True)
class DriverPublication:
    """One log with its counters, shared by publication links.

    Attributes:
        registration_id: the correlation id of the command that made it; its images have this id.
        client_id: the client that made it.
        stream_id: the stream that it publishes to.
        session_id: the session of the publication.
        channel: as the client wrote it.
        params: the parameters of the channel.
        is_exclusive: whether it has one link only and is never shared.
        start: the position at which it began.
        log: the file of its log.
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
        """The id of its images."""
        return self.registration_id

    @property
    def source_identity(self) -> str:
        """The source identity of its images."""
        return LOCAL_SOURCE

    def confirm_match(self, params: PublicationParams, channel: ChannelUri, first: str) -> None:
        """Refuse to share a publication whose parameters are not those that a channel asks for.

        Args:
            params: the parameters of the added channel.
            channel: the channel that a client adds.
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


PublicationT = TypeVar("PublicationT", bound=DriverPublication)


@dataclass(slots=True, eq=False)
class PublicationLink(Generic[PublicationT]):
    """A client's reference to a publication.

    Attributes:
        registration_id: the correlation id of the command that added it.
        client: the client that owns the link.
        publication: the publication, which other links may share unless it is exclusive.
    """

    registration_id: int
    client: AeronClient
    publication: PublicationT
