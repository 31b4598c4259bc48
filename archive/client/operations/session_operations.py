"""The session itself: connect anew when the archive was lost (spec archive-protocol 21.4)."""

from __future__ import annotations

from aerolog.archive.client.caller import Steps, operation
from aerolog.archive.client.client_base import ArchiveClientBase
from aerolog.transport.errors import ResourceClosedError


class SessionOperations(ArchiveClientBase):
    """Reconnect."""

    @operation
    def reconnect(self) -> Steps[None]:
        """End the session and connect anew, with the options of the first time.

        Requests under way end in an error. Signals that were not taken, their handlers and the
        counts go on. What an archive does not keep over its own restart is to be asked for again:
        recording subscriptions, replays and replications; recordings can be extended.

        When it fails the client stays disconnected, has nothing open, and can try again.

        Raises:
            AeronTimeoutError: no archive answered in ``message_timeout``.
            ArchiveError: the archive refused the session.
            ResourceClosedError: this client is closed, or the transport client that it was given.
        """
        previous = self._known_session()
        if self._reconnecting:
            while self._reconnecting:
                yield 0
            if self._known_session() is not previous:
                return
        self._reconnecting = True
        try:
            previous.close()
            self._renew_aeron()
            session = yield from self._connecting()
            if self._closed:
                session.close()
                raise ResourceClosedError("client is closed")
            session.inherit(previous)
            session.stats.sessions += 1
            self._session = session
        finally:
            self._reconnecting = False

    def _renew_aeron(self) -> None:
        """A new transport client in place of an own one that has lost its driver."""
        if not self.aeron.closed:
            return
        if not self._owns_aeron:
            raise ResourceClosedError(
                "the transport client is closed: make a new one, and an archive client on it"
            ) from self.aeron.close_reason
        self.aeron = self._own_aeron()
