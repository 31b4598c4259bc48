"""The operation of the session itself: reconnecting to an archive (spec archive-protocol 21.4)."""

from __future__ import annotations

from aerolog.archive.client.client_base import ArchiveClientBase
from aerolog.transport.client.steps.caller import Steps, operation


class SessionOperations(ArchiveClientBase):
    """Connect anew when the archive was lost."""

    @operation
    def reconnect(self) -> Steps[None]:
        """End the session and connect anew, with the same options.

        Requests under way end in an error. Signals that were not taken, their handlers and the
        counts are kept. An archive does not keep recording subscriptions, replays and replications
        over its own restart: ask for them again. Recordings can be extended.

        When reconnecting fails, the client stays disconnected, has nothing open, and can try again.

        Raises:
            AeronTimeoutError: no archive answered in ``message_timeout``.
            ArchiveError: the archive refused the session.
            ResourceClosedError: this client or the transport client that it was given is closed.
        """
        return self.conversation.reconnect()
