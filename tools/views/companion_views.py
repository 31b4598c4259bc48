"""What lies beside an archive's recordings, for looking: time indexes, health, retention.

Plain values, read by `ArchiveView`. Times are epoch milliseconds unless the name says otherwise.
What is missing is None: an archive of the reference has none of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aerolog.archive.retention.holds import Hold
    from aerolog.archive.retention.journal import Run


@dataclass(frozen=True, slots=True)
class IndexView:
    """The time index of a recording.

    Attributes:
        source: where its times come from: ``clock`` or ``channel``; ``descriptor`` where there is a
            file that is not used.
        entries: how many entries the index has.
        size_bytes: the length of the index's file.
        first_time_ns: the time of the first entry, epoch nanoseconds; None without entries.
        last_time_ns: the time of the last entry.
        end_position: the position up to which it knows times; None without entries.
        is_rebuilt: whether it was made after the recording, from what it is.
        problems: what of it cannot be used, and why; in words.
        is_unreadable: whether the file may be sound, and only cannot be read.
    """

    source: str
    entries: int = 0
    size_bytes: int = 0
    first_time_ns: int | None = None
    last_time_ns: int | None = None
    end_position: int | None = None
    is_rebuilt: bool = False
    problems: tuple[str, ...] = ()
    is_unreadable: bool = False


@dataclass(frozen=True, slots=True)
class SegmentHealth:
    """A closed segment that is not sound: its file's first position, its state, and why."""

    base_position: int
    state: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class HealthView:
    """What verification knows of a recording.

    Attributes:
        state: the worst of its segments: ``sound``, ``unchecked``, ``unreadable``, ``changed``,
            ``missing`` or ``damaged``.
        segments: how many of its closed segments are in which state.
        faults: those that are damaged, changed, missing or cannot be read.
        oldest_ms: when the segment was verified that waits longest to be verified again; None
            when there is none yet.
        problems: what of the file cannot be used, and why; in words.
    """

    state: str
    segments: Mapping[str, int] = field(default_factory=dict)
    faults: tuple[SegmentHealth, ...] = ()
    oldest_ms: int | None = None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RetentionView:
    """What retention has done, and what it must not do.

    Attributes:
        is_running: whether a run has the folder now.
        last_run: the latest one, None before the first.
        runs: how many there were.
        files: segment files that went, in all runs.
        bytes: bytes in these files.
        holds: all that were not released, those that have ended, too.
        problems: what cannot be read, in words.
    """

    is_running: bool = False
    last_run: Run | None = None
    runs: int = 0
    files: int = 0
    bytes: int = 0
    holds: tuple[Hold, ...] = ()
    problems: tuple[str, ...] = ()
