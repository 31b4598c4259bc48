"""Who a client says it is, and how it proves it (spec archive-protocol 7).

A supplier gives the bytes of the connect request and answers a challenge. What is sent is not
encrypted: HMAC proves knowledge of a key without sending it, a password is sent as it is.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field
from typing import Final, Protocol

from aerolog.transport.errors import ConfigurationError

HMAC_CHALLENGE_PREFIX: Final = b"aerolog-hmac-sha256:"
HMAC_NONCE_LENGTH: Final = 32
HMAC_KEY_LENGTH_MIN: Final = 16


class CredentialsSupplier(Protocol):
    """Asked when a client connects; the reference's hook of the same name."""

    def encoded_credentials(self) -> bytes:
        """Bytes of the connect request; empty for none."""

    def on_challenge(self, encoded_challenge: bytes) -> bytes:
        """The answer to an archive that asks for proof."""


@dataclass(frozen=True, slots=True)
class StaticCredentials:
    """The same bytes always, for archives that do not ask further.

    Attributes:
        credentials: of the connect request.
        answer: to a challenge; by default an archive that sends one is refused.
    """

    credentials: bytes = field(default=b"", repr=False)
    answer: bytes | None = field(default=None, repr=False)

    def encoded_credentials(self) -> bytes:
        """The bytes."""
        return self.credentials

    def on_challenge(self, encoded_challenge: bytes) -> bytes:  # noqa: ARG002 - the same always
        """The fixed answer.

        Raises:
            ConfigurationError: there is none.
        """
        if self.answer is None:
            raise ConfigurationError(
                "the archive asks for proof of identity, which these credentials cannot give"
            )
        return self.answer


@dataclass(frozen=True, slots=True)
class PasswordCredentials:
    """A user and his password, sent as ``user:password`` in UTF-8, readable on the way.

    Raises:
        ConfigurationError: a user without a name, or with a colon in it.
    """

    user: str
    password: str = field(repr=False)

    def __post_init__(self) -> None:
        check_user(self.user)

    def encoded_credentials(self) -> bytes:
        """User and password."""
        return f"{self.user}:{self.password}".encode()

    def on_challenge(self, encoded_challenge: bytes) -> bytes:  # noqa: ARG002 - answers none
        """Refused: whoever takes a password has nothing more to ask.

        Raises:
            ConfigurationError: always.
        """
        raise ConfigurationError(
            "the archive asks for proof of identity after a password: it uses another authenticator"
        )


@dataclass(frozen=True, slots=True)
class HmacCredentials:
    """A user who proves that he has a key, which is not sent.

    Attributes:
        user: name, sent in UTF-8 with the connect request.
        key: shared with the archive, at least 16 bytes and hard to guess.

    Raises:
        ConfigurationError: a name or a key that cannot be used.
    """

    user: str
    key: bytes = field(repr=False)

    def __post_init__(self) -> None:
        check_user(self.user)
        if len(self.key) < HMAC_KEY_LENGTH_MIN:
            raise ConfigurationError(
                f"an HMAC key has at least {HMAC_KEY_LENGTH_MIN} bytes, this one {len(self.key)}"
            )

    def encoded_credentials(self) -> bytes:
        """The name."""
        return self.user.encode()

    def on_challenge(self, encoded_challenge: bytes) -> bytes:
        """The proof.

        Raises:
            ConfigurationError: the challenge is not one of this kind; nothing else is signed.
        """
        if len(encoded_challenge) != len(
            HMAC_CHALLENGE_PREFIX
        ) + HMAC_NONCE_LENGTH or not encoded_challenge.startswith(HMAC_CHALLENGE_PREFIX):
            raise ConfigurationError(
                "the archive's challenge is none of HMAC-SHA256: it uses another authenticator"
            )
        return hmac_answer(self.key, self.user.encode(), encoded_challenge)


def hmac_answer(key: bytes, user: bytes, challenge: bytes) -> bytes:
    """What proves the knowledge of a key: HMAC-SHA256 of user, a zero byte and the challenge."""
    return hmac.new(key, user + b"\0" + challenge, hashlib.sha256).digest()


def check_user(user: str) -> str:
    """A name that files and credentials can carry.

    Raises:
        ConfigurationError: it is empty, or has a colon or control characters in it.
    """
    if not user or ":" in user or not user.isprintable() or user != user.strip():
        raise ConfigurationError(
            f"user {user!r}: a name is not empty, and has no colons, no control characters and no"
            " blanks around it"
        )
    return user
