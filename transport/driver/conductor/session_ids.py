"""Session ids that the driver assigns, session ids in use, and entity tags.

Spec cnc-and-commands 14.1, 19.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.transport.driver.conductor.command_error import invalid_channel

if TYPE_CHECKING:
    from collections.abc import Container

    from aerolog.transport.uri import ChannelUri

_NO_TAG = -1

_INT32_MODULUS = 1 << 32
_INT32_MAX = (1 << 31) - 1


def wrap_int32(value: int) -> int:
    """Return the signed 32-bit number with the same low 32 bits."""
    value &= _INT32_MODULUS - 1
    return value - _INT32_MODULUS if value > _INT32_MAX else value


class SessionIds:
    """A sequence of int32 ids that skips a reserved range and those in use.

    Args:
        start: first id to consider, any int32.
        reserved_low: lowest id that is never handed out.
        reserved_high: highest id that is never handed out.
    """

    def __init__(self, start: int, reserved_low: int, reserved_high: int) -> None:
        self._next = wrap_int32(start)
        self._reserved_low = reserved_low
        self._reserved_high = reserved_high

    def take(self, in_use: Container[int]) -> int:
        """Return the next id that is neither reserved nor in use, and advance the sequence."""
        while True:
            session_id = self._next
            if self._reserved_low <= session_id <= self._reserved_high:
                session_id = wrap_int32(self._reserved_high + 1)
            self._next = wrap_int32(session_id + 1)
            if session_id not in in_use:
                return session_id


class PublicationSessions:
    """Sessions of all publications that are not done, by stream and media, and their entity tags.

    A media is the canonical form of a UDP channel, or ``ipc``. An entity tag belongs to one
    publication, whatever its media.

    Args:
        ids: the sequence of new session ids.
    """

    def __init__(self, ids: SessionIds) -> None:
        self._ids = ids
        self._in_use: dict[int, dict[str, set[int]]] = {}
        self._tagged: dict[int, str] = {}

    def take(self, stream_id: int, media: str) -> int:
        """Return a session id for a new publication."""
        return self._ids.take(self._in_use.get(stream_id, {}).get(media, ()))

    def take_for_any(self, stream_id: int) -> int:
        """Return an id that no publication of a stream has, whatever its media."""
        taken: set[int] = set()
        return self._ids.take(taken.union(*self._in_use.get(stream_id, {}).values()))

    def is_active(self, session_id: int, stream_id: int, media: str) -> bool:
        """Return whether a publication has that session."""
        return session_id in self._in_use.get(stream_id, {}).get(media, ())

    def add(self, session_id: int, stream_id: int, media: str) -> None:
        """Record that a publication has a session."""
        self._in_use.setdefault(stream_id, {}).setdefault(media, set()).add(session_id)

    def discard(self, session_id: int, stream_id: int, media: str) -> None:
        """Record that a publication's session has ended; an unknown one is no error."""
        by_media = self._in_use.get(stream_id, {})
        sessions = by_media.get(media, set())
        sessions.discard(session_id)
        if not sessions:
            by_media.pop(media, None)
        if not by_media:
            self._in_use.pop(stream_id, None)

    def check_tag_free(self, tag: int, uri: ChannelUri) -> None:
        """Refuse a publication whose entity tag another publication has.

        Raises:
            ControlProtocolError: with the reference's text.
        """
        if tag in self._tagged:
            raise invalid_channel(
                f"{tag} entityTag already in use: existingChannel={self._tagged[tag]} channel={uri}"
            )

    def take_tag(self, tag: int, channel: str) -> None:
        """Record a publication's entity tag, if it has one."""
        if tag != _NO_TAG:
            self._tagged[tag] = channel

    def free_tag(self, tag: int) -> None:
        """Release a publication's entity tag; the value for none is no error."""
        self._tagged.pop(tag, None)
