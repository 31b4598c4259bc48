"""Tokens for requesting a replay on another publication (spec archive-protocol 11.6).

A client that uses a response channel requests its replay on a separate publication, and the archive
answers that publication's image with the replay. The token tells which session the request is from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aerolog.archive.protocol import NULL_VALUE

if TYPE_CHECKING:
    from random import Random

    from aerolog.archive.service.conductor.control_session import ControlSession

_SIGN: Final = 1 << 63


@dataclass(frozen=True, slots=True)
class _Token:
    recording_id: int
    session: ControlSession
    deadline_ns: int


class ReplayTokens:
    """The tokens that were issued and have not expired.

    Args:
        lifetime_ns: how long a token is valid, nanoseconds.
        random: source of tokens, which must be unpredictable.
    """

    def __init__(self, lifetime_ns: int, random: Random) -> None:
        self._lifetime_ns = lifetime_ns
        self._random = random
        self._tokens: dict[int, _Token] = {}

    def __len__(self) -> int:
        return len(self._tokens)

    def issue(self, session: ControlSession, recording_id: int, now_ns: int) -> int:
        """Issue a token for replays of one recording, which need not exist."""
        token = NULL_VALUE
        while token == NULL_VALUE or token in self._tokens:
            token = self._random.getrandbits(64) - _SIGN
        self._tokens[token] = _Token(recording_id, session, now_ns + self._lifetime_ns)
        return token

    def session_of(self, token: int, recording_id: int, now_ns: int) -> ControlSession | None:
        """Return a token's session, None when it is unknown, expired or of another recording."""
        found = self._tokens.get(token)
        if found is None or found.recording_id != recording_id or now_ns > found.deadline_ns:
            return None
        return found.session

    def expire(self, now_ns: int) -> None:
        """Remove expired tokens."""
        # All tokens have the same lifetime, so the oldest is the first.
        while self._tokens:
            token, oldest = next(iter(self._tokens.items()))
            if now_ns <= oldest.deadline_ns:
                return
            del self._tokens[token]

    def drop_session(self, session: ControlSession) -> None:
        """Remove the tokens of a session that has ended."""
        for token in [t for t, found in self._tokens.items() if found.session is session]:
            del self._tokens[token]
