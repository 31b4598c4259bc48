"""Run the whole: ``python -m examples.flights [--out DIR]``.

Exit codes: 0 when all tables are equal, 1 when anything differs or fails, 130 when interrupted.
The recording and the Parquet file stay in the output folder until the next run; all else goes.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from examples.driver_process import ServiceError
from examples.flights import by_time, data, query, stages
from examples.flights.service import archiving_driver
from examples.recorded_stream import MIB, CheckError, timed

from aerolog.archive.client import AeronArchive
from aerolog.transport.client import Aeron
from aerolog.transport.errors import AerologError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from examples.flights.data import CarrierDelay

    from aerolog.catalog.index.search import FoundRecording

OUT = Path(".cache") / "demo"


stage = partial(timed, width=34)


def run(out: Path) -> int:
    """All stages; 0 when the tables are equal."""
    begun = time.monotonic()
    source = data.csv_path()
    messages = stage("read the flights", lambda: data.messages(data.rows(source)))
    count, size = len(messages), sum(map(len, messages))
    print(f"  {count:,} flights, {size:,} bytes as JSON")
    if count != data.FLIGHTS:
        raise CheckError(f"the CSV has {count} flights and not {data.FLIGHTS}")
    shutil.rmtree(out, ignore_errors=True)
    archive_dir, parquet_dir = out / "archive", out / "parquet"
    archive_dir.mkdir(parents=True)
    with archiving_driver(archive_dir) as service:
        with Aeron(service.aeron_dir) as aeron, AeronArchive(aeron) as archive:
            recording_id = stage(
                "publish and record",
                lambda: stages.publish_and_record(aeron, archive, messages),
                count,
                size,
            )
            checked = stage(
                f"replay recording {recording_id}, check bytes",
                lambda: stages.replay_and_check(archive, recording_id, messages),
                count,
                size,
            )
            windows = stage(
                "replay it window by window of time",
                lambda: by_time.by_window(archive, archive_dir, recording_id, messages),
                count,
                size,
            )
            window = windows[len(windows) // 2]
            stage(
                f"replay the middle one at {by_time.SPEED:g}x",
                lambda: by_time.paced(archive, recording_id, window),
            )
        exported = stage(
            "export to Parquet",
            lambda: stages.export(archive_dir, recording_id, parquet_dir, count),
            count,
            size,
        )
        found = stage(
            "sync, tag and search the catalog",
            lambda: stages.tag_and_find(archive_dir, recording_id),
        )
    print(f"  {checked:,} bytes replayed as they were published")
    print("  by the time at which they were recorded (UTC):")
    print("".join(f"    {one}\n" for one in windows), end="")
    print(f"  found by stream, channel and tag: {describe(found)}")
    expected = stage(
        "table straight from the CSV", lambda: data.delays_by_carrier(data.rows(source))
    )
    with stage("start Spark", lambda: query.LocalSpark(out / "spark.log")) as spark:
        by_file = stage(
            "the same by Spark, from Parquet",
            lambda: query.delays_by_carrier(query.exported(spark.session, Path(exported.path))),
            count,
            size,
        )
        by_recording = stage(
            'the same by Spark, format("aerolog")',
            lambda: query.delays_by_carrier(
                query.recorded(spark.session, archive_dir, recording_id)
            ),
            count,
            size,
        )
    print_tables(expected, by_file, by_recording)
    print(f"\nrecording:  {archive_dir.resolve()}  (id {recording_id})")
    print(f"Spark log:  {(out / 'spark.log').resolve()}")
    print(f"Parquet:    {Path(exported.path).resolve()}  ({exported.file_bytes:,} bytes)")
    if not expected == by_file == by_recording:
        print("FAILED: the tables differ", file=sys.stderr)
        return 1
    print(f"all three tables are equal, in {time.monotonic() - begun:.0f} s")
    return 0


def describe(found: FoundRecording) -> str:
    """A recording of the catalog in a line."""
    tags = ", ".join(f"{key}={value}" for key, value in found.tags.items())
    return (
        f"recording {found.recording_id}, {found.state}, {found.size_bytes / MIB:.1f} MiB,"
        f" {found.channel} stream {found.stream_id}, {tags}"
    )


def print_tables(*tables: Sequence[CarrierDelay]) -> None:
    """The tables side by side; a row that differs is marked."""
    titles = ("from the CSV", "Spark, Parquet", "Spark, recording")
    heads = f"{'flights':>9}{'delays':>8}{'average':>11}"
    print("\n" + " " * 7 + "".join(f"  {title:^28}" for title in titles))
    print(f"{'carrier':<7}" + f"  {heads}" * len(tables))
    by_carrier = [{row.carrier: row for row in table} for table in tables]
    for carrier in sorted({row.carrier for table in tables for row in table}, key=str):
        rows = [table.get(carrier) for table in by_carrier]
        mark = "" if rows.count(rows[0]) == len(rows) else "  <-- differs"
        print(f"{carrier!s:<7}" + "".join(f"  {_cells(row)}" for row in rows) + mark)


def _cells(row: CarrierDelay | None) -> str:
    if row is None:
        return f"{'-':>9}{'-':>8}{'-':>11}"
    average = "-" if row.average_delay is None else f"{row.average_delay:.6f}"
    return f"{row.flights:>9,}{row.delays:>8,}{average:>11}"


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
        CheckError,
    ) as error:
        print(f"FAILED: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
