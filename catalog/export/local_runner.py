"""The runner that exports in this process: it writes what a target does not have of recordings.

An export first notes in the manifest how far it will go with each recording. The next run goes on
with an export that was killed: files that the manifest lists stay, and those that were under way
are written again, under the same names.
"""

from __future__ import annotations

from dataclasses import asdict
from itertools import chain
from typing import TYPE_CHECKING, Any

from aerolog.archive.format.archive_folder import ScanTotals
from aerolog.archive.format.descriptor import RecordingDescriptor
from aerolog.catalog.arrow.record_times import SettledTimes
from aerolog.catalog.export.catalog_notes import CatalogNotes
from aerolog.catalog.export.errors import TargetMismatchError
from aerolog.catalog.export.layout import ROWS, end_of_part
from aerolog.catalog.export.manifest import Manifest
from aerolog.catalog.export.part_writer import Part, PartWriter, WrittenPart
from aerolog.catalog.export.plan import Planner, RecordingExport, Request
from aerolog.catalog.export.report import ExportProgress, ExportReport, ExportResult, MissingRange
from aerolog.catalog.export.store import TEMPORARY
from aerolog.transport.errors import ArchiveError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from aerolog.catalog.decoders import Decoder
    from aerolog.catalog.export.options import ExportOptions
    from aerolog.catalog.export.sources import Source, SourceRecording
    from aerolog.catalog.export.store import Store
    from aerolog.catalog.index import RecordingCatalog


def export(
    wanted: Iterable[tuple[Source, int]],
    target: Store,
    options: ExportOptions,
    *,
    decoder: Decoder | None = None,
    request: Request | None = None,
    catalog: RecordingCatalog | str | None = None,
) -> ExportReport:
    """Export recordings to a target, one after the other.

    Args:
        wanted: sources and ids of recordings.
        target: of the files.
        options: of the layout.
        decoder: of the payloads; without one, rows hold the payloads.
        request: what to export of the recordings; by default all that is new.
        catalog: to note the exports in, open or by URL; by default those in the folders.

    Raises:
        Exception: as for `aerolog.catalog.export.export_parquet`.
    """
    request = request or Request()
    begun_ns = request.clock.now_ns()
    # All recordings must be there before anything is written.
    opened = [
        (source, source.recording(recording_id, options.time_source))
        for source, recording_id in wanted
    ]
    with CatalogNotes(catalog, target) as notes, target.lock():
        manifest, settled = _open_manifest(target, options, decoder, opened, request.skip_damage)
        if manifest.is_under_way:
            manifest.touch()
            manifest.save(target, request.clock.now_ns())
        abandoned = target.sweep()
        planner = Planner(target, manifest, options, request, decoded=settled is not None)
        jobs = [planner.plan(source, recording) for source, recording in opened]
        _check_distinct(jobs)
        manifest.save(target, request.clock.now_ns())
        notes.begun(jobs)
        exporter = _Exporter(
            target, manifest, planner, options, PartWriter(target, options, settled), request
        )
        report = ExportReport(target.shown, abandoned=abandoned, uploads=_uploads(target, jobs))
        unnoted: list[RecordingExport] = []
        try:
            for job in jobs:
                report.results.append(exporter.export(job))
                unnoted.append(job)
                if manifest.save(target, request.clock.now_ns(), at_once=False):
                    notes.finished(unnoted, manifest)
        finally:
            manifest.save(target, request.clock.now_ns())
            notes.finished(unnoted, manifest)
    report.unnoted = notes.read_only
    report.seconds = request.seconds_since(begun_ns)
    return report


class _Exporter:
    """Writes jobs, one after the other."""

    def __init__(
        self,
        target: Store,
        manifest: Manifest,
        planner: Planner,
        options: ExportOptions,
        writer: PartWriter,
        request: Request,
    ) -> None:
        self._target = target
        self._manifest = manifest
        self._planner = planner
        self._options = options
        self._writer = writer
        self._request = request

    def export(self, job: RecordingExport) -> ExportResult:
        """Write what is missing of a recording."""
        job.begun_ns = self._request.clock.now_ns()
        if not self._options.partitioned:
            self._export_whole(job)
        elif job.damage is None:
            if job.state.until_position is not None:
                self._export_parts(job)
            self._export_newer(job)
        if job.state.damage != (job.damage or ""):
            job.state.damage = job.damage or ""
            self._manifest.touch()
        return self._result(job)

    def _export_newer(self, job: RecordingExport) -> None:
        """Add what the recording has got since the export that was just gone on with."""
        start = max(job.state.position, job.recording.start_position)
        until = self._planner.end_of(job.recording, start)
        if job.damage is not None or until <= job.state.position:
            return
        job.state.descriptor = asdict(job.recording.descriptor)
        job.state.until_position = until
        job.state.times = job.recording.settled_times().to_json()
        job.resumed = False
        self._manifest.touch()
        self._manifest.save(self._target, self._request.clock.now_ns())
        self._export_parts(job)

    def _export_parts(self, job: RecordingExport) -> None:
        """Write the files of a partitioned layout up to where the plan ends."""
        state = job.state
        assert state.until_position is not None
        until = state.until_position
        term_length = job.recording.descriptor.term_buffer_length
        while job.damage is None and self._skip_purged(job, until) < until:
            end = end_of_part(state.position, self._options.file_length, term_length)
            written = self._part(job, state.position, min(end, until), sparse=True)
            self._take(job, written)
            if written.damage is not None and not self._was_purged(job):
                job.damage = str(written.damage)
            self._manifest.save(self._target, self._request.clock.now_ns(), at_once=False)
        state.until_position = None
        self._manifest.touch()

    def _export_whole(self, job: RecordingExport) -> None:
        """Write the one file of a recording, unless it is there."""
        state = job.state
        if state.until_position is None:
            job.ranges = self._manifest.ranges[job.key]
            job.files = [file for _, file in self._manifest.files_of(job.key)]
            job.start = job.ranges[-1].from_position
            return
        job.start = job.recording.start_position
        written = self._part(job, job.start, state.until_position, sparse=False)
        self._manifest.drop(job.key)
        self._take(job, written)
        if written.damage is not None:
            job.damage = str(written.damage)
        state.until_position = None

    def _part(self, job: RecordingExport, start: int, until: int, *, sparse: bool) -> WrittenPart:
        part = Part(
            recording=job.recording,
            descriptor=RecordingDescriptor(**job.state.descriptor),
            folders=job.folders,
            archive=job.archive,
            from_position=start,
            until_position=until,
            sparse=sparse,
            threaded=job.source.threaded,
            settled=SettledTimes.from_json(job.state.times),
            skip_damage=self._request.skip_damage,
        )
        return self._writer.write(part, self._follower(job))

    def _take(self, job: RecordingExport, written: WrittenPart) -> None:
        job.ranges.append(written.range)
        job.files += written.files
        job.state.position = written.range.until_position
        self._manifest.add([written.range], written.files)

    def _skip_purged(self, job: RecordingExport, until: int) -> int:
        """Note what the recording has lost before it was exported; where to go on."""
        first = min(job.recording.start_position, until)
        if first > job.state.position:
            job.purged.append(MissingRange(job.state.position, first))
            job.state.position = first
            self._manifest.touch()
        return job.state.position

    def _was_purged(self, job: RecordingExport) -> bool:
        """Whether the range that could not be read was purged meanwhile."""
        try:
            now = job.source.recording(job.recording_id, self._options.time_source)
        except ArchiveError:
            return False
        if now.start_position <= job.state.position:
            return False
        job.recording = now
        return True

    def _follower(self, job: RecordingExport) -> Callable[[int, ScanTotals], object]:
        """A function that tells the progress over all parts of a recording."""
        rows = sum(one.rows for one in job.ranges)
        size = sum(one.payload_bytes for one in job.ranges)
        until = job.state.until_position or 0

        def follow(position: int, totals: ScanTotals) -> None:
            if self._request.progress is not None:
                self._request.progress(
                    ExportProgress(
                        job.recording_id,
                        position,
                        job.start,
                        until,
                        rows + totals.rows,
                        size + totals.payload_bytes,
                    )
                )

        return follow

    def _result(self, job: RecordingExport) -> ExportResult:
        ranges, folder = job.ranges, job.folders.folder(ROWS)
        path = folder if self._options.partitioned else job.folders.path(ROWS, 0, 0)
        return ExportResult(
            recording_id=job.recording_id,
            path=self._target.full_path(path),
            file_bytes=sum(file.bytes for file in job.files),
            until_position=job.state.position,
            rows=sum(one.rows for one in ranges),
            payload_bytes=sum(one.payload_bytes for one in ranges),
            skipped_fragments=sum(one.skipped_fragments for one in ranges),
            checksum_mismatches=sum(one.checksum_mismatches for one in ranges),
            seconds=self._request.seconds_since(job.begun_ns),
            from_position=job.start,
            files=sum(file.table == ROWS for file in job.files),
            rejected=sum(one.rejected - len(one.gaps) for one in ranges),
            damage=job.damage,
            gaps=tuple(MissingRange(*gap) for one in ranges for gap in one.gaps),
            purged=tuple(job.purged),
        )


def _open_manifest(
    target: Store,
    options: ExportOptions,
    decoder: Decoder | None,
    opened: list[tuple[Source, SourceRecording]],
    skip_damage: bool,
) -> tuple[Manifest, Decoder | None]:
    """A target's manifest, and the decoder with the schema that its files have.

    Raises:
        TargetMismatchError: the target was exported in another way, or is not an export's.
    """
    keys = list(options.partition_by)
    found = Manifest.load(target)
    if found is not None:
        settled = _settled(target, found, decoder)
        found.check_layout(target, {"partition_by": keys, "decoder": _described(settled)})
        return found, settled
    if options.partitioned:
        strange = [path for path, _ in target.files() if path.endswith(".parquet")]
        if strange:
            raise TargetMismatchError(
                f"{target.shown} has Parquet files and no manifest, such as {strange[0]}: export"
                " to an empty folder"
            )
    if decoder is not None and decoder.needs_sample:
        from aerolog.catalog.decoders.batches import sampled_decoder

        samples = _samples(opened, options, skip_damage)
        decoder = sampled_decoder(decoder, chain.from_iterable(samples))
    made = Manifest({"partition_by": keys, "decoder": _described(decoder)})
    made.touch()
    return made, decoder


def _settled(target: Store, manifest: Manifest, decoder: Decoder | None) -> Decoder | None:
    """A decoder whose schema was inferred when the export began goes on with that schema."""
    before = manifest.layout.get("decoder")
    if decoder is None or not decoder.needs_sample or before is None:
        return decoder
    same = decoder.options.items() <= before["options"].items()
    if before["name"] != decoder.name or not same:
        raise TargetMismatchError(
            f"{target.shown} was exported with decoder {before['name']} and options"
            f" {before['options']}: use another target, or the same options"
        )
    from aerolog.catalog.decoders import make_decoder

    return make_decoder(decoder.name, before["options"])


def _described(decoder: Decoder | None) -> dict[str, Any] | None:
    if decoder is None:
        return None
    return {"name": decoder.name, "options": dict(sorted(decoder.options.items()))}


def _samples(
    opened: list[tuple[Source, SourceRecording]], options: ExportOptions, skip_damage: bool
) -> Any:
    """Batches of one recording after the other, from which a decoder infers its schema."""
    from aerolog.catalog.decoders.batches import SCANNED_COLUMNS

    for _, recording in opened:
        yield recording.batches(
            SCANNED_COLUMNS,
            from_position=recording.start_position,
            until_position=recording.end_position,
            assemble=options.assemble,
            totals=ScanTotals(recording.start_position),
            skip_damage=skip_damage,
        )


def _uploads(target: Store, jobs: list[RecordingExport]) -> list[str]:
    """Files of which an export had uploaded a part when it was killed."""
    if not target.keeps_parts:
        return []
    folder = target.full_path(TEMPORARY)
    return [
        f"{folder}: a file of recording {job.recording_id} from position {job.state.position} on"
        for job in jobs
        if job.resumed
    ]


def _check_distinct(jobs: list[RecordingExport]) -> None:
    """Two archives may have recordings of one id: the layout has to keep them apart."""
    seen: set[str] = set()
    for job in jobs:
        if job.key in seen:
            raise TargetMismatchError(
                f"recordings of two archives have the id {job.recording_id}: partition by"
                " archive_id as well"
            )
        seen.add(job.key)
