"""The publications of a client to the members of a cluster (spec cluster 8)."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from aerolog.transport.client.steps.added_stream import give_up
from aerolog.transport.errors import AerologError
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from concurrent.futures import Future

    from aerolog.cluster.client.options import ClusterClientOptions
    from aerolog.transport.client import Aeron
    from aerolog.transport.client.publication import Publication

#: The key of the publication of an ingress without endpoints.
ANY_MEMBER = -1


class IngressPublications:
    """A publication for each member that a client may talk to, added without waiting.

    Members whose publication cannot be added are left out, as long as one can be.
    """

    def __init__(self, aeron: Aeron, options: ClusterClientOptions) -> None:
        self._aeron = aeron
        self._options = options
        self._adding: dict[int, Future[Publication]] = {}
        self._added: dict[int, Publication] = {}
        self._failure: AerologError | None = None

    def add(self, endpoints: dict[int, str]) -> None:
        """Begin to add a publication for each endpoint; without endpoints the only one."""
        channel = ChannelUri.parse(self._options.ingress_channel)
        channels = {
            member: str(channel.put("endpoint", endpoint)) for member, endpoint in endpoints.items()
        } or {ANY_MEMBER: str(channel)}
        aeron, stream_id = self._aeron, self._options.ingress_stream_id
        add = (
            aeron.add_unshared_publication_async
            if self._options.is_ingress_exclusive
            else aeron.add_publication_async
        )
        for member, text in channels.items():
            self._adding[member] = add(text, stream_id)

    def connected(self) -> tuple[int, Publication] | None:
        """The first member whose publication is connected, None while there is none.

        Raises:
            AerologError: no publication could be added.
        """
        for member, adding in list(self._adding.items()):
            if not adding.done():
                continue
            del self._adding[member]
            try:
                self._added[member] = adding.result(0)
            except AerologError as error:
                self._failure = error
        if not self._adding and not self._added and self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        for member, publication in self._added.items():
            if publication.is_connected:
                return member, publication
        return None

    def keep(self, member: int) -> Publication:
        """Close all publications but a member's, which the caller owns from now on."""
        publication = self._added.pop(member)
        self.close()
        return publication

    def close(self) -> None:
        """Close all publications, and give up those that are being added."""
        for adding in self._adding.values():
            give_up(adding)
        self._adding.clear()
        for publication in self._added.values():
            with contextlib.suppress(AerologError):
                publication.close()
        self._added.clear()
