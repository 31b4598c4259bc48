"""An archive's event log: what its conductor, recorder and replayer tell it.

Switched on by ``aeron.event.archive.log``. Without it there is `NO_EVENTS`, whose methods do
nothing. No data passes here: only requests, answers and changes of state.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from aerolog.archive.service.event_lines import MESSAGE_EVENTS, ArchiveEvent, dissect
from aerolog.transport.events.component_events import Component, ComponentEvents
from aerolog.transport.events.event_codes import ARCHIVE
from aerolog.transport.events.event_fields import text_field
from aerolog.transport.events.properties import EVENT_ARCHIVE_LOG, EVENT_ARCHIVE_LOG_DISABLE

if TYPE_CHECKING:
    from aerolog.transport.concurrent.clock import Clock
    from aerolog.transport.config.settings import Settings

E = ArchiveEvent
_COMPONENT: Final = Component(
    ARCHIVE, "ARCHIVE", ArchiveEvent, EVENT_ARCHIVE_LOG, EVENT_ARCHIVE_LOG_DISABLE, dissect
)
_TEMPLATE_AT: Final = 2


class NoArchiveEvents:
    """Logs nothing: what every archive has whose ``aeron.event.archive.log`` is empty."""

    def close(self) -> None:
        """Write what is left."""

    def message(self, encoded: bytes) -> None:
        """A message of the control protocol came, or went; bytes with its header."""

    def control_session(self, session_id: int, old: str, new: str, reason: str) -> None:
        """A control session is in another state."""

    def recording(
        self, recording_id: int, position: int, old: str, new: str, reason: str = ""
    ) -> None:
        """A recording is in another state."""

    def replay(
        self,
        replay_session_id: int,
        recording_id: int,
        position: int,
        old: str,
        new: str,
        reason: str = "",
    ) -> None:
        """A replay is in another state."""

    def replay_failed(self, replay_session_id: int, recording_id: int, text: str) -> None:
        """A replay ends in an error."""

    def replication(
        self,
        replication_id: int,
        src_recording_id: int,
        dst_recording_id: int,
        position: int,
        old: str,
        new: str,
        reason: str = "",
    ) -> None:
        """A replication is in another state."""

    def replication_done(self, *numbers: int, closed: bool, ended: bool, synced: bool) -> None:
        """A replication has all that it was to have; eight numbers, as `event_lines` names them."""

    def catalog_resized(self, old_length: int, new_length: int) -> None:
        """The catalog got more room; lengths in bytes."""


#: The log of an archive that logs nothing.
NO_EVENTS: Final = NoArchiveEvents()


class ArchiveEvents(ComponentEvents[ArchiveEvent], NoArchiveEvents):
    """Logs some of an archive's events."""

    def message(self, encoded: bytes) -> None:
        """A message of the control protocol came, or went; bytes with its header."""
        template_id = int.from_bytes(encoded[_TEMPLATE_AT : _TEMPLATE_AT + 2], "little")
        event = MESSAGE_EVENTS.get(template_id)
        if event is not None:
            self._write(event, encoded)

    def control_session(self, session_id: int, old: str, new: str, reason: str) -> None:
        """A control session is in another state."""
        self._write(
            E.CONTROL_SESSION_STATE_CHANGE,
            struct.pack("<q", session_id) + _change(old, new, reason),
        )

    def recording(
        self, recording_id: int, position: int, old: str, new: str, reason: str = ""
    ) -> None:
        """A recording is in another state."""
        self._write(
            E.RECORDING_SESSION_STATE_CHANGE,
            struct.pack("<qq", recording_id, position) + _change(old, new, reason),
        )

    def replay(
        self,
        replay_session_id: int,
        recording_id: int,
        position: int,
        old: str,
        new: str,
        reason: str = "",
    ) -> None:
        """A replay is in another state."""
        self._write(
            E.REPLAY_SESSION_STATE_CHANGE,
            struct.pack("<qqq", replay_session_id, recording_id, position)
            + _change(old, new, reason),
        )

    def replay_failed(self, replay_session_id: int, recording_id: int, text: str) -> None:
        """A replay ends in an error."""
        self._write(
            E.REPLAY_SESSION_ERROR,
            struct.pack("<qq", replay_session_id, recording_id) + text_field(text),
        )

    def replication(
        self,
        replication_id: int,
        src_recording_id: int,
        dst_recording_id: int,
        position: int,
        old: str,
        new: str,
        reason: str = "",
    ) -> None:
        """A replication is in another state."""
        self._write(
            E.REPLICATION_SESSION_STATE_CHANGE,
            struct.pack("<qqqq", replication_id, src_recording_id, dst_recording_id, position)
            + _change(old, new, reason),
        )

    def replication_done(self, *numbers: int, closed: bool, ended: bool, synced: bool) -> None:
        """A replication has all that it was to have; eight numbers, as `event_lines` names them."""
        self._write(
            E.REPLICATION_SESSION_DONE, struct.pack("<8q3b", *numbers, closed, ended, synced)
        )

    def catalog_resized(self, old_length: int, new_length: int) -> None:
        """The catalog got more room; lengths in bytes."""
        self._write(E.CATALOG_RESIZE, struct.pack("<qq", old_length, new_length))


def archive_events(settings: Settings, clock: Clock) -> NoArchiveEvents:
    """The event log that an archive's properties ask for.

    An event that there is not is told of on stderr and passed over.

    Args:
        settings: the archive's.
        clock: its time.

    Raises:
        ConfigurationError: a buffer length that is no power of two.
        OSError: the file cannot be opened.
    """
    found = _COMPONENT.hold(settings, clock)
    return NO_EVENTS if found is None else ArchiveEvents(_COMPONENT, *found)


def _change(old: str, new: str, reason: str) -> bytes:
    return text_field(f"{old} -> {new}") + text_field(reason)
