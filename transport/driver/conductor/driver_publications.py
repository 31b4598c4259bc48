"""The publications of one kind of media, with the clients' links to them.

Spec cnc-and-commands 14. Conductor only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic

from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.driver.channels.channel_params import (
    NULL_VALUE,
    PublicationLookups,
    TaggedSession,
)
from aerolog.transport.driver.conductor.command_error import invalid_channel
from aerolog.transport.driver.conductor.command_order import PublicationAwaitedError
from aerolog.transport.driver.conductor.driver_publication import PublicationLink, PublicationT
from aerolog.transport.driver.conductor.driver_stream import ACTIVE, DRAINING
from aerolog.transport.driver.context import remove_at, take_from
from aerolog.transport.protocol.commands import AddExclusivePublication
from aerolog.transport.protocol.responses import ExclusivePublicationReady, PublicationReady

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.transport.driver.channels.channel_params import PublicationParams
    from aerolog.transport.driver.conductor.clients import AeronClient, Clients
    from aerolog.transport.driver.conductor.command_order import CommandOrder
    from aerolog.transport.driver.conductor.conductor_agent import ConductorAgent
    from aerolog.transport.driver.conductor.driver_publication import PublicationPlan
    from aerolog.transport.driver.conductor.session_ids import PublicationSessions
    from aerolog.transport.driver.context import DriverContext
    from aerolog.transport.driver.logs.log_store import LogFile
    from aerolog.transport.protocol.commands import AddPublication
    from aerolog.transport.uri import ChannelUri


@dataclass(slots=True, eq=False)
class _PublicationMaking:
    """A publication whose log is being made.

    Attributes:
        command: the command that adds it.
        params: the parameters of its channel.
        media: the media that its session id belongs to.
        client: the client that adds it; None while this is its first command.
        waiting: the clients whose commands refer to the publication.
    """

    command: AddPublication | AddExclusivePublication
    params: PublicationParams
    media: str
    client: AeronClient | None
    waiting: list[int] = field(default_factory=list)

    @property
    def registration_id(self) -> int:
        """The registration id that the publication will have."""
        return self.command.correlation_id


class DriverPublications(Generic[PublicationT]):
    """All publications of one kind of media.

    Attributes:
        items: the publications, in order of creation except where a removal has moved the last one.
    """

    def __init__(
        self,
        context: DriverContext,
        agent: ConductorAgent,
        clients: Clients,
        order: CommandOrder,
        sessions: PublicationSessions,
    ) -> None:
        self._context = context
        self._agent = agent
        self._clients = clients
        self._order = order
        self._sessions = sessions
        self.items: list[PublicationT] = []
        self._makings: list[_PublicationMaking] = []
        self._links: list[PublicationLink[PublicationT]] = []

    def find(self, registration_id: int) -> PublicationT | None:
        """Return the publication with an id, which is also the id of its images."""
        return next((p for p in self.items if p.registration_id == registration_id), None)

    def find_made(self, registration_id: int) -> PublicationT | None:
        """Return the publication with an id, as `find` does.

        Raises:
            PublicationAwaitedError: its log is being made.
        """
        self._await(lambda making: making.registration_id == registration_id)
        return self.find(registration_id)

    def lookups(self, stream_id: int, media: str) -> PublicationLookups:
        """Return what the channel of a new publication may ask for."""
        return PublicationLookups(
            self._check_tag_free,
            self._tagged_session,
            lambda: self._sessions.take(stream_id, media),
        )

    def shareable(self, stream_id: int, params: PublicationParams) -> list[PublicationT]:
        """Return the publications of a stream that another client may share, of any endpoint."""
        return [
            publication
            for publication in self.items
            if publication.stream_id == stream_id
            and not publication.is_exclusive
            and publication.stream.state == ACTIVE
            and publication.params.response_correlation_id == params.response_correlation_id
        ]

    def await_shareable(self, stream_id: int, params: PublicationParams, media: str) -> None:
        """Wait for a publication that can be shared once its log is made.

        Raises:
            PublicationAwaitedError: there is one.
        """
        self._await(
            lambda making: (
                (making.command.stream_id, making.media) == (stream_id, media)
                and not isinstance(making.command, AddExclusivePublication)
                and making.params.response_correlation_id == params.response_correlation_id
            )
        )

    def check_session_free(
        self,
        command: AddPublication | AddExclusivePublication,
        params: PublicationParams,
        media: str,
    ) -> None:
        """Refuse a new publication with the session of another one.

        Raises:
            ControlProtocolError: with the reference's text.
            PublicationAwaitedError: the log of the other one is being made.
        """
        session = (command.stream_id, media, params.session_id)
        self._await(
            lambda making: (
                (making.command.stream_id, making.media, making.params.session_id) == session
            )
        )
        if self._sessions.is_active(params.session_id, command.stream_id, media):
            raise invalid_channel(
                f"existing publication has clashing sessionId={params.session_id} "
                f"for streamId={command.stream_id} channel={command.channel}"
            )

    def make(
        self,
        command: AddPublication | AddExclusivePublication,
        params: PublicationParams,
        media: str,
        plan: PublicationPlan[PublicationT],
        then: Callable[[PublicationT], None],
    ) -> None:
        """Have the log of a new publication made, then add the publication and answer the command.

        Until then its session and its tag are taken, and its client is held.

        Args:
            command: the command that adds it.
            params: the parameters of its channel.
            media: the media that its session id belongs to.
            plan: makes the publication once there is a log.
            then: called when the client has been answered.
        """
        making = _PublicationMaking(command, params, media, self._clients.find(command.client_id))
        self._makings.append(making)
        self._order.hold(command.client_id)
        self._sessions.add(params.session_id, command.stream_id, media)
        self._sessions.take_tag(params.entity_tag, command.channel)

        def failed(error: Exception) -> None:
            self._undo(making, plan)
            self._order.refuse(command.correlation_id, error)
            self._end(making)

        self._context.logs.make_publication_log(
            command.correlation_id,
            plan.metadata,
            lambda log: self._on_log(making, plan, log, then),
            failed,
        )

    def _on_log(
        self,
        making: _PublicationMaking,
        plan: PublicationPlan[PublicationT],
        log: LogFile,
        then: Callable[[PublicationT], None],
    ) -> None:
        """Add the publication whose log is made; what fails before it is added is undone."""
        command = making.command
        if making.client is not None and making.client.gone:
            self._context.logs.free(log)
            self._undo(making, plan)
            self._end(making, is_client_gone=True)
            return
        try:
            publication = plan.finish(log)
            client = self._clients.get_or_add(command.client_id)
        except BaseException:
            self._context.logs.free(log)
            raise
        if self._context.logs.has_thread:
            publication.stream.allocate_apart()
        self.items.append(publication)
        self._agent.add_stream(publication.stream)
        try:
            self.link(command, client, publication)
            then(publication)
        except Exception as error:  # noqa: BLE001 -- the publication stays; its client hears of it
            self._order.refuse(command.correlation_id, error)
        self._end(making)

    def _undo(self, making: _PublicationMaking, plan: PublicationPlan[PublicationT]) -> None:
        self._sessions.discard(making.params.session_id, making.command.stream_id, making.media)
        self._sessions.free_tag(making.params.entity_tag)
        plan.cancel()

    def _end(self, making: _PublicationMaking, *, is_client_gone: bool = False) -> None:
        """Let the commands go on that waited for a publication."""
        self._makings.remove(making)
        if is_client_gone:
            self._order.drop(making.command.client_id)
        else:
            self._order.release(making.command.client_id)
        for client_id in making.waiting:
            self._order.release(client_id)

    def _await(self, is_meant: Callable[[_PublicationMaking], bool]) -> None:
        """Put a command off that refers to a publication whose log is being made."""
        for making in self._makings:
            if is_meant(making):
                raise PublicationAwaitedError(making.waiting)

    def _check_tag_free(self, tag: int, uri: ChannelUri) -> None:
        if tag != NULL_VALUE:
            self._await(lambda making: making.params.entity_tag == tag)
        self._sessions.check_tag_free(tag, uri)

    def link(
        self,
        command: AddPublication | AddExclusivePublication,
        client: AeronClient,
        publication: PublicationT,
    ) -> None:
        """Give a client a reference to a publication, and answer its command."""
        publication.stream.references += 1
        self._links.append(PublicationLink(command.correlation_id, client, publication))
        ready = ExclusivePublicationReady if publication.is_exclusive else PublicationReady
        self._context.tell(
            ready(
                command.correlation_id,
                publication.registration_id,
                publication.session_id,
                publication.stream_id,
                publication.limit_id,
                publication.channel_status_id,
                publication.log.path,
            )
        )

    def remove(self, registration_id: int, *, revoke: bool) -> bool:
        """Drop one reference to a publication, whoever asks; return False for an unknown id.

        Raises:
            PublicationAwaitedError: the log of the publication is being made.
        """
        self._await(lambda making: making.registration_id == registration_id)
        for index, link in enumerate(self._links):
            if link.registration_id == registration_id:
                if revoke:
                    link.publication.stream.revoke()
                remove_at(self._links, index)
                _drop_reference(link.publication)
                return True
        return False

    def drop_links_of_gone_clients(self) -> None:
        """Drop the links of clients that are gone."""
        for link in take_from(self._links, lambda link: link.client.gone):
            _drop_reference(link.publication)

    def note_revoked(self, publication: PublicationT) -> None:
        """Count and log a publication that its client has revoked."""
        self._context.counters.get_and_add(SystemCounter.PUBLICATIONS_REVOKED, 1)
        self._context.events.revoked(
            publication.stream.publisher_position,
            publication.session_id,
            publication.stream_id,
            publication.channel,
        )

    def free(self, publication: PublicationT) -> None:
        """Free the tag, the counters and the log of a publication that nothing uses any more."""
        self._sessions.free_tag(publication.params.entity_tag)
        self._context.free_counters(publication.counter_ids)
        self._context.logs.free(publication.log)
        self._context.events.publication_removed(
            publication.session_id, publication.stream_id, publication.channel
        )

    def free_logs(self) -> None:
        """Close all logs, once the conductor has ended."""
        for publication in self.items:
            self._context.logs.free(publication.log)

    def allocate_terms(self) -> None:
        """Have terms allocated; record an error for every log that the disk had no space for."""
        for publication in self.items:
            term = publication.stream.wanted_term()
            if term is not None:
                self._context.logs.allocate(term, publication.stream.on_term)
            self._context.logs.report_refused_term(
                publication.log,
                publication.registration_id,
                publication.stream.refused_allocation(),
                "publication limit",
            )

    def _tagged_session(self, tag: int) -> TaggedSession | None:
        if tag == NULL_VALUE:
            return None
        self._await(lambda making: making.params.entity_tag == tag)
        for holder in self.items:
            if holder.params.entity_tag == tag:
                params = holder.params
                return TaggedSession(holder.session_id, params.mtu_length, params.term_length)
        return None


def _drop_reference(publication: PublicationT) -> None:
    """Drop one reference; a publication without references drains."""
    stream = publication.stream
    stream.references -= 1
    if stream.references == 0:
        stream.end_stream()
        if stream.state == ACTIVE and not stream.revoked:
            stream.enter(DRAINING)
