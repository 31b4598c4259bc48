"""``checksum``: checksums of frames and of catalog entries are computed and stored.

A frame's checksum takes the place of its session id. It depends on the payload alone, so that what
was cut short can be done again.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from aerolog.archive.format import segment_walk
from aerolog.archive.format.checksum import CRC32_NAME, CRC32C_NAME
from aerolog.tools.archive_files.catalog_editor import EditableCatalog, Entry
from aerolog.tools.archive_files.checksum_names import check_class_name, checksum_of_class
from aerolog.tools.archive_files.java_error import JavaError, parse_long
from aerolog.tools.archive_files.segment_names import base_of, number_of, segments_by_id
from aerolog.tools.archive_files.segment_walkers import Walkers
from aerolog.tools.archive_files.verdicts import segment_of, walk_failure, walk_problem
from aerolog.tools.command_line.exit_codes import EXIT_FAILED
from aerolog.tools.reference.archive_tool.change_plan import (
    TablePlan,
    check_can_ask,
    in_words,
    is_agreed,
    parse_recording_id,
    refuse_running,
)
from aerolog.tools.terminal.console import print_json
from aerolog.transport.protocol.fixed_layout import align
from aerolog.transport.protocol.frames import FRAME_ALIGNMENT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.tools.reference.tool_terminal import Terminal

_ALL: Final = "-a"
_BODY_LENGTH_MAX: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class ChecksumChoice:
    """What is to get checksums.

    Attributes:
        checksum: name of a class.
        recording_id: one recording, None for all.
        all_segments: whether all segments of each recording are stamped, or only the last one.
    """

    checksum: str
    recording_id: int | None
    all_segments: bool


def classic_choice(arguments: Sequence[str]) -> ChecksumChoice:
    """What the reference makes of arguments.

    Raises:
        JavaError: what it makes nothing of.
    """
    name, *rest = arguments
    if not rest or rest[0] == _ALL:
        return ChecksumChoice(check_class_name(name), None, bool(rest))
    return ChecksumChoice(check_class_name(name), parse_long(rest[0]), rest[1:] == [_ALL])


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
            except JavaError as error:
                at = f"(recordingId={entry.recording_id})"
                lines = [f"{at} ERR: failed to compute checksums", str(error)]
            for line in lines:
                terminal.line(line)
    return 0


def checksum(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Computes checksums, after a question; 1 when a segment could not be walked to its end."""
    choice = _choice(arguments)
    check_can_ask(terminal)
    if not terminal.dry_run:
        refuse_running(folder, "its recorder and this would write to the same frames")
    opened = EditableCatalog.view if terminal.dry_run else EditableCatalog.open
    with in_words(folder), opened(folder) as catalog:
        names = segments_by_id(folder)
        entries = catalog.entries_of(choice.recording_id)
        chosen = {e.offset: _chosen(e, names, choice) for e in entries}
        plan = _plan(folder, entries, chosen, choice)
        if not is_agreed(plan, terminal):
            return 0
        problems = _stamp_all(folder, catalog, entries, chosen, choice)
        catalog.sync()
    if terminal.as_json:
        print_json({"dry_run": False, **plan.details, "problems": problems})
        return EXIT_FAILED if problems else 0
    for problem in problems:
        terminal.remark(problem)
    terminal.line(f"{choice.checksum} of {len(entries)} recordings stored")
    return EXIT_FAILED if problems else 0


def _choice(arguments: Sequence[str]) -> ChecksumChoice:
    name, *rest = arguments
    try:
        checksum_of_class(name)
    except JavaError as error:
        raise typer.BadParameter(
            f"no checksum {name!r}: there are {CRC32_NAME} and {CRC32C_NAME}"
        ) from error
    others = [one for one in rest if one != _ALL]
    if len(others) > 1 or len(rest) - len(others) > 1:
        raise typer.BadParameter("a checksum's name, a recording's id or none, -a or not")
    recording_id = parse_recording_id(others[0]) if others else None
    return ChecksumChoice(name, recording_id, _ALL in rest)


def _chosen(entry: Entry, names: dict[int, list[str]], choice: ChecksumChoice) -> list[str]:
    own = sorted(names.get(entry.recording_id, []), key=number_of)
    return own if choice.all_segments else own[-1:]


def _plan(
    folder: str, entries: Sequence[Entry], chosen: dict[int, list[str]], choice: ChecksumChoice
) -> TablePlan:
    rows = [
        {
            "recording_id": entry.recording_id,
            "segment_files": len(chosen[entry.offset]),
            "segment_bytes": sum(Path(folder, n).stat().st_size for n in chosen[entry.offset]),
        }
        for entry in entries
    ]
    return TablePlan(
        f"store {choice.checksum} checksums of {len(rows)} recordings in the catalog and in"
        f" {sum(map(len, chosen.values()))} segment files",
        ("recording", "files", "bytes"),
        [list(row.values()) for row in rows],
        details={"checksum": choice.checksum, "recordings": rows},
        right=("recording", "files", "bytes"),
        caution="A frame's checksum takes the place of its session id, which is lost.",
    )


def _stamp_all(
    folder: str,
    catalog: EditableCatalog,
    entries: Sequence[Entry],
    chosen: dict[int, list[str]],
    choice: ChecksumChoice,
) -> list[str]:
    """Stamp recordings; gives what went wrong."""
    found = checksum_of_class(choice.checksum)
    problems = []
    with Walkers(found) as walkers:
        for entry in entries:
            catalog.store_checksum(entry, catalog.checksum_of(entry, found))
            for name in chosen[entry.offset]:
                segment = segment_of(folder, entry, name)
                walked = walkers.walk(entry, segment, rule=segment_walk.WALK_STAMPS)
                try:
                    problem = walk_failure(walked) or walk_problem(walked)
                except JavaError as error:
                    problem = str(error.message)
                if problem is not None:
                    problems.append(f"recording {entry.recording_id}, {segment.path}: {problem}")
    return problems


def _stamp(
    folder: str,
    catalog: EditableCatalog,
    entry: Entry,
    names: dict[int, list[str]],
    choice: ChecksumChoice,
    walkers: Walkers,
) -> list[str]:
    """Stamp a recording; gives what the reference says of what went wrong with a segment.

    Raises:
        JavaError: what went wrong before.
    """
    checksum = checksum_of_class(choice.checksum)
    catalog.store_checksum(entry, catalog.checksum_of(entry, checksum))
    own = names.get(entry.recording_id, [])
    if not own and not choice.all_segments:
        raise JavaError("java.lang.NullPointerException")
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
        except JavaError as error:
            failure = str(error)
        if failure is not None:
            said += [at + "failed to checksum", failure]
        elif problem is not None:
            said.append(at + problem)
    return said
