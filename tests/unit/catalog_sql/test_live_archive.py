"""A catalog beside a running archive: an active recording is as long as its counter says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from live_archive import CHANNEL, STREAM_ID, archiving, until
from shared_memory import memory_folder
from sql_content import column

from aerolog.archive.client import AeronArchive
from aerolog.catalog.index import RecordingCatalog, sync_folder, sync_recordings
from aerolog.catalog.index.models import Archive, Recording, Segment
from aerolog.transport.client import Aeron

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def aeron_dir() -> Iterator[Path]:
    with memory_folder() as home:
        yield home / "aeron"


def test_a_recording_under_way_is_synced_as_far_as_it_has_come(
    aeron_dir: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "archive"
    with (
        archiving(aeron_dir, folder, "aeron.archive.id=4711") as service,
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
