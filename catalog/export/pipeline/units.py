"""The units of work of a plan, and their results.

One task reads a unit, which has ranges of one stream in one archive. The plan says where they end,
however far a recording has come when the task runs, so that a task that is repeated reads the same.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from aerolog.catalog.export.manifest import FileEntry, RangeEntry
from aerolog.transport.secrets import repr_without_secrets

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Slice:
    """A range of one recording.

    Attributes:
        recording_id: in the unit's archive.
        from_position: where a message begins.
        until_position: where reading ends.
        is_active: whether the recording may go on, so that a message that is not whole yet is left
            to the next run.
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
        """Length of the range in bytes."""
        return self.until_position - self.from_position


@repr_without_secrets
@dataclass(frozen=True, slots=True)
class Unit:
    """The work of one task.

    Attributes:
        index: number of the unit in its plan, from 0.
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
        """Length of all ranges in bytes."""
        return sum(part.length for part in self.slices)


@dataclass(frozen=True, slots=True)
class UnitResult:
    """The result of a unit.

    Attributes:
        index: number of the unit in its plan.
        ranges: that were read.
        files: that are staged.
        rejects: the first rejects: recording id, position, reason.
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
        """The result as a text, in which form a task returns it."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> UnitResult:
        """The result from the text of a task."""
        values: dict[str, Any] = json.loads(text)
        return cls(
            index=values["index"],
            ranges=[RangeEntry(**one) for one in values["ranges"]],
            files=[FileEntry(**one) for one in values["files"]],
            rejects=tuple((one[0], one[1], one[2]) for one in values["rejects"]),
            kept=tuple((name, count) for name, count in values["kept"]),
            failure=values["failure"],
        )
