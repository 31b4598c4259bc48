"""``spark.readStream`` over recordings that are being made."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from live_archive import CHANNEL, STREAM_ID, archiving
from live_archive import until as waited
from pyspark.errors import StreamingQueryException
from shared_memory import memory_folder

from aerolog.archive.client import AeronArchive
from aerolog.archive.format.catalog_file import CatalogFile
from aerolog.testing.recordings import RecordingBuilder
from aerolog.transport.client import Aeron

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

until = partial(waited, patience_s=400.0, pause_s=0.02)


@pytest.fixture
def live(tmp_path: Path) -> Iterator[AeronArchive]:
    """A client of an archive that records in ``tmp_path / "archive"``."""
    with (
        memory_folder() as home,
        archiving(home / "aeron", tmp_path / "archive"),
        Aeron(home / "aeron") as aeron,
        AeronArchive(aeron) as client,
    ):
        yield client


def run_to_now(spark: Any, archive: Path, home: Path, **options: str) -> list[Any]:
    """All rows of the table that a query makes of what there is, with one checkpoint."""
    frame = spark.readStream.format("aerolog").options(archive=str(archive), **options).load()
    query = (
        frame.writeStream.format("parquet")
        .option("checkpointLocation", str(home / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(home / "table"))
    )
    assert query.awaitTermination(600)
    return sorted(spark.read.parquet(str(home / "table")).collect(), key=lambda row: row.position)


def test_a_live_recording_is_followed_exactly_once_across_restarts(
    registered: Any, live: AeronArchive, tmp_path: Path
) -> None:
    folder = tmp_path / "archive"
    live.start_recording(CHANNEL, STREAM_ID)
    sent: list[bytes] = []
    with live.aeron.add_exclusive_publication(CHANNEL, STREAM_ID) as publication:
        publication.wait_connected(60, writable=True)

        def send(count: int) -> None:
            for _ in range(count):
                message = b"%06d" % len(sent) * (1 + len(sent) % 400)
                publication.send(message, timeout=60)
                sent.append(message)
            until(lambda: live.list_recording(0) is not None, "the recording")
            until(lambda: live.recording_position(0) == publication.position, "all to be recorded")

        send(300)
        rows = run_to_now(registered, folder, tmp_path, maxRows="170")
        assert [bytes(row.payload) for row in rows] == sent
        send(200)
        rows = run_to_now(registered, folder, tmp_path, maxBytes="100k")
        assert [bytes(row.payload) for row in rows] == sent
        assert rows[-1].position == publication.position
    until(lambda: live.stop_position(0) is not None, "the recording to stop")
    rows = run_to_now(registered, folder, tmp_path)
    assert [bytes(row.payload) for row in rows] == sent


def test_a_query_that_runs_on_sees_what_comes(
    registered: Any, live: AeronArchive, tmp_path: Path
) -> None:
    live.start_recording(CHANNEL, STREAM_ID)
    with live.aeron.add_exclusive_publication(CHANNEL, STREAM_ID) as publication:
        publication.wait_connected(60, writable=True)
        until(lambda: live.list_recording(0) is not None, "the recording")
        frame = (
            registered.readStream.format("aerolog_payloads")
            .option("archive", str(tmp_path / "archive"))
            .load()
        )
        query = (
            frame.writeStream.format("memory")
            .queryName("running")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .start()
        )
        try:
            for number in range(3):
                publication.send(b"message %d" % number, timeout=60)
                until(
                    lambda n=number: (
                        query.exception() is not None
                        or registered.table("running").count() == n + 1
                    ),
                    f"message {number}",
                )
                assert query.exception() is None
        finally:
            query.stop()
        rows = registered.table("running").orderBy("position").collect()
        assert [bytes(row.payload) for row in rows] == [b"message %d" % n for n in range(3)]


def test_what_was_purged_before_it_was_read_fails_the_query(
    registered: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "archive"
    folder.mkdir()
    builder = RecordingBuilder()
    for _ in range(200):
        builder.add(b"x" * 1000)
    builder.write(folder)
    with CatalogFile.open(folder) as catalog:
        catalog.update_stop_position(0, 10 * 1056)
    assert len(run_to_now(registered, folder, tmp_path)) == 10
    with CatalogFile.open(folder) as catalog:
        catalog.update_stop_position(0, builder.position)
        catalog.update_start_position(0, 65536)
    (folder / "0-0.rec").unlink()
    with pytest.raises(StreamingQueryException, match="recording 0 from position 10560 to 65536"):
        run_to_now(registered, folder, tmp_path)
    rows = run_to_now(registered, folder, tmp_path, failOnDataLoss="false")
    assert len(rows) == 10 + 200 - 62
    assert [row.position for row in rows] == sorted({row.position for row in rows})
