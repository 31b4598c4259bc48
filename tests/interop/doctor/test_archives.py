"""Real archives, broken: the doctor names the cause."""

from __future__ import annotations

import os
import shutil
import signal

import prerequisites
import pytest
from prerequisites import needs_mounts
from waits import wait_until

from aerolog.archive.client import AeronArchive
from aerolog.tools.doctor.findings import Severity
from aerolog.transport.errors import ArchiveError, RegistrationError

pytestmark = pytest.mark.interop

CHANNEL = "aeron:ipc?term-length=64k"
SEGMENT = 128 * 1024
CHECKED = {
    "aeron.archive.record.checksum": "org.agrona.checksum.Crc32c",
    "aeron.archive.replay.checksum": "org.agrona.checksum.Crc32c",
}

LONG_LIVED = {
    "aeron.client.liveness.timeout": "120s",
    "aeron.publication.unblock.timeout": "150s",
}


def record(client, stream_id, count=500):
    """Records messages of 1000 bytes: 4 segments and a bit; gives the id and the publication."""
    with AeronArchive(client) as archive:
        archive.start_recording(CHANNEL, stream_id)
        publication = client.add_exclusive_publication(CHANNEL, stream_id)
        publication.wait_connected(30, writable=True)
        (entry,) = wait_until(
            lambda: list(archive.recordings(stream_id=stream_id)), "the recording"
        )
        for number in range(count):
            publication.send(bytes([number % 256]) * 1000, timeout=30)
        end = publication.position
        wait_until(
            lambda: archive.recording_position(entry.recording_id) == end, "all to be recorded"
        )
    return entry.recording_id, publication


@pytest.fixture(scope="module")
def recorded(request, reference, tmp_path_factory):
    """Folders of stopped archives of either kind, with one checksummed recording."""
    from peer.lifetimes import server_starter, stop_all

    from aerolog.transport.client import Aeron

    servers, folders, found = [], [], {}
    start = server_starter(servers, folders, tmp_path_factory.mktemp("recorded"))
    for kind in ("ours", "reference"):
        server = start(kind, "archiving-driver", properties=CHECKED)
        with Aeron(server.aeron_dir) as client:
            record(client, 77)[1].close()
            with AeronArchive(client) as archive:
                wait_until(
                    lambda a=archive: next(iter(a.recordings())).stop_position > 0, "its stop"
                )
        server.process.stop()
        found[kind] = server.archive_dir
    yield found
    stop_all(servers, folders)


@pytest.fixture
def folder(recorded, implementation, tmp_path):
    """A copy of such a folder, for one test to damage."""
    copy = tmp_path / "copy"
    shutil.copytree(recorded[implementation], copy)
    return copy


def test_a_stopped_archive_that_is_whole_has_no_findings(folder, doctor):
    found = {one.code for one in doctor(None, folder).look(deep=True)}
    assert found <= {"archive-closed", "archive-disk-low", "archive-disk-full"}


def test_a_segment_that_was_removed_is_missing(folder, doctor):
    (folder / f"0-{SEGMENT}.rec").unlink()
    found = doctor(None, folder).find("segment-missing")
    assert (found.subject, found.severity) == ("recording 0", Severity.CRITICAL)
    assert found.figures["file"] == f"0-{SEGMENT}.rec"
    assert (found.figures["first"], found.figures["last"]) == (SEGMENT, 2 * SEGMENT)


def test_a_segment_that_was_cut_is_cut(folder, doctor):
    os.truncate(folder / f"0-{SEGMENT}.rec", 5_000)
    found = doctor(None, folder).find("segment-cut")
    assert found.figures["length"] == 5_000
    assert found.figures["needed"] == SEGMENT


def test_a_byte_that_changed_is_found_by_its_checksum(folder, doctor):
    path = folder / f"0-{SEGMENT}.rec"
    data = bytearray(path.read_bytes())
    data[20_000] ^= 0xFF
    path.write_bytes(data)
    found = doctor(None, folder).find("checksum-wrong", deep=True)
    assert found.figures["file"] == f"0-{SEGMENT}.rec"


def test_a_frame_that_is_none_is_found(folder, doctor):
    path = folder / f"0-{2 * SEGMENT}.rec"
    data = bytearray(path.read_bytes())
    data[20:24] = b"\xff\xff\xff\x7f"
    path.write_bytes(data)
    found = doctor(None, folder).find("segment-damaged")
    assert found.figures["position"] == 2 * SEGMENT
    assert "term id" in found.what


def test_a_catalog_entry_that_changed_is_found_by_its_checksum(folder, doctor):
    path = folder / "archive.catalog"
    data = bytearray(path.read_bytes())
    data[32 + 32 + 24] ^= 0x01
    path.write_bytes(data)
    found = doctor(None, folder).find("descriptor-checksum-wrong")
    assert found.subject == "recording 0"


def test_archives_that_were_killed_while_they_recorded(start_server, doctor, connect, stream_id):
    servers = [start_server(kind, "archiving-driver") for kind in ("ours", "reference")]
    recorded, ends = [], {}
    for server in servers:
        recording_id, publication = record(connect(server), stream_id)
        recorded.append((server, recording_id, publication))
        ends[recording_id, server.aeron_dir] = publication.position
        healthy = {one.code for one in doctor(None, server.archive_dir).look()}
        assert not healthy & {
            "recording-without-writer",
            "recording-unfinished",
            "segment-missing",
            "segment-damaged",
        }
    for server in servers:
        server.process.kill()
    for server, recording_id, _ in recorded:  # a publication that nobody holds is closed
        look = doctor(None, server.archive_dir)
        assert look.find("archive-dead").severity is Severity.CRITICAL
        assert look.find("driver-dead").subject == f"driver {server.aeron_dir}"
        left = look.find("recording-unfinished")
        assert left.subject == f"recording {recording_id}"
        assert left.figures["end"] == ends[recording_id, server.aeron_dir]


def test_a_recorder_that_stands_still_is_named(start_server, doctor, connect, stream_id):
    driver = start_server("ours", "driver", properties=LONG_LIVED)
    archive = start_server(
        "ours",
        "archive",
        aeron_dir=driver.spec.aeron_dir,
        properties={"aeron.archive.local.control.channel": "aeron:ipc"},
    )
    client = connect(driver)
    recording_id, publication = record(client, stream_id, count=1)
    archive.process.process.send_signal(signal.SIGSTOP)
    try:
        wait_until(lambda: publication.offer(bytes(1000)) < 0, "back pressure")
        held = doctor(None, archive.archive_dir).find(
            "publisher-blocked", lambda f: f"stream {stream_id}," in f.subject
        )
        assert f"recording {recording_id}" in held.what
    finally:
        archive.process.process.send_signal(signal.SIGCONT)
    publication.close()


@pytest.fixture
def small_disk(tmp_path):
    """A memory file system of 200 MiB of this test's own."""
    with prerequisites.small_disk(tmp_path / "small", 200 << 20, lazy=True) as path:
        yield path


def fill(folder, leave):
    """Takes the room of a file system but for some."""
    found = os.statvfs(folder)
    with (folder / "filler").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, found.f_bavail * found.f_frsize - leave)


@needs_mounts
def test_an_archive_on_a_full_disk(start_server, doctor, implementation, connect, small_disk):
    server = start_server(implementation, "archiving-driver", archive_dir=small_disk / "archive")
    fill(small_disk, leave=50 << 20)
    found = doctor(None, server.archive_dir).find("archive-disk-full")
    assert found.figures["free"] < 128 << 20
    with AeronArchive(connect(server)) as archive, pytest.raises(ArchiveError):
        archive.start_recording(CHANNEL, 5)


@needs_mounts
def test_a_driver_on_a_full_disk(start_server, doctor, implementation, connect, small_disk):
    server = start_server(implementation, "driver", aeron_dir=small_disk / "aeron")
    client = connect(server)
    publication = client.add_publication("aeron:ipc?term-length=1m", 5)
    fill(small_disk, leave=2 << 20)
    found = doctor(server.aeron_dir).find("driver-disk-full")
    assert found.figures["needed"] > 3 << 20
    assert found.figures["mount"] == str(small_disk)
    with pytest.raises(RegistrationError):
        client.add_publication("aeron:ipc?term-length=1m", 6)
    doctor(server.aeron_dir).find("error-logged", lambda f: "storage" in f.what)
    publication.close()
