"""Offsets of a stream: positions of recordings, as Spark keeps them in its checkpoint.

Their form is ``{place: {recording id: {"start": S, "position": P, "ended": B}}}``, with places that
have no secrets. ``start`` is where reading of the recording began, so that a batch that is repeated
covers the same range; ``ended`` tells that the recording had stopped at the position. ``times``,
for recordings with a time index, tells which part of it is used, so that rows of a repeated batch
have the same times.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aerolog.catalog.arrow.record_times import SettledTimes
from aerolog.transport.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a stream in one recording.

    Attributes:
        start: the position where its first batch began.
        position: the position up to which the recording is covered, the end of a message.
        ended: whether the recording had stopped and ended there.
        times: the part of its time index that is used up to there, see ``SettledTimes``; empty
            without an index.
    """

    start: int
    position: int
    ended: bool = False
    times: tuple[int, ...] = ()


Offset = dict[Key, Progress]


def to_spark(offset: Mapping[Key, Progress]) -> dict[str, Any]:
    """Convert an offset to the form that Spark takes."""
    found: dict[str, Any] = {}
    for (place, recording_id), progress in sorted(offset.items()):
        found.setdefault(place, {})[str(recording_id)] = {
            "start": progress.start,
            "position": progress.position,
            "ended": progress.ended,
        } | ({"times": list(progress.times)} if progress.times else {})
    return found


def from_spark(offset: Mapping[str, Any]) -> Offset:
    """Convert an offset from the form that Spark returns.

    Raises:
        ConfigurationError: the offset is not ours: the checkpoint is of another source or version.
    """
    try:
        return {
            (place, int(recording_id)): Progress(
                int(progress["start"]),
                int(progress["position"]),
                bool(progress["ended"]),
                tuple(SettledTimes.from_json(progress.get("times")).to_json()),
            )
            for place, recordings in offset.items()
            for recording_id, progress in recordings.items()
        }
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ConfigurationError(
            f"the checkpoint's offset is not one of recordings: {offset!r}"
        ) from error
