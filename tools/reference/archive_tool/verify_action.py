"""``verify``: recordings and their segments are checked; what is faulty becomes INVALID."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import typer

from aerolog.archive.format.checksum import CRC32_NAME, CRC32C_NAME
from aerolog.tools.archive_files.catalog_editor import EditableCatalog
from aerolog.tools.archive_files.checksum_names import check_class_name, checksum_of_class
from aerolog.tools.archive_files.java_error import JavaError, parse_long
from aerolog.tools.archive_files.segment_names import segments_by_id
from aerolog.tools.archive_files.segment_walkers import Walkers
from aerolog.tools.archive_files.verdicts import (
    Cut,
    Examiner,
    Verdict,
    apply,
    cut_off,
    missing_segments,
)
from aerolog.tools.command_line.exit_codes import EXIT_FAILED
from aerolog.tools.reference.archive_tool import verify_report
from aerolog.tools.reference.archive_tool.actions import EXIT_INVALID
from aerolog.tools.reference.archive_tool.change_plan import (
    can_ask,
    check_can_ask,
    in_words,
    is_agreed,
    parse_recording_id,
    running_pid,
)
from aerolog.tools.terminal.console import print_json, progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.tools.reference.tool_terminal import Terminal

_ALL: Final = "-a"
_CHECKSUM: Final = "-checksum"
_CUT: Final = "-cut"


@dataclass(frozen=True, slots=True)
class SegmentChoice:
    """What is to be verified.

    Attributes:
        recording_id: one recording, None for all.
        all_segments: whether all segments of each recording are checked, or only the last one.
        checksum: name of a class, None to leave checksums alone.
        cut: last frames that cannot be told to be whole are cut off (not in the classic form).
    """

    recording_id: int | None = None
    all_segments: bool = False
    checksum: str | None = None
    cut: bool = False


def classic_choice(arguments: Sequence[str]) -> SegmentChoice:
    """What the reference makes of arguments: their places decide (spec archive-tool 8.1).

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


def classic_verify(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Verifies as the reference does; 255 when something is faulty."""
    choice = classic_choice(arguments)

    def decide(cut: Cut) -> bool:
        terminal.write(
            f"\nLast fragment in segment file: {cut.path} straddles a page boundary,\n"
            "i.e. it is not possible to verify if it was written correctly.\n"
        )
        agreed = terminal.ask(
            "Please choose the corrective action: (y) to truncate the file or (n) to do nothing"
        )
        if agreed:
            cut_off(cut)
        return agreed

    faulty = False
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
            terminal.line(verdict.line())
            if verdict.error is not None:
                terminal.line(verdict.error)
            faulty = faulty or verdict.problem is not None
    return EXIT_INVALID if faulty else 0


def choice_of(arguments: Sequence[str]) -> SegmentChoice:
    """What arguments in any order ask for.

    Raises:
        typer.BadParameter: they make no sense.
    """
    rest, found = list(arguments), SegmentChoice()
    while rest:
        one = rest.pop(0)
        if one == _ALL:
            found = replace(found, all_segments=True)
        elif one == _CUT:
            found = replace(found, cut=True)
        elif one == _CHECKSUM:
            found = replace(found, checksum=_named(rest.pop(0) if rest else ""))
        elif found.recording_id is None:
            found = replace(found, recording_id=parse_recording_id(one))
        else:
            raise typer.BadParameter(f"one recording's id, not {found.recording_id} and {one}")
    return found


def _named(name: str) -> str:
    try:
        checksum_of_class(check_class_name(name))
    except JavaError as error:
        raise typer.BadParameter(
            f"-checksum takes {CRC32_NAME} or {CRC32C_NAME}, not {name!r}"
        ) from error
    return name


def verify(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Verifies, shows what would change and asks; 1 when something is faulty.

    In the folder of an archive that runs nothing is changed. Without a terminal it is an error only
    if something is to change.

    Raises:
        typer.BadParameter: something is to change, and there is nobody to ask.
    """
    choice = choice_of(arguments)
    running = running_pid(folder)
    only_shown = terminal.dry_run or running is not None
    opened = EditableCatalog.view if only_shown else EditableCatalog.open
    with in_words(folder), opened(folder) as catalog:
        verdicts = _examined(folder, catalog, choice, quiet=terminal.as_json)
        plan = verify_report.plan(verdicts, cut=choice.cut)
        faulty = any(verdict.problem is not None for verdict in verdicts)
        todo = [v for v in verdicts if v.changes or (choice.cut and v.unverified)]
        if running is not None and todo and not terminal.dry_run:
            terminal.remark(
                f"An archive runs in this folder, process {running}: nothing is changed."
            )
        asks = bool(todo) and not only_shown
        if asks and not can_ask(terminal):
            if terminal.as_json:
                print_json({"dry_run": True, **plan.details})
            else:
                plan.show(terminal)
            check_can_ask(terminal)
        if asks and is_agreed(plan, terminal):
            for verdict in todo:
                if choice.cut and verdict.unverified is not None:
                    cut_off(verdict.unverified)
                apply(catalog, verdict, terminal.clock.now_epoch_ms())
            catalog.sync()
    if terminal.as_json:
        print_json({"dry_run": only_shown, **plan.details})
    elif terminal.yes or not asks:
        plan.show(terminal)
    return EXIT_FAILED if faulty else 0


def _with_missing(verdict: Verdict, names: list[str]) -> Verdict:
    """A verdict that knows of files that are not there: a fault, and the entry stays."""
    if verdict.problem is not None or verdict.skipped:
        return verdict
    missing = missing_segments(verdict, names)
    if missing is None:
        return verdict
    return replace(verdict, problem=missing, state=None, stop_position=None)


def _examined(
    folder: str, catalog: EditableCatalog, choice: SegmentChoice, *, quiet: bool
) -> list[Verdict]:
    checksum = None if choice.checksum is None else checksum_of_class(choice.checksum)
    entries = catalog.entries_of(choice.recording_id)
    with Walkers(checksum) as walkers, progress("verifying", len(entries), quiet=quiet) as bar:
        examiner = Examiner(
            folder,
            catalog,
            walkers,
            checksum=checksum,
            all_segments=choice.all_segments,
            decide=lambda _: choice.cut,
            goes_on=True,
        )
        names = segments_by_id(folder)
        found = []
        for verdict in examiner.verdicts(entries):
            found.append(_with_missing(verdict, names.get(verdict.entry.recording_id, [])))
            bar.update(len(found))
    return found
