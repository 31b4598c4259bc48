"""How far a stream has come: positions of recordings, as Spark keeps them in its checkpoint.

``{place: {recording id: {"start": S, "position": P, "ended": B}}}`` with a place as it may be
shown. ``start`` is where reading of the recording began, so that a batch that is repeated covers
the same range; ``ended`` says that the recording had stopped there. ``times``, where the recording
has a time index, says what of it counts, so that rows of a repeated batch have the same times.
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
    """How far a stream has read one recording.

    Attributes:
        start: position where its first batch began.
        position: up to which it is covered, the end of a message.
        ended: the recording was stopped, and ended there.
        times: what of its time index counts up to there, see ``SettledTimes``; empty without one.
    """

    start: int
    position: int
    ended: bool = False
    times: tuple[int, ...] = ()


Offset = dict[Key, Progress]


def to_spark(offset: Mapping[Key, Progress]) -> dict[str, Any]:
    """An offset as Spark takes it."""
    found: dict[str, Any] = {}
    for (place, recording_id), progress in sorted(offset.items()):
        found.setdefault(place, {})[str(recording_id)] = {
            "start": progress.start,
            "position": progress.position,
            "ended": progress.ended,
        } | ({"times": list(progress.times)} if progress.times else {})
    return found


def from_spark(offset: Mapping[str, Any]) -> Offset:
    """An offset as Spark gives it back.

    Raises:
        ConfigurationError: it is not ours: the checkpoint is of another source or version.
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
