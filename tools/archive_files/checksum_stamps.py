"""Checksums of catalog entries and frames, computed and stored.

A frame's checksum takes the place of its session id. It depends on the payload alone, so that what
was cut short can be done again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from aerolog.archive.format import segment_walk
from aerolog.tools.archive_files.verdicts import segment_of, walk_failure, walk_problem
from aerolog.tools.command_line.java_error import JavaError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from aerolog.archive.format.checksum import Checksum
    from aerolog.tools.archive_files.catalog_editor import EditableCatalog, Entry
    from aerolog.tools.archive_files.segment_walkers import Walkers


@dataclass(frozen=True, slots=True)
class StampChoice:
    """What is to get checksums.

    Attributes:
        checksum: the checksum's name, or the name of its class.
        recording_id: one recording, None for all.
        all_segments: whether all segments of each recording get them, or only the last one.
    """

    checksum: str
    recording_id: int | None
    all_segments: bool


class StampProblem(NamedTuple):
    """Why a segment did not get all of its checksums.

    Attributes:
        path: the path of the segment.
        failure: the exception by which it could not be walked, None where it could.
        problem: what is wrong with a frame of it, None where nothing is.
    """

    path: str
    failure: JavaError | str | None
    problem: str | None


def stamp_entry(catalog: EditableCatalog, entry: Entry, checksum: Checksum) -> None:
    """Store the checksum of a catalog entry."""
    catalog.store_checksum(entry, catalog.checksum_of(entry, checksum))


def stamp_segments(
    folder: str,
    entry: Entry,
    names: Iterable[str],
    walkers: Walkers,
    body_length_max: int = segment_walk.BODY_LENGTH_MAX,
) -> Iterator[StampProblem]:
    """Store the checksums of a recording's frames, and give what is wrong with its segments.

    Args:
        folder: the archive's folder, as it was given.
        entry: the entry of the recording.
        names: the segments to stamp.
        walkers: made with the checksum.
        body_length_max: what a frame may have after its header.
    """
    for name in names:
        segment = segment_of(folder, entry, name)
        walked = walkers.walk(
            entry, segment, rule=segment_walk.WALK_STAMPS, body_length_max=body_length_max
        )
        failure: JavaError | str | None = walk_failure(walked)
        problem = None
        try:
            problem = walk_problem(walked, body_length_max) if failure is None else None
        except JavaError as error:
            failure = error
        if failure is not None or problem is not None:
            yield StampProblem(segment.path, failure, problem)
