"""The publications of one kind of media, with the clients' links to them.

Spec cnc-and-commands 14. Conductor only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic

from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.driver.channels.channel_params import (
    NULL_VALUE,
    PublicationLookups,
    TaggedSession,
)
from aerolog.transport.driver.conductor.command_error import invalid_channel
from aerolog.transport.driver.conductor.driver_publication import PublicationLink, PublicationT
from aerolog.transport.driver.conductor.driver_stream import ACTIVE, DRAINING
from aerolog.transport.driver.context import remove_at, take_from
from aerolog.transport.protocol.responses import ExclusivePublicationReady, PublicationReady

if TYPE_CHECKING:
    from aerolog.transport.driver.channels.channel_params import PublicationParams
    from aerolog.transport.driver.conductor.clients import AeronClient, Clients
    from aerolog.transport.driver.conductor.conductor_agent import ConductorAgent
    from aerolog.transport.driver.conductor.session_ids import PublicationSessions
    from aerolog.transport.driver.context import DriverContext
    from aerolog.transport.protocol.commands import AddExclusivePublication, AddPublication


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
        sessions: PublicationSessions,
    ) -> None:
        self._context = context
        self._agent = agent
        self._clients = clients
        self._sessions = sessions
        self.items: list[PublicationT] = []
        self._links: list[PublicationLink[PublicationT]] = []

    def find(self, registration_id: int) -> PublicationT | None:
        """Return the publication with an id, which is also the id of its images."""
        return next((p for p in self.items if p.registration_id == registration_id), None)

    def lookups(self, stream_id: int, media: str) -> PublicationLookups:
        """Return what the channel of a new publication may ask for."""
        return PublicationLookups(
            self._sessions.check_tag_free,
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

    def check_session_free(
        self,
        command: AddPublication | AddExclusivePublication,
        params: PublicationParams,
        media: str,
    ) -> None:
        """Refuse a new publication with the session of another one.

        Raises:
            ControlProtocolError: with the reference's text.
        """
        if self._sessions.is_active(params.session_id, command.stream_id, media):
            raise invalid_channel(
                f"existing publication has clashing sessionId={params.session_id} "
                f"for streamId={command.stream_id} channel={command.channel}"
            )

    def add(self, client_id: int, publication: PublicationT) -> AeronClient:
        """Add a new publication, which the conductor runs from now on, and return its client.

        Raises:
            CountersFullError: no counter is free for the client; the publication is undone.
        """
        try:
            client = self._clients.get_or_add(client_id)
        except BaseException:
            self._context.free_counters(publication.counter_ids)
            self._context.logs.discard(publication.log)
            raise
        self.items.append(publication)
        self._sessions.add(publication.session_id, publication.stream_id, publication.media)
        self._sessions.take_tag(publication.params.entity_tag, publication.channel)
        self._agent.add_stream(publication.stream)
        return client

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
        """Drop one reference to a publication, whoever asks; return False for an unknown id."""
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

    def report_refused_allocations(self) -> None:
        """Record an error for every log whose next term the disk had no space for."""
        for publication in self.items:
            self._context.logs.report_refused_term(
                publication.log,
                publication.registration_id,
                publication.stream.refused_allocation(),
                "publication limit",
            )

    def _tagged_session(self, tag: int) -> TaggedSession | None:
        if tag == NULL_VALUE:
            return None
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
