"""What publications of all media have in common (spec cnc-and-commands 14)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from aerolog.transport.driver.conductor.command_error import ILLEGAL_STATE, generic
from aerolog.transport.uri import keys

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.transport.driver.channels.channel_params import PublicationParams, StartPosition
    from aerolog.transport.driver.conductor.clients import AeronClient
    from aerolog.transport.driver.conductor.driver_stream import PublicationStream
    from aerolog.transport.driver.logs.log_store import LogFile
    from aerolog.transport.logbuffer.metadata import LogMetadata
    from aerolog.transport.protocol.responses import OnPublicationError
    from aerolog.transport.uri import ChannelUri


@dataclass(slots=True, eq=False, kw_only=True)
class DriverPublication(ABC):
    """One log with its counters, shared by publication links.

    Attributes:
        registration_id: the correlation id of the command that made it; its images have this id.
        stream_id: the stream that it publishes to.
        session_id: the session of the publication.
        channel: as the client wrote it.
        params: the parameters of the channel.
        is_exclusive: whether it has one link only and is never shared.
        start: the position at which it began.
        limit_id: the counter of the publication limit.
        counter_ids: all its counters, in the order in which they were allocated; those of spies
            whose images it has ended come last.
        log: the file of its log.
        stream: the native part.
    """

    registration_id: int
    stream_id: int
    session_id: int
    channel: str
    params: PublicationParams
    is_exclusive: bool
    start: StartPosition
    limit_id: int
    counter_ids: list[int]
    log: LogFile
    stream: PublicationStream

    @property
    @abstractmethod
    def media(self) -> str:
        """The media that session ids belong to: ``ipc``, or the canonical form of a UDP channel."""

    @property
    @abstractmethod
    def channel_status_id(self) -> int:
        """The counter of its endpoint's status, -1 without an endpoint."""

    @property
    @abstractmethod
    def accepts_subscribers(self) -> bool:
        """Whether a new subscriber of its log may join."""

    @property
    def image_id(self) -> int:
        """The id of its images."""
        return self.registration_id

    @property
    def source_identity(self) -> str:
        """The source identity of its images."""
        return keys.IPC_CHANNEL

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


@dataclass(frozen=True, slots=True)
class PublicationPlan(Generic[PublicationT]):
    """A publication whose log is still to be made.

    Attributes:
        metadata: the initial metadata of the log.
        finish: makes the publication, which has no references yet, with the log.
        cancel: frees what the plan holds, counters of ``finish`` included, but not the log.
    """

    metadata: LogMetadata
    finish: Callable[[LogFile], PublicationT]
    cancel: Callable[[], None]


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


def rejection_text(rejection: OnPublicationError) -> str:
    """Return the event of the error log for a publication that a subscriber has rejected."""
    return (
        f"io.aeron.exceptions.AeronEvent: WARN - onPublicationError: "
        f"registrationId={rejection.registration_id}, "
        f"destinationRegistrationId={rejection.destination_registration_id}, "
        f"sessionId={rejection.session_id}, streamId={rejection.stream_id}, "
        f"receiverId={rejection.receiver_id}, groupId={rejection.group_tag}, "
        f"errorCode={rejection.code}, errorMessage={rejection.message}\n"
    )
