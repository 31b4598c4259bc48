"""An authenticator that behaves as the reference's sample, for tests written against that one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from aerolog.transport.security.authentication import SessionProxy

ACCEPTED: Final = b"admin:admin"
CHALLENGED: Final = b"admin:adminC"
CHALLENGE: Final = b"challenge!"
ANSWER: Final = b"admin:CSadmin"
PRINCIPAL: Final = b"admin"


class SampleAuthenticator:
    """Accepts one pair, challenges another and rejects the rest; the credentials are not secret."""

    def __init__(self) -> None:
        self._credentials: dict[int, bytes] = {}

    def on_connect_request(self, session_id: int, credentials: bytes, now_ms: int) -> None:  # noqa: ARG002
        """Store the credentials."""
        self._credentials[session_id] = credentials

    def on_connected_session(self, session: SessionProxy, now_ms: int) -> None:  # noqa: ARG002
        """Accept, challenge or reject the client."""
        credentials = self._credentials.get(session.session_id)
        if credentials == ACCEPTED:
            session.authenticate(PRINCIPAL)
        elif credentials == CHALLENGED:
            session.challenge(CHALLENGE)
        else:
            session.reject()

    def on_challenge_response(self, session_id: int, credentials: bytes, now_ms: int) -> None:  # noqa: ARG002
        """Store the answer; the credentials that led to the challenge do not count as one."""
        self._credentials[session_id] = b"" if credentials == CHALLENGED else credentials

    def on_challenged_session(self, session: SessionProxy, now_ms: int) -> None:  # noqa: ARG002
        """Accept the correct answer with an empty principal; wait while there is none."""
        answer = self._credentials.get(session.session_id)
        if answer == ANSWER:
            session.authenticate(b"")
        elif answer != CHALLENGED:
            session.reject()

    def on_session_closed(self, session_id: int) -> None:
        """Remove what is stored about the session."""
        self._credentials.pop(session_id, None)
