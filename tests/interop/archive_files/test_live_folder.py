"""Our readers on the folder of a running archive of either kind, killed or stopped after."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from waits import wait_until

from aerolog.archive.client import AeronArchive
from aerolog.archive.format.archive_folder import ArchiveFolder
from aerolog.archive.format.mark_file import ArchiveMarkFile
from aerolog.catalog import export_recordings, open_recording
from aerolog.transport.client import Aeron

pytestmark = pytest.mark.interop

CHANNEL = "aeron:ipc?term-length=64k"
SENT = [b"%05d" % i * (i % 400) for i in range(600)]


@pytest.mark.parametrize("implementation", ["ours", "reference"])
def test_a_live_recording_is_read_to_its_counter_and_after_the_end_to_its_stop(
    implementation: str, start_server: Any, stream_id: int, tmp_path: Path
) -> None:
    server = start_server(implementation, "archiving-driver")
    with Aeron(server.aeron_dir) as aeron, AeronArchive(aeron) as archive:
        archive.start_recording(CHANNEL, stream_id)
        with aeron.add_exclusive_publication(CHANNEL, stream_id) as publication:
            publication.wait_connected(10, writable=True)
            (entry,) = wait_until(
                lambda: list(archive.recordings(stream_id=stream_id)), "the recording"
            )
            for message in SENT:
                publication.send(message, timeout=30)
            end = publication.position
            wait_until(
                lambda: archive.recording_position(entry.recording_id) == end, "all to be recorded"
            )
            assert ArchiveMarkFile.open(server.archive_dir).is_active()
            with ArchiveFolder(server.archive_dir) as folder:
                recording = folder.recording(entry.recording_id)
                assert recording.descriptor == entry.with_changes(
                    control_session_id=0, correlation_id=0
                )
                assert recording.is_live
                assert recording.end_position == end
                assert [m.payload for m in recording.messages()] == SENT
            (live,) = export_recordings(server.archive_dir, [entry.recording_id], tmp_path)
            assert (live.rows, live.until_position) == (len(SENT), end)
        wait_until(lambda: archive.stop_position(entry.recording_id) == end, "its stop")
    with open_recording(server.archive_dir, entry.recording_id) as stopped:
        assert not stopped.recording.is_live
        assert stopped.to_arrow()["payload"].to_pylist() == SENT
    assert server.process.stop() == 0
    assert not ArchiveMarkFile.open(server.archive_dir).is_active()


@pytest.mark.parametrize("implementation", ["ours", "reference"])
def test_what_a_killed_archive_recorded_is_read_to_its_last_complete_frame(
    implementation: str, start_server: Any, stream_id: int
) -> None:
    server = start_server(implementation, "archiving-driver")
    with Aeron(server.aeron_dir) as aeron, AeronArchive(aeron) as archive:
        archive.start_recording(CHANNEL, stream_id)
        publication = aeron.add_exclusive_publication(CHANNEL, stream_id)
        publication.wait_connected(10, writable=True)
        (entry,) = wait_until(
            lambda: list(archive.recordings(stream_id=stream_id)), "the recording"
        )
        for message in SENT:
            publication.send(message, timeout=30)
        end = publication.position
        wait_until(
            lambda: archive.recording_position(entry.recording_id) == end, "all to be recorded"
        )
        server.process.kill()
    # The counter still stands in the dead driver's memory; without it the frames tell the same.
    for _ in range(2):
        with ArchiveFolder(server.archive_dir) as folder:
            recording = folder.recording(entry.recording_id)
            assert recording.descriptor.is_active
            assert recording.end_position == end
            assert [m.payload for m in recording.messages()] == SENT
        Path(server.aeron_dir, "cnc.dat").unlink(missing_ok=True)
