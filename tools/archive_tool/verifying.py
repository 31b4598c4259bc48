"""``verify``: recordings and their segments are checked; what is faulty becomes INVALID."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aerolog.tools.archive_tool.checksums import check_class_name, checksum_of_class
from aerolog.tools.archive_tool.commands import EXIT_INVALID
from aerolog.tools.archive_tool.editing import EditableCatalog
from aerolog.tools.archive_tool.uncaught import parse_long
from aerolog.tools.archive_tool.verdicts import Cut, Examiner, apply, cut_off
from aerolog.tools.archive_tool.walking import Walkers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.tools.archive_tool.terminal import Terminal

_ALL: Final = "-a"
_CHECKSUM: Final = "-checksum"


@dataclass(frozen=True, slots=True)
class Choice:
    """What is to be verified.

    Attributes:
        recording_id: one recording, None for all.
        all_segments: of each recording; False: the last one.
        checksum: name of a class, None to leave checksums alone.
        cut: last frames that cannot be told to be whole are cut off (not in the classic form).
    """

    recording_id: int | None = None
    all_segments: bool = False
    checksum: str | None = None
    cut: bool = False


def classic_choice(arguments: Sequence[str]) -> Choice:
    """What the reference makes of arguments: their places decide (spec archive-tool 8.1).

    Raises:
        UncaughtError: what it makes nothing of.
    """
    first = arguments[0] if arguments else _ALL
    match len(arguments):
        case 0:
            return Choice()
        case 1 if first == _ALL:
            return Choice(all_segments=True)
        case 1:
            return Choice(parse_long(first))
        case 2 if first == _CHECKSUM:
            return Choice(checksum=check_class_name(arguments[1]))
        case 2:
            return Choice(parse_long(first), all_segments=True)
        case 3 if first == _ALL:
            return Choice(all_segments=True, checksum=check_class_name(arguments[2]))
        case 3:
            return Choice(parse_long(first), checksum=check_class_name(arguments[2]))
        case _:
            return Choice(parse_long(first), True, check_class_name(arguments[3]))


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
            apply(catalog, verdict, time.time_ns() // 1_000_000)
            terminal.line(verdict.line())
            if verdict.error is not None:
                terminal.line(verdict.error)
            faulty = faulty or verdict.problem is not None
    return EXIT_INVALID if faulty else 0
