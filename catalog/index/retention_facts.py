"""What a SQL catalog tells retention: labels to select by, and readers that have not finished.

An archive knows its present replays. It does not know of an export that was interrupted and will be
resumed, of a pipeline that loads new data every night, or of another archive that replicates in
parts. A catalog knows them, and this module turns them into needs. It only reads, and works whether
or not the archive is running.

A catalog is a copy, and a copy may be old, empty or that of another folder. So the folder's journal
is read to its end first, and the folder's own catalog says which recordings there are. Where the
sources do not agree, the needs are not known, and that is an error.
"""

from __future__ import annotations

import json
import os
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import and_, func, select
from sqlalchemy.orm import aliased

from aerolog.archive.format.catalog_map import CatalogReader
from aerolog.archive.retention.errors import NeedsUnknownError
from aerolog.archive.retention.facts import Need
from aerolog.catalog.index.errors import CatalogError, SearchError
from aerolog.catalog.index.job_runs import run_error
from aerolog.catalog.index.journal import catch_up, place_of
from aerolog.catalog.index.journal_file import JOURNAL_NAME, JournalFile
from aerolog.catalog.index.models import (
    COMPLETE,
    RUNNING,
    Archive,
    Export,
    Lineage,
    Mark,
    Name,
    PipelineRun,
    Recording,
    State,
    Tag,
)
from aerolog.catalog.index.recording_catalog import DATABASE_NAME, RecordingCatalog
from aerolog.catalog.index.search_checks import checked
from aerolog.catalog.index.search_query import chosen_keys
from aerolog.catalog.index.search_text import parse_search
from aerolog.transport.errors import AerologError, ArchiveError, FileFormatError
from aerolog.transport.memory.filesystem import RealFileSystem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sqlalchemy import ColumnElement, Select
    from sqlalchemy.orm import Session

REPLICATION: Final = "replication"
EXPORT: Final = "export"
PIPELINE: Final = "pipeline"
CATALOG: Final = "catalog"

#: Conditions of a job that a recording may come to meet, or that depend on other recordings.
_PASSING: Final = ("state", "min-size", "max-size", "limit", "offset", "order")


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogFacts:
    """What is known of an archive's recordings besides its folder.

    Attributes:
        labels: recording id -> key -> value of its tags; recordings without tags are left out.
        names: recording id -> its names, sorted; recordings without names are left out.
        needs: the needs of exports, pipelines and replications, and of recordings that the catalog
            does not have yet: data from a need's position on must stay.
    """

    labels: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    names: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    needs: tuple[Need, ...] = ()


def retention_facts(
    archive_dir: str | Path,
    catalog: RecordingCatalog | str | None = None,
    *,
    exports: Iterable[str | Path] = (),
    recording_id: int | None = None,
) -> CatalogFacts:
    """Collect the labels and needs of an archive's recordings, or of one of them.

    A pipeline needs each recording that it has loaded from its mark on, however much is recorded
    later, and all of the recordings that it chooses and has not loaded yet. During its first run it
    needs all recordings. An unfinished export needs what it has not written yet. A replication
    needs what its copy of the recording does not have yet.

    Args:
        archive_dir: the archive's folder.
        catalog: an open catalog, or its URL; None uses the one in the folder, if there is one.
        exports: further targets whose manifests are read: folders or URLs.
        recording_id: the recording that is asked about, None for all.

    Raises:
        NeedsUnknownError: a catalog, the folder's journal or a manifest is missing, out of date,
            unreadable or that of another archive. Nothing may be deleted.
        FileNotFoundError: the folder has no catalog of an archive.
    """
    place = place_of(archive_dir)
    starts = _start_times(place, recording_id)
    needs = [need for to in exports for need in _of_target(to, starts)]
    try:
        with ExitStack() as stack:
            opened = _opened(stack, place, catalog)
            if opened is None:
                return CatalogFacts(needs=tuple(needs))
            session, archive_fk = stack.enter_context(_present_rows(opened, place))
            asked = _Asked(archive_fk, recording_id)
            needs += _of_unknown(session, asked, starts, opened, place)
            needs += _of_exports(session, asked)
            needs += _of_marks(session, asked)
            needs += _of_first_runs(session, asked, opened.clock.now_epoch_ms())
            needs += _of_jobs(session, asked)
            needs += _of_replications(session, place, asked)
            return CatalogFacts(
                labels=_labels(session, asked),
                names=_names(session, asked),
                needs=tuple(needs),
            )
    except (CatalogError, OSError) as error:
        raise _unknown(f"the SQL catalog cannot tell who needs what: {error}") from error


def _unknown(text: str) -> NeedsUnknownError:
    return NeedsUnknownError(f"nothing is deleted: {text}")


@dataclass(frozen=True, slots=True)
class _Asked:
    """The rows that are asked about.

    Attributes:
        archive_fk: key of the archive.
        recording_id: the recording, None for all of the archive.
    """

    archive_fk: int
    recording_id: int | None

    @property
    def recordings(self) -> ColumnElement[bool]:
        """The condition that their recordings meet."""
        of_archive = Recording.archive_fk == self.archive_fk
        if self.recording_id is None:
            return of_archive
        return and_(of_archive, Recording.recording_id == self.recording_id)


def _start_times(place: str, only_id: int | None) -> dict[int, int]:
    """The start times of the folder's recordings by id, epoch milliseconds."""
    found: dict[int, int] = {}
    with CatalogReader.open(place, RealFileSystem()) as entries:
        for recording_id in entries.ids() if only_id is None else (only_id,):
            try:
                descriptor = entries.checked_entry(recording_id).descriptor
            except (FileFormatError, ArchiveError):
                continue  # Nothing of a recording with a damaged entry, or none, is deleted.
            found[recording_id] = descriptor.start_timestamp
    return found


def _opened(
    stack: ExitStack, place: str, catalog: RecordingCatalog | str | None
) -> RecordingCatalog | None:
    if isinstance(catalog, RecordingCatalog):
        return catalog
    if catalog is not None:
        return stack.enter_context(RecordingCatalog.open(catalog, create=False))
    if os.path.lexists(Path(place, DATABASE_NAME)):
        return stack.enter_context(RecordingCatalog.open(archive_dir=place, create=False))
    if os.path.lexists(Path(place, JOURNAL_NAME)):
        raise _unknown(
            f"{place}/{JOURNAL_NAME} belongs to a SQL catalog, and {DATABASE_NAME} is not in the"
            f" folder: name the catalog with --catalog, or make it again with: {_sync(place)}"
        )
    return None


def _sync(place: str, catalog: RecordingCatalog | None = None) -> str:
    """The command that brings a catalog up to date."""
    command = f"aerolog catalog sync --archive-dir {place}"
    own = catalog is None or os.path.realpath(str(catalog.engine.url.database)) == str(
        Path(place, DATABASE_NAME)
    )
    return command if own or catalog is None else f"{command} --catalog {catalog.url}"


# -- the catalog beside the folder ----------------------------------------------------------------


@contextmanager
def _present_rows(catalog: RecordingCatalog, place: str) -> Iterator[tuple[Session, int]]:
    """A session that sees an archive's rows with all that the folder's journal says.

    Nothing is changed: what the rows lack is added in a transaction that is rolled back.

    Raises:
        NeedsUnknownError: the catalog does not have the archive, or not this folder's.
    """
    with JournalFile.locked(place) as journal:
        with catalog.session() as session:
            archive = _archive(session, catalog, place)
            if not _is_behind(archive, journal, catalog):
                yield session, archive.id
                return
        if catalog.is_read_only:
            raise _unknown(
                f"the catalog {catalog.url} is behind {place}/{JOURNAL_NAME} and cannot be"
                f" written; where it can, run: {_sync(place, catalog)}"
            )
        with catalog.session(writes=True) as session, session.begin_nested() as attempt:
            archive = _archive(session, catalog, place)
            archive_fk = archive.id
            problems = catch_up(session, archive, journal).problems
            if problems:
                raise _unknown(f"{problems[0]}; look at it, and run: {_sync(place, catalog)}")
            yield session, archive_fk
            attempt.rollback()


def _archive(session: Session, catalog: RecordingCatalog, place: str) -> Archive:
    found = session.scalar(select(Archive).where(Archive.place == place))
    if found is None:
        raise _unknown(
            f"the archive {place} is not in the catalog {catalog.url}, or was moved; run:"
            f" {_sync(place, catalog)}"
        )
    return found


def _is_behind(archive: Archive, journal: JournalFile | None, catalog: RecordingCatalog) -> bool:
    """Whether a journal holds more than the tables have read of it.

    Raises:
        NeedsUnknownError: it is not the journal that the tables have read.
    """
    path = f"{archive.place}/{JOURNAL_NAME}"
    if journal is None:
        if archive.journal_id is None:
            return False
        raise _unknown(
            f"{path}, from which the catalog {catalog.url} has read, is gone: mount the archive's"
            " own folder or restore the file; to give up what only the journal has, run: aerolog"
            f" catalog rebuild --without-journal --archive-dir {archive.place}"
        )
    if archive.journal_id is None:
        return True
    end = journal.end()
    if archive.journal_id != journal.journal_id or end < archive.journal_position:
        raise _unknown(
            f"{path} is another journal than the catalog {catalog.url} has read, or an older copy"
            " of it: mount the archive's own folder or restore the file; if this is the right one,"
            f" run: {_sync(archive.place, catalog)}"
        )
    return end > archive.journal_position


def _of_unknown(
    session: Session,
    asked: _Asked,
    starts: Mapping[int, int],
    catalog: RecordingCatalog,
    place: str,
) -> list[Need]:
    """Needs of recordings in the folder that the catalog does not have yet.

    Raises:
        NeedsUnknownError: the catalog has other recordings of the same ids.
    """
    rows = select(Recording.recording_id, Recording.start_time_ms).where(asked.recordings)
    known = {one.recording_id: one.start_time_ms for one in session.execute(rows)}
    needs = []
    for recording_id, start_ms in starts.items():
        if recording_id not in known:
            text = f"the catalog {catalog.url} does not have it; run: {_sync(place, catalog)}"
            needs.append(Need(recording_id, 0, CATALOG, text))
        elif known[recording_id] != start_ms:
            raise _unknown(
                f"recording {recording_id} in {place} began at {start_ms} ms, and that in the"
                f" catalog {catalog.url} at {known[recording_id]} ms: mount the archive's own"
                f" folder; if this is the right one, run: {_sync(place, catalog)}"
            )
    return needs


# -- labels ---------------------------------------------------------------------------------------


def _labels(session: Session, asked: _Asked) -> dict[int, dict[str, str]]:
    found: dict[int, dict[str, str]] = {}
    rows = select(Recording.recording_id, Tag.key, Tag.value).join(
        Recording, Recording.id == Tag.recording_fk
    )
    for recording_id, key, value in session.execute(rows.where(asked.recordings)):
        found.setdefault(recording_id, {})[key] = value
    return found


def _names(session: Session, asked: _Asked) -> dict[int, tuple[str, ...]]:
    found: dict[int, list[str]] = {}
    rows = select(Recording.recording_id, Name.name).join(
        Recording, Recording.id == Name.recording_fk
    )
    for recording_id, name in session.execute(rows.where(asked.recordings)):
        found.setdefault(recording_id, []).append(name)
    return {recording_id: tuple(sorted(names)) for recording_id, names in found.items()}


# -- needs ----------------------------------------------------------------------------------------


def _of_exports(session: Session, asked: _Asked) -> Iterator[Need]:
    rows = (
        select(Recording.recording_id, Export.until_position, Export.target)
        .join(Recording, Recording.id == Export.recording_fk)
        .where(asked.recordings, Export.state == RUNNING)
    )
    for recording_id, position, target in session.execute(_in_order(rows)):
        yield Need(recording_id, position, EXPORT, _unfinished(target))


def _of_marks(session: Session, asked: _Asked) -> Iterator[Need]:
    """Needs of jobs that have come up to a mark, also where nothing is recorded after it yet."""
    rows = (
        select(Recording.recording_id, Mark.position, Mark.job, Mark.output)
        .join(Recording, Recording.id == Mark.recording_fk)
        .where(asked.recordings)
    )
    for recording_id, position, job, output in session.execute(_in_order(rows)):
        text = (
            f"job {job} has loaded it up to position {position} into {output}; for a job that is"
            f" given up: aerolog pipeline forget {job}"
        )
        yield Need(recording_id, position, PIPELINE, text, reads_on=True)


def _of_first_runs(session: Session, asked: _Asked, now_ms: int) -> Iterator[Need]:
    """Needs of jobs that are active and have no mark yet."""
    going_on = select(PipelineRun).where(PipelineRun.state == RUNNING)
    jobs = sorted({run.job for run in session.scalars(going_on) if run_error(run, now_ms) is None})
    for job in jobs:
        for recording_id, _ in session.execute(_unmarked(asked, job, None)):
            yield Need(recording_id, 0, PIPELINE, f"job {job} runs, and may be reading it")


def _of_jobs(session: Session, asked: _Asked) -> Iterator[Need]:
    """Needs of jobs that have run, for the recordings that their next runs will load first."""
    ended = select(PipelineRun.job, func.max(PipelineRun.started_ms).label("started_ms"))
    ended = ended.where(PipelineRun.state == COMPLETE).group_by(PipelineRun.job)
    last = ended.subquery()
    runs = select(PipelineRun.job, PipelineRun.report).join(
        last, (PipelineRun.job == last.c.job) & (PipelineRun.started_ms == last.c.started_ms)
    )
    for job, report in session.execute(runs.order_by(PipelineRun.job)).all():
        values = json.loads(report or "{}")
        waiting = session.execute(_unmarked(asked, job, values.get("target"))).all()
        chosen = _chosen(session, values.get("conditions")) if waiting else None
        text = f"job {job} has not loaded it; for a job that is given up: aerolog pipeline forget"
        for recording_id, key in waiting:
            if chosen is None or key in chosen:
                yield Need(recording_id, 0, PIPELINE, f"{text} {job}")


def _unmarked(asked: _Asked, job: str, output: str | None) -> Select[Any]:
    """Ids and keys of the recordings of an archive that a job has no mark of."""
    marked = select(Mark.recording_fk).where(Mark.job == job)
    if output is not None:
        marked = marked.where(Mark.output == output)
    rows = select(Recording.recording_id, Recording.id)
    return _in_order(rows.where(asked.recordings, Recording.id.not_in(marked)))


def _chosen(session: Session, conditions: Mapping[str, Any] | None) -> set[int] | None:
    """The keys of the recordings that conditions of a job choose, None when it may choose all."""
    lasting = {
        name: value
        for name, value in (conditions or {}).items()
        if name.replace("_", "-") not in _PASSING
    }
    if not lasting:
        return None
    try:
        return set(chosen_keys(session, checked(parse_search(lasting))))
    except SearchError:
        return None


def _of_replications(session: Session, place: str, asked: _Asked) -> Iterator[Need]:
    """Needs of another archive's active recordings, which are copies of these recordings."""
    copy, home = aliased(Recording), aliased(Archive)
    rows = (
        select(
            Lineage.source_recording_id,
            copy.start_position + copy.size_bytes,
            copy.recording_id,
            home.place,
        )
        .join(copy, copy.id == Lineage.recording_fk)
        .join(home, home.id == copy.archive_fk)
        .where(Lineage.kind == REPLICATION, Lineage.source_archive == place)
        .where(copy.state == State.ACTIVE)
        .order_by(Lineage.source_recording_id, home.place, copy.recording_id)
    )
    if asked.recording_id is not None:
        rows = rows.where(Lineage.source_recording_id == asked.recording_id)
    for recording_id, position, copied, where in session.execute(rows):
        if recording_id is not None:
            text = f"recording {copied} of {where} is being replicated from it"
            yield Need(recording_id, position, REPLICATION, text)


def _of_target(to: str | Path, starts: Mapping[int, int]) -> list[Need]:
    """Needs of the unfinished exports in the manifest of an export's target.

    Raises:
        NeedsUnknownError: there is none, it cannot be read, or it is of other recordings.
    """
    from aerolog.catalog.export.manifest import MANIFEST_NAME, Manifest
    from aerolog.catalog.export.store import open_store

    try:
        target = open_store(to)
        manifest = Manifest.load(target)
    except (AerologError, OSError) as error:
        raise _unknown(f"the export to {to} cannot be looked at: {error}") from error
    if manifest is None:
        raise _unknown(
            f"there is no export in {target.shown}, since {MANIFEST_NAME} is not there: name the"
            " right target, or leave it out"
        )
    needs = []
    for state in manifest.recordings.values():
        if state.until_position is None:
            continue
        start_ms = starts.get(state.recording_id)
        if start_ms is not None and state.descriptor.get("start_timestamp") != start_ms:
            raise _unknown(
                f"the export to {target.shown} is of another recording {state.recording_id} than"
                " the archive has: name a target of this archive, or leave it out"
            )
        needs.append(Need(state.recording_id, state.position, EXPORT, _unfinished(target.shown)))
    return needs


def _unfinished(target: str) -> str:
    return f"an export of it to {target} is not finished: run it again"


def _in_order(rows: Any) -> Select[Any]:
    ordered: Select[Any] = rows.order_by(Recording.recording_id)
    return ordered
