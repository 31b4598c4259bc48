"""``checksum``: checksums of frames and of catalog entries are computed and stored.

A frame's checksum takes the place of its session id. It depends on the payload alone, so that what
was cut short can be done again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aerolog.archive.files import segment_walk
from aerolog.archive.files.layout import FRAME_ALIGNMENT, align
from aerolog.tools.archive_tool.checksums import check_class_name, checksum_of_class
from aerolog.tools.archive_tool.editing import EditableCatalog, Entry
from aerolog.tools.archive_tool.segment_names import base_of, segments_by_id
from aerolog.tools.archive_tool.uncaught import UncaughtError, parse_long
from aerolog.tools.archive_tool.verdicts import segment_of, walk_failure, walk_problem
from aerolog.tools.archive_tool.walking import Walkers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.tools.archive_tool.terminal import Terminal

_ALL: Final = "-a"
_BODY_LENGTH_MAX: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Choice:
    """What is to get checksums.

    Attributes:
        checksum: name of a class.
        recording_id: one recording, None for all.
        all_segments: of each recording; False: the last one.
    """

    checksum: str
    recording_id: int | None
    all_segments: bool


def classic_choice(arguments: Sequence[str]) -> Choice:
    """What the reference makes of arguments.

    Raises:
        UncaughtError: what it makes nothing of.
    """
    name, *rest = arguments
    if not rest or rest[0] == _ALL:
        return Choice(check_class_name(name), None, bool(rest))
    return Choice(check_class_name(name), parse_long(rest[0]), rest[1:] == [_ALL])


def classic_checksum(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Computes checksums as the reference does."""
    choice = classic_choice(arguments)
    checksum = checksum_of_class(choice.checksum)
    with EditableCatalog.open(folder) as catalog, Walkers(checksum) as walkers:
        names = segments_by_id(folder)
        if choice.recording_id is not None:
            entry = catalog.valid_entry(choice.recording_id)
            lines = _stamp(folder, catalog, entry, names, choice, walkers)
            for line in lines:
                terminal.line(line)
            return 0
        for entry in catalog.entries():
            try:
                lines = _stamp(folder, catalog, entry, names, choice, walkers)
            except UncaughtError as error:
                at = f"(recordingId={entry.recording_id})"
                lines = [f"{at} ERR: failed to compute checksums", str(error)]
            for line in lines:
                terminal.line(line)
    return 0


def _stamp(
    folder: str,
    catalog: EditableCatalog,
    entry: Entry,
    names: dict[int, list[str]],
    choice: Choice,
    walkers: Walkers,
) -> list[str]:
    """Stamp a recording; gives what the reference says of what went wrong with a segment.

    Raises:
        UncaughtError: what went wrong before.
    """
    checksum = checksum_of_class(choice.checksum)
    catalog.store_checksum(entry, catalog.checksum_of(entry, checksum))
    own = names.get(entry.recording_id, [])
    if not own and not choice.all_segments:
        raise UncaughtError("java.lang.NullPointerException")
    # For one recording the reference makes room for its own frames alone.
    body_length_max = _BODY_LENGTH_MAX
    if choice.recording_id is not None:
        body_length_max = align(entry.mtu_length, FRAME_ALIGNMENT)
    said: list[str] = []
    for name in own if choice.all_segments else [max(own, key=base_of)]:
        segment = segment_of(folder, entry, name)
        at = f"(recordingId={entry.recording_id}, file={segment.path}) ERR: "
        walked = walkers.walk(
            entry, segment, rule=segment_walk.WALK_STAMPS, body_length_max=body_length_max
        )
        failure, problem = walk_failure(walked), None
        try:
            problem = walk_problem(walked, body_length_max) if failure is None else None
        except UncaughtError as error:
            failure = str(error)
        if failure is not None:
            said += [at + "failed to checksum", failure]
        elif problem is not None:
            said.append(at + problem)
    return said
