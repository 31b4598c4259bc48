"""Which counters and streams are shown (spec stat-tools 2.1)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from aerolog.tools.views import counter_keys
from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from aerolog.tools.views.counters_snapshot import CountersSnapshot

#: Names of the filters, in the reference's order.
NAMES: Final = ("type", "identity", "session", "stream", "channel")
#: Those of the reference's filters, which ask further stream counters for nothing but the type.
_STREAM_TYPES: Final = frozenset(
    {
        CounterType.PUBLISHER_LIMIT,
        CounterType.SENDER_POSITION,
        CounterType.RECEIVER_HWM,
        CounterType.SUBSCRIBER_POSITION,
        CounterType.RECEIVER_POSITION,
        CounterType.SENDER_LIMIT,
        CounterType.PER_IMAGE,
        CounterType.PUBLISHER_POSITION,
    }
)
_CHANNEL_TYPES: Final = frozenset(
    {CounterType.SEND_CHANNEL_STATUS, CounterType.RECEIVE_CHANNEL_STATUS}
)


@dataclass(frozen=True, slots=True)
class Filters:
    """Patterns that must be found somewhere in a text; None passes everything.

    Attributes:
        type: in a counter's type id.
        identity: in a system counter's id or a stream counter's registration id.
        session: in a stream counter's session id.
        stream: in a stream counter's stream id.
        channel: in the channel of a stream's or a channel status counter's key.
    """

    type: re.Pattern[str] | None = None
    identity: re.Pattern[str] | None = None
    session: re.Pattern[str] | None = None
    stream: re.Pattern[str] | None = None
    channel: re.Pattern[str] | None = None

    @classmethod
    def of(cls, patterns: Mapping[str, str | None]) -> Filters:
        """Makes filters from patterns by their names.

        Raises:
            ConfigurationError: a pattern that does not compile.
        """
        found = cls()
        for name, pattern in patterns.items():
            if pattern is not None:
                found = found.with_pattern(name, pattern)
        return found

    def with_pattern(self, name: str, pattern: str) -> Filters:
        """These and one more; raises as ``of``."""
        try:
            return replace(self, **{name: re.compile(pattern)})
        except re.error as error:
            raise ConfigurationError(
                f"{name}: {pattern!r} is no regular expression: {error}"
            ) from None

    @property
    def is_empty(self) -> bool:
        """Whether every counter passes."""
        return all(getattr(self, name) is None for name in NAMES)

    def rows(self, snapshot: CountersSnapshot) -> list[int]:
        """Rows of the counters that pass. A filter is only asked where it applies."""
        if self.is_empty:
            return list(range(len(snapshot)))
        return [row for row in range(len(snapshot)) if self._passes(snapshot, row)]

    def _passes(self, snapshot: CountersSnapshot, row: int) -> bool:
        type_id = snapshot.type_ids[row]
        if not _found(self.type, type_id):
            return False
        if type_id == CounterType.SYSTEM:
            return _found(self.identity, int.from_bytes(snapshot.key(row)[:4], "little"))
        if type_id in _CHANNEL_TYPES:
            return _found(self.channel, lambda: counter_keys.channel_key(snapshot.key(row)))
        if type_id not in _STREAM_TYPES:
            return True
        key = counter_keys.stream_key(snapshot.key(row))
        return _found(self.identity, key.registration_id) and self.passes_stream(
            key.session_id, key.stream_id, key.channel
        )

    def passes_stream(self, session_id: int, stream_id: int, channel: str) -> bool:
        """Whether a stream passes."""
        return (
            _found(self.session, session_id)
            and _found(self.stream, stream_id)
            and _found(self.channel, channel)
        )


def _found(pattern: re.Pattern[str] | None, value: int | str | Callable[[], str]) -> bool:
    if pattern is None:
        return True
    text = value() if callable(value) else str(value)
    return pattern.search(text) is not None
