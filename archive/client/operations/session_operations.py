"""The session itself: connect anew when the archive was lost (spec archive-protocol 21.4)."""

from __future__ import annotations

from aerolog.archive.client.caller import Steps, operation
from aerolog.archive.client.client_base import ArchiveClientBase


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
        return self.conversation.reconnect()
