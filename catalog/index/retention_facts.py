"""What a SQL catalog tells retention: labels to select by, and readers that have not finished.

An archive knows its present replays. It does not know of an export that was interrupted and will be
resumed, of a pipeline that loads new data every night, or of another archive that replicates in
parts. A catalog knows them, and this module turns them into needs. It only reads, and works whether
or not the archive is running.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import select
from sqlalchemy.orm import aliased

from aerolog.archive.retention.facts import Need
from aerolog.catalog.index.job_runs import run_error
from aerolog.catalog.index.journal import place_of
from aerolog.catalog.index.models import (
    READABLE,
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

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sqlalchemy import Select
    from sqlalchemy.orm import Session

REPLICATION: Final = "replication"
EXPORT: Final = "export"
PIPELINE: Final = "pipeline"


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogFacts:
    """What is known of an archive's recordings besides its folder.

    Attributes:
        labels: recording id -> key -> value of its tags; recordings without tags are left out.
        names: recording id -> its names, sorted; recordings without names are left out.
        needs: the needs of exports, pipelines and replications: data from a need's position on must
            stay.
        problems: what could not be determined; retention should delete nothing because of such a
            gap.
        has_catalog: whether there is a catalog that knows the archive.
    """

    labels: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    names: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    needs: tuple[Need, ...] = ()
    problems: tuple[str, ...] = ()
    has_catalog: bool = False


def retention_facts(
    archive_dir: str | Path,
    catalog: RecordingCatalog | str | None = None,
    *,
    exports: Iterable[str | Path] = (),
) -> CatalogFacts:
    """Collect the labels and needs of an archive's recordings.

    A pipeline needs each recording that it has loaded from its mark on, and during its first run
    also all recordings without a mark. An unfinished export needs what it has not written yet. A
    replication needs what its copy of the recording does not have yet.

    Args:
        archive_dir: the archive's folder.
        catalog: an open catalog, or its URL; None uses the one in the folder, if there is one.
        exports: further targets whose manifests are read: folders or URLs.

    Raises:
        CatalogError: the catalog cannot be queried.
    """
    place = place_of(archive_dir)
    problems: list[str] = []
    needs = [need for to in exports for need in _of_target(to, problems)]
    with ExitStack() as stack:
        opened = _opened(stack, place, catalog)
        if opened is None:
            return CatalogFacts(needs=tuple(needs), problems=tuple(problems))
        session = stack.enter_context(opened.session())
        archive_fk = session.scalar(select(Archive.id).where(Archive.place == place))
        if archive_fk is None:
            problems.append(
                f"the archive {place} is not in the catalog {opened.url}; run: aerolog catalog sync"
                f" --archive-dir {place}"
            )
            return CatalogFacts(needs=tuple(needs), problems=tuple(problems))
        return CatalogFacts(
            labels=_labels(session, archive_fk),
            names=_names(session, archive_fk),
            needs=(
                *needs,
                *_of_exports(session, archive_fk),
                *_of_marks(session, archive_fk),
                *_of_first_runs(session, archive_fk, opened.clock.now_epoch_ms()),
                *_of_replications(session, place),
            ),
            problems=tuple(problems),
            has_catalog=True,
        )


def _opened(
    stack: ExitStack, place: str, catalog: RecordingCatalog | str | None
) -> RecordingCatalog | None:
    if isinstance(catalog, str):
        return stack.enter_context(RecordingCatalog.open(catalog))
    if catalog is not None:
        return catalog
    if "://" in place or not Path(place, DATABASE_NAME).exists():
        return None
    return stack.enter_context(RecordingCatalog.open(archive_dir=place))


def _labels(session: Session, archive_fk: int) -> dict[int, dict[str, str]]:
    found: dict[int, dict[str, str]] = {}
    rows = select(Recording.recording_id, Tag.key, Tag.value).join(
        Recording, Recording.id == Tag.recording_fk
    )
    for recording_id, key, value in session.execute(rows.where(_is_of(archive_fk))):
        found.setdefault(recording_id, {})[key] = value
    return found


def _names(session: Session, archive_fk: int) -> dict[int, tuple[str, ...]]:
    found: dict[int, list[str]] = {}
    rows = select(Recording.recording_id, Name.name).join(
        Recording, Recording.id == Name.recording_fk
    )
    for recording_id, name in session.execute(rows.where(_is_of(archive_fk))):
        found.setdefault(recording_id, []).append(name)
    return {recording_id: tuple(sorted(names)) for recording_id, names in found.items()}


def _of_exports(session: Session, archive_fk: int) -> Iterator[Need]:
    rows = (
        select(Recording.recording_id, Export.until_position, Export.target)
        .join(Recording, Recording.id == Export.recording_fk)
        .where(_is_of(archive_fk), Recording.state.in_(READABLE), Export.state == RUNNING)
    )
    for recording_id, position, target in session.execute(_in_order(rows)):
        yield Need(recording_id, position, EXPORT, _unfinished(target))


def _of_marks(session: Session, archive_fk: int) -> Iterator[Need]:
    rows = (
        select(Recording.recording_id, Mark.position, Mark.job, Mark.output)
        .join(Recording, Recording.id == Mark.recording_fk)
        .where(_is_of(archive_fk), Recording.state.in_(READABLE))
        .where(Mark.position < Recording.start_position + Recording.size_bytes)
    )
    for recording_id, position, job, output in session.execute(_in_order(rows)):
        text = f"job {job} has loaded it up to position {position} into {output}"
        yield Need(recording_id, position, PIPELINE, text)


def _of_first_runs(session: Session, archive_fk: int, now_ms: int) -> Iterator[Need]:
    """Needs of jobs that are active and have no mark yet."""
    going_on = select(PipelineRun).where(PipelineRun.state == RUNNING)
    jobs = sorted({run.job for run in session.scalars(going_on) if run_error(run, now_ms) is None})
    for job in jobs:
        marked = select(Mark.recording_fk).where(Mark.job == job)
        rows = select(Recording.recording_id).where(
            _is_of(archive_fk), Recording.state.in_(READABLE), Recording.id.not_in(marked)
        )
        for recording_id in session.scalars(_in_order(rows)):
            yield Need(recording_id, 0, PIPELINE, f"job {job} runs, and may be reading it")


def _of_replications(session: Session, place: str) -> Iterator[Need]:
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
    for recording_id, position, copied, where in session.execute(rows):
        if recording_id is not None:
            text = f"recording {copied} of {where} is being replicated from it"
            yield Need(recording_id, position, REPLICATION, text)


def _of_target(to: str | Path, problems: list[str]) -> list[Need]:
    """Needs of the unfinished exports in the manifest of an export's target."""
    from aerolog.catalog.export.manifest import Manifest
    from aerolog.catalog.export.store import open_store

    try:
        target = open_store(to)
        manifest = Manifest.load(target)
    except OSError as error:
        problems.append(f"the export to {to} cannot be looked at: {error}")
        return []
    states: list[Any] = [] if manifest is None else list(manifest.recordings.values())
    return [
        Need(state.recording_id, state.position, EXPORT, _unfinished(target.shown))
        for state in states
        if state.until_position is not None
    ]


def _unfinished(target: str) -> str:
    return f"an export of it to {target} is not finished: run it again"


def _is_of(archive_fk: int) -> Any:
    return Recording.archive_fk == archive_fk


def _in_order(rows: Any) -> Select[Any]:
    ordered: Select[Any] = rows.order_by(Recording.recording_id)
    return ordered
