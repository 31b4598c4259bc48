"""Run the whole: ``python -m examples.flights [--out DIR]``.

Exit codes: 0 when both tables are equal, 1 when anything differs or fails, 130 when interrupted.
The recording and the Parquet file stay in the output folder until the next run; all else goes.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from examples.flights import data, query, stages
from examples.flights.service import ArchivingDriver, ServiceError

from aerolog.archive.client import AeronArchive
from aerolog.transport.client import Aeron
from aerolog.transport.errors import AerologError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from examples.flights.data import CarrierDelay

T = TypeVar("T")
OUT = Path(".cache") / "demo"
MIB = 1024 * 1024


class Report:
    """Prints a line a stage, with its time and rates."""

    def __init__(self) -> None:
        self.begun = time.monotonic()

    def stage(self, name: str, work: Callable[[], T], count: int = 0, size: int = 0) -> T:
        """Do ``work`` and say how long ``count`` messages of ``size`` bytes in all took."""
        begun = time.monotonic()
        result = work()
        seconds = time.monotonic() - begun
        rates = ""
        if count:
            rates = f"{count / seconds:>12,.0f} messages/s {size / MIB / seconds:>8,.1f} MiB/s"
        print(f"{name:<34}{seconds:>7.2f} s{rates}", flush=True)
        return result

    def total(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self.begun


def run(out: Path) -> int:
    """All stages; 0 when the tables are equal."""
    report = Report()
    source = data.csv_path()
    messages = report.stage("read the flights", lambda: data.messages(data.rows(source)))
    count, size = len(messages), sum(map(len, messages))
    print(f"  {count:,} flights, {size:,} bytes as JSON")
    if count != data.FLIGHTS:
        raise stages.CheckError(f"the CSV has {count} flights and not {data.FLIGHTS}")
    shutil.rmtree(out, ignore_errors=True)
    archive_dir, parquet_dir = out / "archive", out / "parquet"
    archive_dir.mkdir(parents=True)
    with ArchivingDriver(archive_dir) as service:
        with Aeron(service.aeron_dir) as aeron, AeronArchive(aeron) as archive:
            recording_id = report.stage(
                "publish and record",
                lambda: stages.publish_and_record(aeron, archive, messages),
                count,
                size,
            )
            checked = report.stage(
                f"replay recording {recording_id}, check bytes",
                lambda: stages.replay_and_check(archive, recording_id, messages),
                count,
                size,
            )
        exported = report.stage(
            "export to Parquet",
            lambda: stages.export(archive_dir, recording_id, parquet_dir, count),
            count,
            size,
        )
    print(f"  {checked:,} bytes replayed as they were published")
    expected = report.stage(
        "table straight from the CSV", lambda: data.delays_by_carrier(data.rows(source))
    )
    with report.stage("start Spark", lambda: query.LocalSpark(out / "spark.log")) as spark:
        found = report.stage(
            "table by Spark from the Parquet file",
            lambda: query.delays_by_carrier(spark.session, Path(exported.path)),
            count,
            size,
        )
    print_tables(expected, found)
    print(f"\nrecording:  {archive_dir.resolve()}  (id {recording_id})")
    print(f"Spark log:  {(out / 'spark.log').resolve()}")
    print(f"Parquet:    {Path(exported.path).resolve()}  ({exported.file_bytes:,} bytes)")
    if expected != found:
        print("FAILED: the two tables differ", file=sys.stderr)
        return 1
    print(f"both tables are equal, in {report.total():.0f} s")
    return 0


def print_tables(expected: Sequence[CarrierDelay], found: Sequence[CarrierDelay]) -> None:
    """Both tables side by side; a row that differs is marked."""
    print(f"\n{'':9}{'from the CSV':^30}  {'by Spark':^30}")
    heads = f"{'flights':>9}{'delays':>9}{'average':>12}"
    print(f"{'carrier':<9}{heads}  {heads}")
    by_carrier = {row.carrier: row for row in found}
    for row in expected:
        other = by_carrier.pop(row.carrier, None)
        mark = "" if row == other else "  <-- differs"
        print(f"{row.carrier:<9}{_cells(row)}  {_cells(other)}{mark}")
    for other in by_carrier.values():
        print(f"{other.carrier!s:<9}{_cells(None)}  {_cells(other)}  <-- differs")


def _cells(row: CarrierDelay | None) -> str:
    if row is None:
        return f"{'-':>9}{'-':>9}{'-':>12}"
    average = "-" if row.average_delay is None else f"{row.average_delay:.6f}"
    return f"{row.flights:>9,}{row.delays:>9,}{average:>12}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m examples.flights", description=__doc__)
    parser.add_argument("--out", type=Path, default=OUT, help=f"output folder ({OUT})")
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        return run(parser.parse_args(arguments).out)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except (
        AerologError,
        OSError,
        ServiceError,
        data.MissingDataError,
        query.QueryError,
        stages.CheckError,
    ) as error:
        print(f"FAILED: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
