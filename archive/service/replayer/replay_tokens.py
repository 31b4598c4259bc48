"""Tokens with which a replay is asked for on another publication (spec archive-protocol 11.6).

A client behind a response channel asks for its replay on a publication of its own, whose image the
archive answers with the replay; the token says whose request it is.
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
    """The tokens given out and not expired.

    Args:
        lifetime_ns: how long each can be used.
        random: nobody must be able to guess what it gives.
    """

    def __init__(self, lifetime_ns: int, random: Random) -> None:
        self._lifetime_ns = lifetime_ns
        self._random = random
        self._tokens: dict[int, _Token] = {}

    def __len__(self) -> int:
        return len(self._tokens)

    def issue(self, session: ControlSession, recording_id: int, now_ns: int) -> int:
        """A token for replays of one recording; whether there is such a recording is not asked."""
        token = NULL_VALUE
        while token == NULL_VALUE or token in self._tokens:
            token = self._random.getrandbits(64) - _SIGN
        self._tokens[token] = _Token(recording_id, session, now_ns + self._lifetime_ns)
        return token

    def session_of(self, token: int, recording_id: int, now_ns: int) -> ControlSession | None:
        """Whose token it is; None for one that is unknown, too old, or of another recording."""
        found = self._tokens.get(token)
        if found is None or found.recording_id != recording_id or now_ns > found.deadline_ns:
            return None
        return found.session

    def expire(self, now_ns: int) -> None:
        """Forget what is too old."""
        # They all live equally long: the oldest is the first.
        while self._tokens:
            token, oldest = next(iter(self._tokens.items()))
            if now_ns <= oldest.deadline_ns:
                return
            del self._tokens[token]

    def drop_session(self, session: ControlSession) -> None:
        """Forget the tokens of a session that has ended."""
        for token in [t for t, found in self._tokens.items() if found.session is session]:
            del self._tokens[token]
