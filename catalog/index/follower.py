"""Follows an archive live: the catalog is at most one interval between looks behind the folder.

A follower begins with a sync of the whole folder. After that, recording events and the signals of a
client that is handed to it tell at once that something has happened, and a regular look at the
folder finds what nobody announces. In both cases rows are written from the folder: an event that is
lost, late or repeated makes no difference. Driver and archive may stop and start again, and so may
the follower: all its state is in the database.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from aerolog.archive.client.recording_events import RecordingEvents
from aerolog.archive.format.mark_file import ArchiveMarkFile
from aerolog.archive.protocol import RecordingProgress
from aerolog.catalog.index.errors import CatalogLockedError, CatalogUnreachableError
from aerolog.catalog.index.folder_sync import SyncReport, sync_folder, sync_recordings
from aerolog.catalog.index.folder_watch import Changes, FolderWatch
from aerolog.catalog.index.journal import place_of
from aerolog.transport.client import Aeron
from aerolog.transport.errors import AerologError, FileFormatError
from aerolog.transport.resource import Resource
from aerolog.transport.time_units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from aerolog.archive.protocol import RecordingSignalEvent
    from aerolog.catalog.index.recording_catalog import RecordingCatalog
    from aerolog.transport.concurrent.clock import Clock

LOOK_EVERY_S: Final = 1.0
RETRY_S: Final = 2.0
#: With more changed recordings than this, the whole folder is synced.
CHOSEN_MAX: Final = 2000
_DRIVER_TIMEOUT_S: Final = 5.0
_IDLE_S: Final = 0.02


@dataclass(frozen=True, slots=True)
class EventSource:
    """Where an archive publishes its recording events; the mark file tells what is None here.

    Attributes:
        aeron_dir: the folder of the driver that the archive uses.
        channel: the channel of the events.
        stream_id: the stream id of the events.
        wanted: whether to subscribe at all; the folder is looked at in any case.
    """

    aeron_dir: str | None = None
    channel: str | None = None
    stream_id: int | None = None
    wanted: bool = True


class Follower(Resource):
    """Keeps a catalog up to date with an archive's folder. A context manager for one thread.

    Example:
        with Follower(catalog, "aeron-archive", on_report=print) as follower:
            follower.run(until=lambda: stopped)

    Attributes:
        place: the archive's place.
        events: the number of events received.
        is_listening: whether there is a subscription to the archive's events.
    """

    def __init__(
        self,
        catalog: RecordingCatalog,
        archive_dir: str | Path,
        *,
        look_every_s: float = LOOK_EVERY_S,
        event_source: EventSource | None = None,
        on_report: Callable[[SyncReport], object] | None = None,
        on_problem: Callable[[BaseException], object] | None = None,
    ) -> None:
        """Create a follower; it reads nothing yet.

        Args:
            catalog: the catalog to keep up to date.
            archive_dir: the folder of an archive, ours or the reference's; it is only read.
            look_every_s: the time between two looks at the folder, in seconds.
            event_source: where to receive recording events.
            on_report: called with the report of the first sync and of each sync that changed rows.
            on_problem: called with an error that interrupts the follower's work; it keeps trying.
        """
        self.place = place_of(archive_dir)
        self.events = 0
        self._catalog = catalog
        self._look_every_s = look_every_s
        self._on_report = on_report
        self._on_problem = on_problem
        self._told: dict[str, str] = {}
        self._has_synced = False
        self._watch = FolderWatch(self.place, catalog.clock)
        self._due = Changes(is_whole=True)
        self._look_at_ns = 0
        self._subscription = _EventSubscription(
            self.place, event_source or EventSource(), self._tell_of_driver, catalog.clock
        )

    @property
    def is_listening(self) -> bool:
        """Whether there is a subscription to the archive's events."""
        return self._subscription.events is not None

    def on_signal(self, event: RecordingSignalEvent) -> None:
        """Handle a recording signal: a handler for `AeronArchive`."""
        self._due.ids.add(event.recording_id)
        self._look_at_ns = 0

    def turn(self) -> int:
        """Do the work that is due; return how much was done.

        Raises:
            FileNotFoundError: the folder has no catalog, at the first turn.
            CatalogError: the database fails with an error that no retry can resolve.
        """
        heard = self._subscription.poll()
        self.events += len(heard)
        for event in heard:
            self._due.ids.add(event.recording_id)
            if not isinstance(event, RecordingProgress):
                self._look_at_ns = 0
        now_ns = self._catalog.clock.now_ns()
        if now_ns < self._look_at_ns:
            return len(heard)
        self._look_at_ns = now_ns + int(self._look_every_s * NS_PER_S)
        return len(heard) + self._look()

    def run(self, until: Callable[[], bool]) -> None:
        """Follow the archive until ``until`` returns True. The errors are those of `turn`."""
        while not until():
            if not self.turn():
                time.sleep(_IDLE_S)

    def close(self) -> None:
        """Close the connection to the driver; a second call does nothing."""
        self._subscription.close()

    def _look(self) -> int:
        try:
            # The look comes before the sync: changes during the sync are found by the next look.
            self._due.add(self._watch.look())
            if not self._due:
                return 0
            report = self._bring(self._due)
        except (CatalogLockedError, CatalogUnreachableError) as error:
            self._put_off(error)
            return 0
        except (FileNotFoundError, FileFormatError) as error:
            if not self._has_synced:
                raise
            self._put_off(error)
            return 0
        self._told.pop("catalog", None)
        self._due = Changes()
        if self._on_report is not None and not (self._has_synced and report.is_unchanged):
            self._on_report(report)
        self._has_synced = True
        return 0 if report.is_unchanged else 1

    def _bring(self, due: Changes) -> SyncReport:
        if due.is_whole or len(due.ids) > CHOSEN_MAX:
            return sync_folder(self._catalog, self.place)
        return sync_recordings(self._catalog, self.place, sorted(due.ids))

    def _put_off(self, error: BaseException) -> None:
        """Schedule a full sync: the changes of the last look did not get into the tables."""
        self._due.is_whole = True
        self._look_at_ns = self._catalog.clock.now_ns() + int(RETRY_S * NS_PER_S)
        self._tell("catalog", error)

    def _tell_of_driver(self, error: BaseException) -> None:
        self._tell("driver", error)

    def _tell(self, source: str, error: BaseException) -> None:
        # A problem is reported once until it is over.
        if self._on_problem is not None and str(error) != self._told.get(source):
            self._on_problem(error)
        self._told[source] = str(error)


class _EventSubscription:
    """A subscription to the events of the folder's archive, which is retried until it succeeds."""

    def __init__(
        self,
        place: str,
        event_source: EventSource,
        tell: Callable[[BaseException], object],
        clock: Clock,
    ) -> None:
        self._place = place
        self._source = event_source
        self._tell = tell
        self._aeron: Aeron | None = None
        self._clock = clock
        self._try_at_ns = 0
        self.events: RecordingEvents | None = None

    def poll(self) -> list[Any]:
        """Receive the events that have arrived."""
        if not self._source.wanted:
            return []
        if self._aeron is not None and (self._aeron.closed or self._failed()):
            self.close()
        now_ns = self._clock.now_ns()
        if self.events is None and now_ns >= self._try_at_ns:
            self._try_at_ns = now_ns + int(RETRY_S * NS_PER_S)
            self._connect()
        return [] if self.events is None else self.events.poll()

    def close(self) -> None:
        """Close the connection to the driver."""
        events, aeron = self.events, self._aeron
        self.events = self._aeron = None
        if events is not None:
            events.close()
        if aeron is not None:
            aeron.close()

    def _failed(self) -> bool:
        return self.events is not None and self.events.subscription.closed

    def _connect(self) -> None:
        try:
            mark = ArchiveMarkFile.open(self._place)
            if not mark.is_active():
                return
            header = mark.header
        except (FileNotFoundError, FileFormatError):
            return  # No archive has run here yet, or one is about to start.
        event_source = self._source
        channel = event_source.channel or header.events_channel
        stream_id = (
            header.events_stream_id if event_source.stream_id is None else event_source.stream_id
        )
        if not channel:
            return  # The archive publishes no events.
        try:
            self._aeron = Aeron(
                event_source.aeron_dir or header.aeron_directory,
                driver_timeout=_DRIVER_TIMEOUT_S,
                name="aerolog catalog",
                on_error=self._tell,
            )
            self.events = RecordingEvents(self._aeron, channel, stream_id, on_error=self._tell)
        except (AerologError, OSError) as error:
            self.close()
            self._tell(error)
