"""The name that a client gives to an archive or a cluster, and its proof (spec archive-protocol 7).

A supplier provides the bytes of the connect request and answers a challenge. Nothing is encrypted:
HMAC proves the knowledge of a key without sending it, while a password is sent in plain text.
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
    """What a client asks for credentials when it connects; named as the reference's interface."""

    def encoded_credentials(self) -> bytes:
        """Return the credentials of the connect request, empty for none."""

    def on_challenge(self, encoded_challenge: bytes) -> bytes:
        """Return the answer to a challenge."""


@dataclass(frozen=True, slots=True)
class StaticCredentials:
    """Fixed credentials for authenticators that send no challenge, or always the same one.

    Attributes:
        credentials: the bytes of the connect request.
        answer: the answer to a challenge; without one a challenge raises an error.
    """

    credentials: bytes = field(default=b"", repr=False)
    answer: bytes | None = field(default=None, repr=False)

    def encoded_credentials(self) -> bytes:
        """Return the fixed credentials."""
        return self.credentials

    def on_challenge(self, encoded_challenge: bytes) -> bytes:  # noqa: ARG002 - the same always
        """Return the fixed answer.

        Raises:
            ConfigurationError: no answer was given.
        """
        if self.answer is None:
            raise ConfigurationError(
                "the other side asks for proof of identity, which these credentials cannot give"
            )
        return self.answer


@dataclass(frozen=True, slots=True)
class PasswordCredentials:
    """A user name and password, sent in plain text as ``user:password`` in UTF-8.

    Raises:
        ConfigurationError: ``check_user`` refuses the user name.
    """

    user: str
    password: str = field(repr=False)

    def __post_init__(self) -> None:
        check_user(self.user)

    def encoded_credentials(self) -> bytes:
        """Return ``user:password``."""
        return f"{self.user}:{self.password}".encode()

    def on_challenge(self, encoded_challenge: bytes) -> bytes:  # noqa: ARG002 - answers none
        """Refuse the challenge: an authenticator that takes passwords sends none.

        Raises:
            ConfigurationError: always.
        """
        raise ConfigurationError(
            "the other side asks for proof of identity after a password: it uses another"
            " authenticator"
        )


@dataclass(frozen=True, slots=True)
class HmacCredentials:
    """A user name and a key, whose knowledge is proved without sending it.

    Attributes:
        user: the name, sent in UTF-8 with the connect request.
        key: a secret shared with the authenticator, at least 16 bytes and hard to guess.

    Raises:
        ConfigurationError: ``check_user`` refuses the user name, or the key is too short.
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
        """Return the user name."""
        return self.user.encode()

    def on_challenge(self, encoded_challenge: bytes) -> bytes:
        """Return the HMAC that proves the knowledge of the key.

        Raises:
            ConfigurationError: the challenge is not one of HMAC-SHA256; nothing else is signed.
        """
        if len(encoded_challenge) != len(
            HMAC_CHALLENGE_PREFIX
        ) + HMAC_NONCE_LENGTH or not encoded_challenge.startswith(HMAC_CHALLENGE_PREFIX):
            raise ConfigurationError(
                "the challenge is not one of HMAC-SHA256: it uses another authenticator"
            )
        return hmac_answer(self.key, self.user.encode(), encoded_challenge)


def hmac_answer(key: bytes, user: bytes, challenge: bytes) -> bytes:
    """Return the HMAC-SHA256, under the key, of the user, a zero byte and the challenge."""
    return hmac.new(key, user + b"\0" + challenge, hashlib.sha256).digest()


def check_user(user: str) -> str:
    """Return a user name unchanged after checking that files and credentials can carry it.

    Raises:
        ConfigurationError: the name is empty, has blanks around it, or contains a colon or control
            characters.
    """
    if not user or ":" in user or not user.isprintable() or user != user.strip():
        raise ConfigurationError(
            f"user {user!r}: a name is not empty, and has no colons, no control characters and no"
            " blanks around it"
        )
    return user
