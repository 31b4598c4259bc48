"""What the reference's sample authenticator does, for tests that were written against it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from aerolog.archive.service.security.authentication import SessionProxy

ACCEPTED: Final = b"admin:admin"
CHALLENGED: Final = b"admin:adminC"
CHALLENGE: Final = b"challenge!"
ANSWER: Final = b"admin:CSadmin"
PRINCIPAL: Final = b"admin"


class SampleAuthenticator:
    """Accepts one pair, challenges another, rejects the rest; everybody knows the words."""

    def __init__(self) -> None:
        self._credentials: dict[int, bytes] = {}

    def on_connect_request(self, session_id: int, credentials: bytes, now_ms: int) -> None:  # noqa: ARG002
        """Remember who says what."""
        self._credentials[session_id] = credentials

    def on_connected_session(self, session: SessionProxy, now_ms: int) -> None:  # noqa: ARG002
        """Accept, ask, or reject."""
        credentials = self._credentials.get(session.session_id)
        if credentials == ACCEPTED:
            session.authenticate(PRINCIPAL)
        elif credentials == CHALLENGED:
            session.challenge(CHALLENGE)
        else:
            session.reject()

    def on_challenge_response(self, session_id: int, credentials: bytes, now_ms: int) -> None:  # noqa: ARG002
        """Remember the answer; a second time the words of the first are none."""
        self._credentials[session_id] = b"" if credentials == CHALLENGED else credentials

    def on_challenged_session(self, session: SessionProxy, now_ms: int) -> None:  # noqa: ARG002
        """Accept the right answer, without a name; wait while there is none."""
        answer = self._credentials.get(session.session_id)
        if answer == ANSWER:
            session.authenticate(b"")
        elif answer != CHALLENGED:
            session.reject()

    def on_session_closed(self, session_id: int) -> None:
        """Forget the session."""
        self._credentials.pop(session_id, None)
