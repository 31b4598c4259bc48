"""An archive's event log, written by its conductor, recorder and replayer.

The property ``aeron.event.archive.log`` switches it on. Without it `NO_EVENTS` is used, which
writes nothing. Only requests, answers and changes of state are logged, no recorded data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.archive.service.event_lines import MESSAGE_EVENTS, ArchiveEventCode, dissect
from aerolog.transport.events.component_events import ComponentEvents, EventComponent
from aerolog.transport.events.event_codes import ARCHIVE
from aerolog.transport.events.properties import EVENT_ARCHIVE_LOG, EVENT_ARCHIVE_LOG_DISABLE

if TYPE_CHECKING:
    from aerolog.transport.concurrent.clock import Clock
    from aerolog.transport.config.settings import Settings

E = ArchiveEventCode
_COMPONENT: Final = EventComponent(
    ARCHIVE, "ARCHIVE", ArchiveEventCode, EVENT_ARCHIVE_LOG, EVENT_ARCHIVE_LOG_DISABLE, dissect
)
_TEMPLATE_AT: Final = 2


class ArchiveEvents(ComponentEvents[ArchiveEventCode]):
    """The event log of an archive, which writes the configured events."""

    def message(self, encoded: bytes) -> None:
        """Log a message of the control protocol, received or sent; the bytes include its header."""
        template_id = int.from_bytes(encoded[_TEMPLATE_AT : _TEMPLATE_AT + 2], "little")
        event = MESSAGE_EVENTS.get(template_id)
        if event is not None:
            self._write(event, encoded)

    def control_session(self, session_id: int, old: str, new: str, reason: str) -> None:
        """Log a control session's change of state."""
        self._write_fields(
            E.CONTROL_SESSION_STATE_CHANGE, "<q", (session_id,), f"{old} -> {new}", reason
        )

    def recording(
        self, recording_id: int, position: int, old: str, new: str, reason: str = ""
    ) -> None:
        """Log a recording's change of state."""
        self._write_fields(
            E.RECORDING_SESSION_STATE_CHANGE,
            "<qq",
            (recording_id, position),
            f"{old} -> {new}",
            reason,
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
        """Log a replay's change of state."""
        self._write_fields(
            E.REPLAY_SESSION_STATE_CHANGE,
            "<qqq",
            (replay_session_id, recording_id, position),
            f"{old} -> {new}",
            reason,
        )

    def replay_failed(self, replay_session_id: int, recording_id: int, text: str) -> None:
        """Log the error that ends a replay."""
        self._write_fields(E.REPLAY_SESSION_ERROR, "<qq", (replay_session_id, recording_id), text)

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
        """Log a replication's change of state."""
        self._write_fields(
            E.REPLICATION_SESSION_STATE_CHANGE,
            "<qqqq",
            (replication_id, src_recording_id, dst_recording_id, position),
            f"{old} -> {new}",
            reason,
        )

    def replication_done(self, *numbers: int, closed: bool, ended: bool, synced: bool) -> None:
        """Log the end of a replication, with the eight numbers that `event_lines` names."""
        self._write_fields(E.REPLICATION_SESSION_DONE, "<8q3b", (*numbers, closed, ended, synced))

    def catalog_resized(self, old_length: int, new_length: int) -> None:
        """Log an extension of the catalog; lengths in bytes."""
        self._write_fields(E.CATALOG_RESIZE, "<qq", (old_length, new_length))


#: The event log of an archive that logs nothing.
NO_EVENTS: Final = ArchiveEvents(_COMPONENT)


def archive_events(settings: Settings, clock: Clock) -> ArchiveEvents:
    """Return the event log that an archive's properties configure.

    Unknown event names are reported on stderr and ignored.

    Args:
        settings: the archive's settings.
        clock: source of the timestamps.

    Raises:
        ConfigurationError: the buffer length is not a power of two.
        OSError: the file cannot be opened.
    """
    found = _COMPONENT.hold(settings, clock)
    return NO_EVENTS if found is None else ArchiveEvents(_COMPONENT, *found)
