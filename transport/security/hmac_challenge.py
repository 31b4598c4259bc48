"""Proof of a shared key by HMAC-SHA256; the key itself is never sent.

The client sends its name, gets a challenge that is used once, and answers with
``HMAC-SHA256(key, name + zero byte + challenge)``.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from aerolog.transport.credentials import (
    HMAC_CHALLENGE_PREFIX,
    HMAC_KEY_LENGTH_MIN,
    HMAC_NONCE_LENGTH,
    check_user,
    hmac_answer,
)
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.security.watched_file import (
    CHECK_INTERVAL_S,
    WatchedFile,
    lines_of,
)

if TYPE_CHECKING:
    import os

    from aerolog.transport.security.authentication import SessionProxy

USER_LENGTH_MAX: Final = 1024
KEY_LENGTH: Final = 32


def new_key() -> str:
    """Generate a key in the form that key files have: 32 random bytes in hexadecimal."""
    return secrets.token_hex(KEY_LENGTH)


def parse_keys(text: str) -> dict[bytes, bytes]:
    """Parse lines ``user:HEX`` to keys by user.

    Raises:
        ConfigurationError: a line is invalid or a user occurs twice; begins with the line's number.
    """
    found: dict[bytes, bytes] = {}
    for number, line in lines_of(text):
        user, _, digits = line.partition(":")
        try:
            check_user(user)
            key = bytes.fromhex(digits)
        except ValueError as error:
            raise ConfigurationError(f"{number}: expected user:KEY in hexadecimal") from error
        if len(key) < HMAC_KEY_LENGTH_MIN:
            raise ConfigurationError(
                f"{number}: a key has at least {HMAC_KEY_LENGTH_MIN} bytes, not {len(key)}"
            )
        if user.encode() in found:
            raise ConfigurationError(f"{number}: user {user!r} a second time")
        found[user.encode()] = key
    return found


@dataclass(slots=True)
class _Exchange:
    user: bytes
    challenge: bytes | None = None
    answer: bytes | None = field(default=None, repr=False)


class HmacAuthenticator:
    """Challenges every client; the principal is the user name.

    Args:
        path: path of the key file, which only its owner may read; by default a change takes effect
            within a second.
        check_interval_s: shortest time between checks for a changed file, seconds.

    Raises:
        ConfigurationError: the file cannot be used.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, check_interval_s: float = CHECK_INTERVAL_S
    ) -> None:
        self._file = WatchedFile(path, parse_keys, private=True, check_interval_s=check_interval_s)
        self._nobody = secrets.token_bytes(KEY_LENGTH)
        self._exchanges: dict[int, _Exchange] = {}

    def on_connect_request(self, session_id: int, credentials: bytes, now_ms: int) -> None:  # noqa: ARG002
        """Store the user name."""
        if 0 < len(credentials) <= USER_LENGTH_MAX:
            self._exchanges[session_id] = _Exchange(credentials)

    def on_connected_session(self, session: SessionProxy, now_ms: int) -> None:  # noqa: ARG002
        """Challenge known and unknown users alike; reject a client without a name."""
        exchange = self._exchanges.get(session.session_id)
        if exchange is None:
            session.reject()
            return
        if exchange.challenge is None:
            exchange.challenge = HMAC_CHALLENGE_PREFIX + secrets.token_bytes(HMAC_NONCE_LENGTH)
        session.challenge(exchange.challenge)

    def on_challenge_response(self, session_id: int, credentials: bytes, now_ms: int) -> None:  # noqa: ARG002
        """Store the first answer; later ones are ignored."""
        exchange = self._exchanges.get(session_id)
        if exchange is not None and exchange.answer is None:
            exchange.answer = credentials

    def on_challenged_session(self, session: SessionProxy, now_ms: int) -> None:  # noqa: ARG002
        """Accept the correct answer, reject any other; wait while there is none."""
        exchange = self._exchanges.get(session.session_id)
        if exchange is None or exchange.challenge is None:
            session.reject()
            return
        if exchange.answer is None:
            return
        known = self._file.current().get(exchange.user)
        key = self._nobody if known is None else known
        expected = hmac_answer(key, exchange.user, exchange.challenge)
        if hmac.compare_digest(expected, exchange.answer) and known is not None:
            session.authenticate(exchange.user)
        else:
            session.reject()

    def on_session_closed(self, session_id: int) -> None:
        """Remove what is stored about the session."""
        self._exchanges.pop(session_id, None)
