"""An authenticator that accepts known credentials, as the reference's simple authenticator."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING

from aerolog.transport.security.authentication import NoChallenges

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aerolog.transport.security.authentication import SessionProxy


class SimpleAuthenticator(NoChallenges):
    """Looks up credentials in a table, byte for byte; there are no challenges.

    Args:
        principals: principal by credentials.
    """

    def __init__(self, principals: Mapping[bytes, bytes]) -> None:
        self._principals = dict(principals)
        self._found: dict[int, bytes | None] = {}

    def on_connect_request(self, session_id: int, credentials: bytes, now_ms: int) -> None:  # noqa: ARG002
        """Look up the credentials in constant time."""
        found = None
        for known, principal in self._principals.items():
            if hmac.compare_digest(known, credentials):
                found = principal
        self._found[session_id] = found

    def on_connected_session(self, session: SessionProxy, now_ms: int) -> None:  # noqa: ARG002
        """Accept or reject the client."""
        principal = self._found.get(session.session_id)
        if principal is None:
            session.reject()
        else:
            session.authenticate(principal)

    def on_session_closed(self, session_id: int) -> None:
        """Remove what is stored about the session."""
        self._found.pop(session_id, None)
