"""Reading and exporting the folder of a running archive, from outside."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from live_archive import CHANNEL, STREAM_ID, archiving, until
from shared_memory import memory_folder

from aerolog.archive.client import AeronArchive
from aerolog.archive.format.archive_folder import ArchiveFolder
from aerolog.archive.format.mark_file import ArchiveMarkFile
from aerolog.catalog import export_recordings
from aerolog.testing.recordings import RecordingBuilder
from aerolog.transport.client import Aeron
from aerolog.transport.errors import ActiveArchiveError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from aerolog.archive.service import ArchivingMediaDriver


@pytest.fixture
def aeron_dir() -> Iterator[Path]:
    with memory_folder() as home:
        yield home / "aeron"


@pytest.fixture
def service(aeron_dir: Path, tmp_path: Path) -> Iterator[ArchivingMediaDriver]:
    with archiving(aeron_dir, tmp_path / "archive") as running:
        yield running


@pytest.fixture
def archive(service: ArchivingMediaDriver) -> Iterator[AeronArchive]:
    with Aeron(service.aeron_dir) as aeron, AeronArchive(aeron) as client:
        yield client


def test_a_live_recording_is_read_up_to_its_counter(
    service: ArchivingMediaDriver, archive: AeronArchive, tmp_path: Path
) -> None:
    folder = tmp_path / "archive"
    archive.start_recording(CHANNEL, STREAM_ID)
    sent = [b"%06d" % i * (i % 300) for i in range(500)]
    with archive.aeron.add_exclusive_publication(CHANNEL, STREAM_ID) as publication:
        publication.wait_connected(30, writable=True)
        for message in sent:
            publication.send(message, timeout=30)
        until(lambda: archive.list_recording(0) is not None)
        until(lambda: archive.recording_position(0) == publication.position)
        with ArchiveFolder(folder) as outside:
            recording = outside.recording(0)
            assert recording.is_live
            assert recording.end_position == publication.position
            assert [m.payload for m in recording.messages()] == sent
            publication.send(b"one more", timeout=30)
            until(lambda: archive.recording_position(0) == publication.position)
            recording.refresh()
            assert recording.end_position == publication.position
            assert [m.payload for m in recording.messages()] == [*sent, b"one more"]
        (result,) = export_recordings(folder, [0], tmp_path / "out")
        assert result.until_position == publication.position
        assert pq.read_table(result.path)["payload"].to_pylist() == [*sent, b"one more"]
    until(lambda: archive.stop_position(0) is not None)
    with ArchiveFolder(folder) as outside:
        recording = outside.recording(0)
        assert not recording.is_live
        assert recording.end_position == archive.stop_position(0)


def test_a_recording_that_begins_later_is_found_by_reload(
    service: ArchivingMediaDriver, archive: AeronArchive, tmp_path: Path
) -> None:
    with ArchiveFolder(tmp_path / "archive") as outside:
        assert outside.recordings() == []
        archive.start_recording(CHANNEL, STREAM_ID)
        with archive.aeron.add_exclusive_publication(CHANNEL, STREAM_ID) as publication:
            publication.wait_connected(30, writable=True)
            until(lambda: archive.list_recording(0) is not None)
            outside.catalog.reload()
            (recording,) = outside.recordings()
            assert recording.descriptor.session_id == publication.session_id
            assert list(recording.messages()) == []


def test_the_folder_of_a_live_archive_cannot_be_claimed(
    service: ArchivingMediaDriver, tmp_path: Path
) -> None:
    mark = ArchiveMarkFile.open(tmp_path / "archive")
    assert mark.is_active()
    assert mark.header.pid == os.getpid()
    with pytest.raises(ActiveArchiveError, match="active mark file detected"):
        ArchiveMarkFile.claim(tmp_path / "archive", mark.header)


def test_after_its_end_the_mark_file_says_so(service: ArchivingMediaDriver, tmp_path: Path) -> None:
    service.close()
    assert not ArchiveMarkFile.open(tmp_path / "archive").is_active()


def test_a_fragment_that_recovery_left_out_is_reported_and_gives_way_to_an_extension(
    aeron_dir: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "archive"
    folder.mkdir()
    builder = RecordingBuilder(stream_id=STREAM_ID)
    for _ in range(4):
        builder.add(b"\x11" * 1000)
    builder.write(folder, stopped=False)
    segment = folder / "0-0.rec"
    content = bytearray(segment.read_bytes())
    content[4096:4224] = bytes(128)  # the second page of the last frame, which begins at 3168
    segment.write_bytes(content)
    with (
        archiving(aeron_dir, folder) as service,
        Aeron(service.aeron_dir) as aeron,
        AeronArchive(aeron) as archive,
    ):
        assert archive.stop_position(0) == 3168
        assert segment.read_bytes() == content
        errors = [seen.text for seen in ArchiveMarkFile.open(folder).errors()]
        assert any("0-0.rec" in text and "3168" in text for text in errors), errors
        channel = "aeron:ipc?term-length=64k|mtu=1408|init-term-id=7|term-id=7|term-offset=3168"
        archive.extend_recording(0, channel, STREAM_ID)
        with aeron.add_exclusive_publication(channel, STREAM_ID) as publication:
            publication.wait_connected(30, writable=True)
            publication.send(b"more", timeout=30)
            until(lambda: archive.recording_position(0) == 3168 + 64)
        until(lambda: archive.stop_position(0) == 3168 + 64)
        assert [bytes(m.data) for m in archive.read(0)] == [b"\x11" * 1000] * 3 + [b"more"]
    assert not any(segment.read_bytes()[3168 + 64 :])
