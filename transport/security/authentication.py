"""Interfaces and simple implementations of access control (spec archive-protocol 7)."""

from __future__ import annotations

from typing import Protocol


class SessionProxy(Protocol):
    """The operations of an authenticator on a control session.

    Each method returns whether its message could be sent; if not, the hook is called again later.
    """

    @property
    def session_id(self) -> int:
        """Id of the control session."""

    def authenticate(self, principal: bytes) -> bool:
        """Accept the client under a name, the principal, that authorisation services receive."""

    def challenge(self, encoded_challenge: bytes) -> bool:
        """Send a challenge to the client."""

    def reject(self) -> None:
        """Reject the client."""


class Authenticator(Protocol):
    """Decides which clients may connect. All methods run on the agent that has the sessions.

    Three optional methods are called where an authenticator has them:
    ``on_source(session_id, source)`` before a connect request, with the client's address and port
    or ``aeron:ipc``, ``on_session_closed(session_id)`` when a control session has ended, and
    ``close()`` when the archive has.
    """

    def on_connect_request(self, session_id: int, credentials: bytes, now_ms: int) -> None:
        """Take the credentials of a connect request; nothing can be answered yet."""

    def on_connected_session(self, session: SessionProxy, now_ms: int) -> None:
        """Decide about a client that can be answered; called every 200 ms until it is done."""

    def on_challenge_response(self, session_id: int, credentials: bytes, now_ms: int) -> None:
        """Take a client's answer to a challenge."""

    def on_challenged_session(self, session: SessionProxy, now_ms: int) -> None:
        """Decide about a challenged client; called every duty cycle until a decision is sent."""


class AuthorisationService(Protocol):
    """Decides which requests a client may send."""

    def is_authorised(
        self, protocol_id: int, action_id: int, kind: object, principal: bytes
    ) -> bool:
        """Return whether a principal may send a request with a template id."""


class NoChallenges:
    """The part of an authenticator that is the same in all that never challenge a client."""

    def on_challenge_response(self, session_id: int, credentials: bytes, now_ms: int) -> None:
        """Ignore the answer; there are no challenges."""

    def on_challenged_session(self, session: SessionProxy, now_ms: int) -> None:  # noqa: ARG002
        """Reject; there are no challenges."""
        session.reject()


class AcceptAll(NoChallenges):
    """Accepts every client with an empty principal, as the reference's default authenticator."""

    def on_connect_request(self, session_id: int, credentials: bytes, now_ms: int) -> None:
        """Ignore the credentials."""

    def on_connected_session(self, session: SessionProxy, now_ms: int) -> None:  # noqa: ARG002
        """Accept the client."""
        session.authenticate(b"")


class FixedAuthorisation:
    """An authorisation service that allows all requests, or denies all."""

    def __init__(self, *, allowed: bool) -> None:
        self._allowed = allowed

    def is_authorised(
        self,
        protocol_id: int,  # noqa: ARG002
        action_id: int,  # noqa: ARG002
        kind: object,  # noqa: ARG002
        principal: bytes,  # noqa: ARG002
    ) -> bool:
        """Return the fixed decision."""
        return self._allowed
