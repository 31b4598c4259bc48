"""A catalog beside a running archive: an active recording is as long as its counter says."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sql_content import column

from aerolog.archive.client import AeronArchive
from aerolog.archive.service import ArchivingMediaDriver
from aerolog.catalog.sql import RecordingCatalog, sync_folder, sync_recordings
from aerolog.catalog.sql.models import Archive, Recording, Segment
from aerolog.transport.client import Aeron
from aerolog.transport.config.sources import Properties

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STREAM_ID = 77
CHANNEL = "aeron:ipc?term-length=64k"
SETTINGS = [
    "aeron.counters.buffer.length=1m",
    "aeron.ipc.term.buffer.length=64k",
    "aeron.archive.segment.file.length=64k",
    "aeron.archive.control.channel.enabled=false",
    "aeron.archive.recording.events.enabled=false",
    "aeron.archive.replication.channel=aeron:ipc",
    "aeron.archive.id=4711",
]


def until(done: Callable[[], bool], timeout_s: float = 30.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not done():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.001)


@pytest.fixture
def aeron_dir() -> Iterator[Path]:
    home = Path(tempfile.mkdtemp(prefix=f"aerolog-test-{os.getpid()}-", dir="/dev/shm"))
    yield home / "aeron"
    shutil.rmtree(home)


def test_a_recording_under_way_is_synced_as_far_as_it_has_come(
    aeron_dir: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "archive"
    properties = Properties.from_command_line([f"-D{setting}" for setting in SETTINGS])
    with (
        ArchivingMediaDriver(aeron_dir, folder, properties=properties) as service,
        Aeron(service.aeron_dir) as aeron,
        AeronArchive(aeron) as archive,
        RecordingCatalog.open(archive_dir=folder) as catalog,
    ):
        assert sync_folder(catalog, folder).problems == []
        assert column(catalog, Archive, "archive_id") == [(4711,)]
        archive.start_recording(CHANNEL, STREAM_ID)
        with aeron.add_exclusive_publication(CHANNEL, STREAM_ID) as publication:
            publication.wait_connected(30, writable=True)
            until(lambda: archive.list_recording(0) is not None)
            for sync in (sync_folder, lambda *args: sync_recordings(*args, [0])):
                for _ in range(70):
                    publication.send(bytes(1000), timeout=30)
                until(lambda: archive.recording_position(0) == publication.position)
                report = sync(catalog, folder)
                assert (report.added + report.changed, report.problems) == (1, [])
                rows = column(catalog, Recording, "state", "stop_position", "size_bytes")
                assert rows == [("active", None, publication.position)]
                assert set(column(catalog, Segment, "state")) == {("present",)}
            end = publication.position
        until(lambda: archive.stop_position(0) == end)
        sync_folder(catalog, folder)
        rows = column(catalog, Recording, "state", "stop_position", "size_bytes")
        assert rows == [("stopped", end, end)]
        archive.purge_recording(0)
        until(lambda: not list(folder.glob("0-*.rec")))
        sync_folder(catalog, folder)
        assert column(catalog, Recording, "state") == [("deleted",)]
        assert column(catalog, Segment, "state") == []
