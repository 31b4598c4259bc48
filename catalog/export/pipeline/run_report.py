"""The report of a run, which is printed, given as JSON and kept in the catalog."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from aerolog.transport.secrets import repr_without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from aerolog.catalog.export.manifest import Manifest
    from aerolog.catalog.export.pipeline.load_plan import Plan
    from aerolog.catalog.export.pipeline.units import UnitResult

SHOWN_REJECTS = 5


@repr_without_secrets
@dataclass(frozen=True, slots=True)
class RunReport:
    """What a run did.

    Attributes:
        job: name of the job.
        run_id: names the run.
        target: folder or URL that it wrote to, without secrets.
        conditions: by which the job chooses recordings; retention keeps those not loaded yet.
        recordings: by status, see ``load_plan.PlannedRecording``.
        stream_bytes: bytes of the recordings' streams that were read.
        messages: number of messages in them.
        payload_bytes: bytes of payload in these messages.
        rows: number of rows that were loaded.
        rejected: number of messages and rows that were rejected.
        rejects: the first rejects: recording id, position, reason.
        kept: by rule, rows that break it and were loaded all the same.
        skipped_fragments: fragments of messages that recordings do not have whole.
        checksum_mismatches: frames that do not match their checksum.
        files: number of files that were written.
        file_bytes: their length in all.
        seconds: from the beginning of the run to its commit.
        spark_seconds: how many of these passed until Spark was up.
        recovered: ids of earlier runs that this one finished.
        remarks: what a person should know.
    """

    job: str
    run_id: str
    target: str
    recordings: dict[str, int]
    conditions: Mapping[str, Any] = field(default_factory=dict)
    stream_bytes: int = 0
    messages: int = 0
    payload_bytes: int = 0
    rows: int = 0
    rejected: int = 0
    rejects: tuple[tuple[int, int, str], ...] = ()
    kept: dict[str, int] = field(default_factory=dict)
    skipped_fragments: int = 0
    checksum_mismatches: int = 0
    files: int = 0
    file_bytes: int = 0
    seconds: float = 0.0
    spark_seconds: float = 0.0
    recovered: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def rows_per_second(self) -> float:
        """Rows a second, counted from when Spark was up."""
        return self._rate(self.rows)

    @property
    def bytes_per_second(self) -> float:
        """Bytes of the streams a second, counted from when Spark was up."""
        return self._rate(self.stream_bytes)

    def _rate(self, count: int) -> float:
        working = self.seconds - self.spark_seconds
        return count / working if working > 0 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """The report as a dictionary, with rates."""
        rates = {
            "rows_per_second": round(self.rows_per_second, 1),
            "bytes_per_second": round(self.bytes_per_second, 1),
        }
        return asdict(self) | rates

    def to_json(self) -> str:
        """The report as a line of JSON."""
        return json.dumps(self.to_dict())


def first_rejects(results: Iterable[UnitResult]) -> tuple[tuple[int, int, str], ...]:
    """The first rejects of all units."""
    return tuple(one for result in results for one in result.rejects)[:SHOWN_REJECTS]


def commit_report(
    manifest: Manifest,
    *,
    target: str,
    conditions: Mapping[str, Any],
    plan: Plan | None = None,
    rejects: tuple[tuple[int, int, str], ...] = (),
    seconds: float = 0.0,
    spark_seconds: float = 0.0,
    recovered: tuple[str, ...] = (),
) -> RunReport:
    """The report of a commit, with what else is known of its run."""
    run = manifest.run
    assert run is not None
    ranges = [one for ranges in manifest.ranges.values() for one in ranges]
    return RunReport(
        job=run.job,
        run_id=run.run_id,
        target=target,
        recordings={} if plan is None else plan.counts(),
        conditions=conditions,
        stream_bytes=sum(one.until_position - one.from_position for one in ranges),
        messages=sum(one.messages for one in ranges),
        payload_bytes=sum(one.payload_bytes for one in ranges),
        rows=sum(one.rows for one in ranges),
        rejected=sum(one.rejected for one in ranges),
        rejects=rejects,
        kept=dict(run.kept),
        skipped_fragments=sum(one.skipped_fragments for one in ranges),
        checksum_mismatches=sum(one.checksum_mismatches for one in ranges),
        files=len(manifest.files),
        file_bytes=sum(one.bytes for one in manifest.files.values()),
        seconds=seconds,
        spark_seconds=spark_seconds,
        recovered=recovered,
        remarks=() if plan is None else tuple(plan.remarks()),
    )
