"""The reference's tools and archive on a folder that holds our SQL catalog and its journal."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import peer
import pytest
from sql_content import column, content

from aerolog.archive.client import AeronArchive
from aerolog.catalog.index import RecordingCatalog, rebuild, sync_folder
from aerolog.catalog.index.journal import record
from aerolog.catalog.index.journal_file import JOURNAL_NAME
from aerolog.catalog.index.models import Recording, Tag
from aerolog.catalog.index.recording_catalog import DATABASE_NAME
from aerolog.testing.recordings import RecordingBuilder
from aerolog.transport.client import Aeron

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.interop, pytest.mark.usefixtures("reference")]

ALWAYS_YES = "y\n" * 1000


def filled(folder: Path, count: int) -> None:
    random = Random(6)
    for stream_id in range(count):
        builder = RecordingBuilder(stream_id=stream_id)
        for _ in range(150):
            builder.add(random.randbytes(random.choice([0, 1, 500, 1377, 5000])))
        builder.write(folder)


def test_the_references_tool_works_on_the_folder_and_the_catalog_follows(tmp_path: Path) -> None:
    filled(tmp_path, 3)
    with RecordingCatalog.open(archive_dir=tmp_path) as catalog:
        sync_folder(catalog, tmp_path, fingerprints=True)
        record(catalog, tmp_path, "tag", recording_id=1, key="carrier", value="AA")
        # Verified while the database is open, with its write-ahead log beside it.
        with catalog.session() as session:
            session.connection()
            said = peer.archive_tool(tmp_path, "verify", "-a")
        assert [f"(recordingId={number}) OK" for number in range(3)] == said.split("\n")[:3]
        assert "ERR" not in said
        peer.archive_tool(tmp_path, "mark-invalid", "1")
        sync_folder(catalog, tmp_path)
        states = column(catalog, Recording, "state")
        assert states == [("stopped",), ("invalid",), ("stopped",)]
        peer.archive_tool(tmp_path, "compact", stdin=ALWAYS_YES)
        assert sync_folder(catalog, tmp_path).problems == []
        states = column(catalog, Recording, "state")
        assert states == [("stopped",), ("purged",), ("stopped",)]
        before = content(catalog)
        assert rebuild(catalog, tmp_path).problems == []
        assert content(catalog) == before
        assert column(catalog, Tag, "key", "value") == [("carrier", "AA")]


def test_the_references_archive_starts_on_the_folder_and_leaves_ours_alone(
    start_server: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "archive"
    folder.mkdir()
    filled(folder, 2)
    with RecordingCatalog.open(archive_dir=folder) as catalog:
        sync_folder(catalog, folder)
        record(catalog, folder, "name", recording_id=0, name="first", given=True)
        before = content(catalog)
    journal = (folder / JOURNAL_NAME).read_bytes()
    server = start_server("reference", "archiving-driver", archive_dir=folder)
    with (
        Aeron(server.aeron_dir) as aeron,
        AeronArchive(aeron) as archive,
        RecordingCatalog.open(archive_dir=folder) as catalog,
    ):
        assert [one.recording_id for one in archive.recordings()] == [0, 1]
        report = sync_folder(catalog, folder)
        assert (report.added, report.changed, report.problems) == (0, 0, [])
        assert len(content(catalog)["recordings"]) == len(before["recordings"]) == 2
    assert (folder / JOURNAL_NAME).read_bytes() == journal
    assert (folder / DATABASE_NAME).is_file()
