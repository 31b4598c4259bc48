"""``verify``: recordings and their segments are checked; what is faulty becomes INVALID."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from aerolog.tools.archive_files.catalog_editor import EditableCatalog
from aerolog.tools.archive_files.checksum_names import check_class_name, checksum_of_class
from aerolog.tools.archive_files.segment_walkers import Walkers
from aerolog.tools.archive_files.verdicts import Cut, Examiner, Verdict, apply, cut_off
from aerolog.tools.command_line.java_error import parse_long
from aerolog.tools.reference.tool import EXIT_INVALID

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.tools.reference.tool_terminal import Terminal

_ALL: Final = "-a"
_CHECKSUM: Final = "-checksum"


@dataclass(frozen=True, slots=True)
class SegmentChoice:
    """What is to be verified.

    Attributes:
        recording_id: one recording, None for all.
        all_segments: whether all segments of each recording are checked, or only the last one.
        checksum: name of a class, None to leave checksums alone.
    """

    recording_id: int | None = None
    all_segments: bool = False
    checksum: str | None = None


def choice_of(arguments: Sequence[str]) -> SegmentChoice:
    """Give what the reference makes of arguments: their places decide (spec archive-tool 8.1).

    Raises:
        JavaError: what it makes nothing of.
    """
    first = arguments[0] if arguments else _ALL
    match len(arguments):
        case 0:
            return SegmentChoice()
        case 1 if first == _ALL:
            return SegmentChoice(all_segments=True)
        case 1:
            return SegmentChoice(parse_long(first))
        case 2 if first == _CHECKSUM:
            return SegmentChoice(checksum=check_class_name(arguments[1]))
        case 2:
            return SegmentChoice(parse_long(first), all_segments=True)
        case 3 if first == _ALL:
            return SegmentChoice(all_segments=True, checksum=check_class_name(arguments[2]))
        case 3:
            return SegmentChoice(parse_long(first), checksum=check_class_name(arguments[2]))
        case _:
            return SegmentChoice(parse_long(first), True, check_class_name(arguments[3]))


def verify(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Verify recordings; 255 when something is faulty."""
    choice = choice_of(arguments)

    def decide(cut: Cut) -> bool:
        terminal.explain(
            f"\nLast fragment in segment file: {cut.path} straddles a page boundary,\n"
            "i.e. it is not possible to verify if it was written correctly.\n"
        )
        agreed = terminal.ask(
            "Please choose the corrective action: (y) to truncate the file or (n) to do nothing"
        )
        if agreed:
            cut_off(cut)
        return agreed

    faulty, rows = False, []
    checksum = None if choice.checksum is None else checksum_of_class(choice.checksum)
    with EditableCatalog.open(folder) as catalog, Walkers(checksum) as walkers:
        examiner = Examiner(
            folder,
            catalog,
            walkers,
            checksum=checksum,
            all_segments=choice.all_segments,
            decide=decide,
        )
        for verdict in examiner.verdicts(catalog.entries_of(choice.recording_id)):
            apply(catalog, verdict, terminal.clock.now_epoch_ms())
            rows.append(_row(verdict))
            if not terminal.as_json:
                terminal.line(verdict.line())
                if verdict.error is not None:
                    terminal.line(verdict.error)
            faulty = faulty or verdict.problem is not None
    if terminal.as_json:
        terminal.document(rows)
    return EXIT_INVALID if faulty else 0


def _row(verdict: Verdict) -> dict[str, Any]:
    word = "ok" if verdict.problem is None else "faulty"
    if verdict.skipped or verdict.is_unreadable:
        word = "skipped" if verdict.skipped else "unreadable"
    return {
        "recording_id": verdict.entry.recording_id,
        "verdict": word,
        "problem": verdict.problem,
        "file": verdict.path,
        "error": verdict.error,
        "stop_position": verdict.stop_position,
        "state": None if verdict.state is None else verdict.state.name,
    }
