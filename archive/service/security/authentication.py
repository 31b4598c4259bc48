"""Who may connect and who may do what (spec archive-protocol 7): the hooks, and the plain ones."""

from __future__ import annotations

from typing import Protocol


class SessionProxy(Protocol):
    """What an authenticator may do with a control session.

    Each method says whether its message could be sent; if not, the hook is called again later.
    """

    @property
    def session_id(self) -> int:
        """Id of the control session."""

    def authenticate(self, principal: bytes) -> bool:
        """Accept the client, under a name that the authorisation service is asked with."""

    def challenge(self, encoded_challenge: bytes) -> bool:
        """Ask the client for proof."""

    def reject(self) -> None:
        """Refuse the client."""


class Authenticator(Protocol):
    """Decides about clients that connect. All hooks run on the archive's conductor.

    Two more methods are called where an authenticator has them: ``on_session_closed(session_id)``
    when a control session has ended, and ``close()`` when the archive has.
    """

    def on_connect_request(self, session_id: int, credentials: bytes, now_ms: int) -> None:
        """A client has asked to connect; nothing can be answered yet."""

    def on_connected_session(self, session: SessionProxy, now_ms: int) -> None:
        """The client hears us now; called every 200 ms until a decision is sent."""

    def on_challenge_response(self, session_id: int, credentials: bytes, now_ms: int) -> None:
        """The client has answered a challenge."""

    def on_challenged_session(self, session: SessionProxy, now_ms: int) -> None:
        """The client was challenged; called every duty cycle until a decision is sent."""


class AuthorisationService(Protocol):
    """Decides about requests."""

    def is_authorised(
        self, protocol_id: int, action_id: int, kind: object, principal: bytes
    ) -> bool:
        """Whether a principal may send a request of a template id."""


class AcceptAll:
    """Accepts every client, without a name: the reference's default authenticator."""

    def on_connect_request(self, session_id: int, credentials: bytes, now_ms: int) -> None:
        """Nothing to remember."""

    def on_connected_session(self, session: SessionProxy, now_ms: int) -> None:  # noqa: ARG002
        """Accept."""
        session.authenticate(b"")

    def on_challenge_response(self, session_id: int, credentials: bytes, now_ms: int) -> None:
        """Nothing was asked."""

    def on_challenged_session(self, session: SessionProxy, now_ms: int) -> None:
        """Never challenged."""


class FixedAuthorisation:
    """Gives every request the same answer."""

    def __init__(self, *, allowed: bool) -> None:
        self._allowed = allowed

    def is_authorised(
        self,
        protocol_id: int,  # noqa: ARG002
        action_id: int,  # noqa: ARG002
        kind: object,  # noqa: ARG002
        principal: bytes,  # noqa: ARG002
    ) -> bool:
        """Yes, or no."""
        return self._allowed
