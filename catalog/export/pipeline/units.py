"""What a plan is made of: units of work with fixed ranges, and what one of them came to.

A unit is read by one task, from one archive and of one stream. Its ranges end where the plan says,
however far a recording has come when the task runs: so a task that is repeated reads the same.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from aerolog.catalog.export.manifest import FileEntry, RangeEntry

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Slice:
    """A range of one recording.

    Attributes:
        recording_id: in the unit's archive.
        from_position: of a message.
        until_position: up to which to read.
        is_active: the recording may go on: a message that is not whole yet is left to the next run.
        start_day: days from 1970-01-01 (UTC) to the day on which the recording began.
        times: what of the recording's time index counts, see ``SettledTimes``.
    """

    recording_id: int
    from_position: int
    until_position: int
    is_active: bool
    start_day: int
    times: tuple[int, ...] = ()

    @property
    def length(self) -> int:
        """Bytes of the stream."""
        return self.until_position - self.from_position


@dataclass(frozen=True, slots=True)
class Unit:
    """The work of one task.

    Attributes:
        index: in its plan.
        place: of the archive.
        stream_id: of all slices.
        slices: in the order in which they are read.
    """

    index: int
    place: str
    stream_id: int
    slices: tuple[Slice, ...]

    @property
    def length(self) -> int:
        """Bytes of the streams."""
        return sum(part.length for part in self.slices)


@dataclass(frozen=True, slots=True)
class UnitResult:
    """The result of a unit.

    Attributes:
        index: of the unit.
        ranges: loaded.
        files: staged.
        rejects: first reasons, with recording id and position.
        kept: by rule, rows that break it and are loaded all the same.
        failure: why it cannot be loaded, None when it could.
    """

    index: int
    ranges: Sequence[RangeEntry] = ()
    files: Sequence[FileEntry] = ()
    rejects: tuple[tuple[int, int, str], ...] = ()
    kept: tuple[tuple[str, int], ...] = ()
    failure: str | None = None

    def to_json(self) -> str:
        """As a text, which is how a task hands it over."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> UnitResult:
        """From a task's text."""
        values: dict[str, Any] = json.loads(text)
        return cls(
            index=values["index"],
            ranges=[RangeEntry(**one) for one in values["ranges"]],
            files=[FileEntry(**one) for one in values["files"]],
            rejects=tuple((one[0], one[1], one[2]) for one in values["rejects"]),
            kept=tuple((name, count) for name, count in values["kept"]),
            failure=values["failure"],
        )
