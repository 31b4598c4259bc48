"""Notes what an archive's files do not tell, in the folder's journal and in the tables at once.

`record` and `record_all` note all facts. A fact is applied to the tables first, so that a fact that
they refuse is not noted. Then it is written to the journal, durably, and then the transaction is
committed. A crash between the last two steps leaves the journal ahead of the tables: the tables
hold how far they have read the journal, and the next process that locks it brings them up to date.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import select, update

from aerolog.catalog.index.errors import JournalError
from aerolog.catalog.index.facts import OF_AN_ARCHIVE, Fact, Target, apply, checked
from aerolog.catalog.index.journal_file import JournalFile
from aerolog.catalog.index.models import Archive

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sqlalchemy.orm import Session

    from aerolog.catalog.index.recording_catalog import RecordingCatalog

__all__ = ["CaughtUp", "Fact", "catch_up", "place_of", "record", "record_all"]


def place_of(archive_dir: str | Path) -> str:
    """The place of an archive: its folder's path without symbolic links, or its URL unchanged."""
    text = str(archive_dir)
    return text if "://" in text else os.path.realpath(text)


def record(catalog: RecordingCatalog, place: str | Path, kind: str, **values: Any) -> None:
    """Note a fact of an archive durably.

    Args:
        catalog: the catalog that gets the fact now; others of the archive get it at their next
            sync.
        place: the archive's folder, on this machine.
        kind: the kind of the fact, a key of `facts.FIELDS`.
        values: the fact's fields, with ``recording_id`` for all kinds but `facts.OF_AN_ARCHIVE`.

    Raises:
        JournalError: the fact is malformed, its recording is not in the catalog, or the journal
            cannot be written. Nothing was noted.
    """
    record_all(catalog, [Fact(place_of(place), kind, values)])


def record_all(catalog: RecordingCatalog, facts: Sequence[Fact]) -> None:
    """Note facts that became known together; each archive's journal gets its facts in one line.

    The facts may be about several archives; the tables get them in one transaction. All facts of an
    archive are noted, or none. The errors are those of `record`.
    """
    by_place: dict[str, list[Fact]] = {}
    for fact in facts:
        by_place.setdefault(place_of(fact.place), []).append(fact)
    with ExitStack() as stack:
        journals = {
            # The fixed order keeps two processes from waiting for each other.
            place: stack.enter_context(JournalFile.locked(place, create=True))
            for place in sorted(by_place)
        }
        session = stack.enter_context(catalog.session(writes=True))
        lines = {}
        for place, journal in journals.items():
            archive = _archive(session, place)
            catch_up(session, archive, journal)
            target = Target(session, archive.id)
            lines[place] = [_noted(target, fact) for fact in by_place[place]]
        now_ms = catalog.clock.now_epoch_ms()
        for place, journal in journals.items():
            assert journal is not None
            archive = _archive(session, place)
            archive.journal_id = journal.journal_id
            archive.journal_position = journal.append(lines[place], now_ms)


@dataclass(slots=True)
class CaughtUp:
    """What `catch_up` found in a journal.

    Attributes:
        facts: the number of facts applied.
        problems: lines and facts that cannot be used, with their offsets in the journal.
        strays: facts about recordings that the tables do not have, likewise.
    """

    facts: int = 0
    problems: list[str] = field(default_factory=list)
    strays: list[str] = field(default_factory=list)


def catch_up(
    session: Session,
    archive: Archive,
    journal: JournalFile | None,
    in_folder: set[int] | None = None,
) -> CaughtUp:
    """Bring the tables up to the end of a journal, in the session's transaction.

    Args:
        session: a session whose transaction writes.
        archive: the row of the archive whose journal it is.
        journal: the locked journal, None where there is none.
        in_folder: the ids of the recordings in the folder, None when they are unknown.
    """
    done = CaughtUp()
    if journal is None:
        if archive.journal_id is not None:
            done.problems.append(
                f"the journal of {archive.place} is gone: tags, names and the like are in this "
                "catalog alone, and a rebuild would lose them"
            )
        return done
    start = archive.journal_position
    if archive.journal_id != journal.journal_id or start > journal.end():
        start = 0  # The tables have read another journal, so all of this one is new.
    target = Target(session, archive.id, in_folder)
    # In a rebuilt catalog a "gone" fact is what adds the row of a recording without an entry, and
    # facts about that recording stand before it in the journal.
    _apply_gone(target, journal, start)
    end = start
    for line in journal.lines(start):
        end = line.end
        if line.problem is not None:
            done.problems.append(line.problem)
        for fact in line.facts:
            _apply_again(target, fact, journal, line.end, done)
    if (archive.journal_id, archive.journal_position) != (journal.journal_id, end):
        archive.journal_id, archive.journal_position = journal.journal_id, end
        session.flush()
    return done


def _apply_gone(target: Target, journal: JournalFile, start: int) -> None:
    for line in journal.lines(start):
        for fact in line.facts:
            if isinstance(fact, dict) and fact.get("kind") == "gone":
                # The caller's own pass reports what is wrong with the line.
                _apply_again(target, fact, journal, line.end, CaughtUp())


def _apply_again(target: Target, fact: Any, journal: JournalFile, end: int, done: CaughtUp) -> None:
    where = f"{journal.path} in the line before offset {end}"
    if not isinstance(fact, dict):
        done.problems.append(f"no fact: {where}")
        return
    values = {name: value for name, value in fact.items() if name != "kind"}
    try:
        complete = checked(fact.get("kind"), values)
    except JournalError as error:
        done.problems.append(f"{error}: {where}")
        return
    if apply(target, fact["kind"], complete):
        done.facts += 1
    else:
        done.strays.append(
            f"a {fact['kind']} of recording {complete['recording_id']}, which is not there: {where}"
        )


def _archive(session: Session, place: str) -> Archive:
    # The row is locked: two processes may note facts in the journals of two catalogs at once.
    found = session.scalars(select(Archive).where(Archive.place == place).with_for_update()).first()
    if found is None:
        raise JournalError(
            f"the archive {place} is not in this catalog; run: aerolog catalog sync --archive-dir "
            f"{place}"
        )
    return found


def _noted(target: Target, fact: Fact) -> dict[str, Any]:
    """Apply a fact and return the form in which the journal's line holds it.

    Raises:
        JournalError: the fact's recording is not in the catalog.
    """
    values = checked(fact.kind, fact.values)
    if fact.kind not in OF_AN_ARCHIVE | {"gone"}:
        found = target.recording(values["recording_id"])
        if found is None:
            raise JournalError(
                f"recording {values['recording_id']} of {fact.place} is not in this catalog; run: "
                f"aerolog catalog sync --archive-dir {fact.place}"
            )
        values["start_time_ms"] = found[1]
    apply(target, fact.kind, values)
    return {"kind": fact.kind, **values}


def move_archive(session: Session, archive_fk: int, place: str) -> None:
    """Change an archive's place after its folder was moved."""
    session.execute(update(Archive).where(Archive.id == archive_fk).values(place=place))
