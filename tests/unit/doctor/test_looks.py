"""Looks at real files: what is read from cnc.dat, logs, archive folders and the machine."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from golden_data import GOLDEN_ARCHIVE
from mark_headers import archive_header

from aerolog.archive.format.checksum import checksum_for
from aerolog.archive.format.mark_file import ArchiveMarkFile
from aerolog.archive.protocol.counter_types import ArchiveCounterType
from aerolog.archive.retention.holds import Holds
from aerolog.archive.time_index import index_path
from aerolog.archive.verification import verify_recording
from aerolog.testing import ManualClock
from aerolog.testing.recordings import RecordingBuilder, write_time_index
from aerolog.tools.doctor.check_groups import examine
from aerolog.tools.doctor.examination import Examination
from aerolog.tools.doctor.findings import Area
from aerolog.tools.doctor.segment_contents import look_inside
from aerolog.tools.doctor.system_snapshot import Case
from aerolog.tools.views import machine
from aerolog.tools.views.errors import ViewError

from .driver_files import NOW_MS, TERM, DriverFiles


@pytest.fixture
def files(tmp_path):
    return DriverFiles(tmp_path / "aeron")


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "archive"
    made.mkdir()
    return made


def write_recording(folder, *, messages=200, stopped=True, **options):
    """A recording of messages of 1000 bytes; four segments and a half by default."""
    builder = RecordingBuilder(**options)
    for n in range(messages):
        builder.add(bytes([n % 256]) * 1000)
    return builder, builder.write(folder, stopped=stopped)


def found_in(**options):
    """Findings of one look, by code."""
    examination = Examination(**options)
    return {one.code: one for one in examine(Case(examination.look()))}


def patch(path, offset, data):
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def test_a_frame_that_was_never_committed_is_found(files):
    files.publication(position=3 * TERM + 4096, read=3 * TERM + 1024, committed=3 * TERM + 1024)
    examination = Examination(str(files.folder))
    case = Case(examination.look(), examination.look())
    (finding,) = [one for one in examine(case) if one.code == "publication-blocked"]
    assert finding.figures == {"position": 3 * TERM + 1024, "waiting": 3072}


def test_a_committed_frame_is_no_block(files):
    files.publication(position=TERM + 4096, read=TERM + 1024, committed=TERM + 4096)
    look = Examination(str(files.folder)).look()
    assert look.driver.logs[10].blocked_at == -1
    assert look.driver.logs[10].tail == TERM + 4096
    assert look.driver.logs[10].is_connected


@pytest.mark.parametrize("length", [0, 100, 4096, 5000])
def test_a_damaged_log_is_passed_over(files, length):
    path = files.publication(position=4096, read=0, committed=4096)
    path.write_bytes(os.urandom(length))
    look = Examination(str(files.folder)).look()
    assert set(look.driver.logs) <= {10}


def test_a_driver_whose_process_is_gone_is_dead_as_soon_as_it_misses_its_beats(tmp_path):
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    dead = DriverFiles(tmp_path / "dead", pid=done.pid)
    dead.beat(age_ms=3_500)
    assert found_in(aeron_dir=str(dead.folder))["driver-dead"].figures["pid"] == done.pid


class PassingClock(ManualClock):
    """A clock on which a tenth of a second passes from one reading of the time to the next."""

    def now_epoch_ms(self) -> int:
        now_ms = super().now_epoch_ms()
        self.step_epoch_ms(100)
        return now_ms


def test_a_look_settles_when_a_process_of_nowhere_gives_no_more_signs(tmp_path):
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    dead = DriverFiles(tmp_path / "dead", pid=done.pid)
    dead.beat(age_ms=2_500)
    looks = Examination(str(dead.folder), clock=PassingClock(NOW_MS))
    settled = looks.settle(looks.look())
    assert [one.code for one in examine(Case(settled)) if one.severity == 3] == ["driver-dead"]


def test_a_driver_that_ended_is_told_from_one_that_died(files):
    files.cnc.mark_closed()
    assert "driver-closed" in found_in(aeron_dir=str(files.folder))


def test_sockets_and_their_drops_are_those_of_the_kernel():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        receiver.bind(("127.0.0.1", 0))
        port = receiver.getsockname()[1]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for _ in range(100):
                sender.sendto(bytes(1000), ("127.0.0.1", port))
        (seen,) = [one for one in machine.sockets(os.getpid()) if one.port == port]
    assert 50 < seen.drops <= 100
    assert seen.waiting > 0


def test_processes_and_disks_are_told(tmp_path):
    assert machine.process(os.getpid()).exists is True
    assert machine.process(os.getpid()).state in "RS"
    assert machine.process(-1).exists is None
    disk = machine.disk("/dev/shm")
    assert (disk.mount, disk.is_memory) == ("/dev/shm", True)
    assert machine.disk(str(tmp_path / "none")) is None


def test_an_archive_without_faults_has_no_findings(folder):
    write_recording(folder)
    write_recording(folder, start_position=TERM + 4096, checksum=checksum_for("CRC-32C"))
    assert set(found_in(archive_dir=str(folder))) == {"archive-mark-unreadable"}
    inside = look_inside(str(folder), deep=True)
    assert inside.damages == {}
    assert inside.frames > 400


def test_a_segment_that_is_gone_is_named(folder):
    write_recording(folder)
    (folder / f"0-{TERM}.rec").unlink()
    finding = found_in(archive_dir=str(folder))["segment-missing"]
    assert finding.figures["file"] == f"0-{TERM}.rec"
    assert (finding.figures["first"], finding.figures["last"]) == (TERM, 2 * TERM)


def test_a_segment_that_was_cut_is_named(folder):
    write_recording(folder)
    os.truncate(folder / f"0-{TERM}.rec", 1000)
    finding = found_in(archive_dir=str(folder))["segment-cut"]
    assert finding.figures["length"] == 1000
    assert finding.figures["needed"] == TERM


@pytest.mark.parametrize(
    ("offset", "data"),
    [(0, b"\xfb\xff\xff\xff"), (6, b"\x09"), (8, b"\x40"), (16, b"\x63"), (20, b"\x63")],
    ids=["length", "type", "term offset", "stream id", "term id"],
)
def test_the_first_frame_of_every_segment_is_looked_at(folder, offset, data):
    write_recording(folder)
    patch(folder / f"0-{TERM}.rec", offset, data)
    finding = found_in(archive_dir=str(folder))["segment-damaged"]
    assert (finding.figures["file"], finding.figures["offset"]) == (f"0-{TERM}.rec", 0)
    assert finding.figures["position"] == TERM


def test_damage_in_the_middle_is_found_by_the_deep_look_alone(folder):
    write_recording(folder)
    # The second frame of the second segment.
    patch(folder / f"0-{TERM}.rec", 1056 + 16, b"\x63\x63")
    assert "segment-damaged" not in found_in(archive_dir=str(folder))
    finding = found_in(archive_dir=str(folder), deep=True)["segment-damaged"]
    assert finding.figures["position"] == TERM + 1056


def test_damage_in_the_last_term_is_found_at_once(folder):
    builder, _ = write_recording(folder)
    last = builder.position - builder.position % TERM
    patch(folder / f"0-{last}.rec", 1056, b"\xfb\xff\xff\xff")
    assert found_in(archive_dir=str(folder))["segment-damaged"].figures["position"] == last + 1056


def test_frames_that_do_not_match_their_checksums_are_counted(folder):
    builder, _ = write_recording(folder, checksum=checksum_for("CRC-32"))
    last = builder.position - builder.position % TERM
    patch(folder / f"0-{last}.rec", 1056 + 100, b"\xff")
    assert "1 frames" in found_in(archive_dir=str(folder))["checksum-wrong"].figures["text"]


def test_an_entry_that_does_not_match_its_checksum_is_found(folder):
    write_recording(folder, checksum=checksum_for("CRC-32"))
    catalog = folder / "archive.catalog"
    at = 32 + 32 + 24  # the start timestamp, which nobody relies on
    patch(catalog, at, b"\x01")
    assert "descriptor-checksum-wrong" in found_in(archive_dir=str(folder))


def test_a_recording_left_by_a_crash_is_told_with_its_end(folder):
    builder, _ = write_recording(folder, stopped=False)
    finding = found_in(archive_dir=str(folder))["recording-unfinished"]
    assert finding.figures["end"] == builder.position


def test_files_of_no_use_are_told_apart(folder):
    write_recording(folder, messages=1)
    for name in ("9-0.rec", "0-0.rec.del", "foo-1.rec", "0-x.rec"):
        (folder / name).touch()
    found = found_in(archive_dir=str(folder))
    assert found["segments-orphaned"].figures["files"] == "9-0.rec"
    assert found["deletions-left"].figures["files"] == "0-0.rec.del"
    assert found["segment-misnamed"].figures["files"] == "0-x.rec, foo-1.rec"


def test_what_lies_beside_recordings_is_looked_at(folder):
    for _ in range(3):
        write_recording(folder)
    for recording_id in (0, 1):
        write_time_index(folder, recording_id, [(NOW_MS * 1_000_000, 0)])
        assert verify_recording(folder, recording_id, note=True) == []
    Path(index_path(folder, 1)).write_bytes(b"nothing")
    patch(folder / f"1-{TERM}.rec", 4, b"\xff")
    assert verify_recording(folder, 1, note=True)
    Holds.open(folder).add(0, "audit", NOW_MS - 1, now_ms=NOW_MS - 9)
    found = found_in(archive_dir=str(folder))

    assert found["index-missing"].figures["ids"] == "2"
    assert found["index-stale"].subject == "recording 1"
    assert found["health-damaged"].figures["files"] == f"1-{TERM}.rec"
    assert found["never-verified"].figures["ids"] == "2"
    assert found["hold-expired"].figures["ids"] == "0"


def test_a_damaged_index_is_found_by_the_deep_look(folder):
    write_recording(folder)
    path = Path(write_time_index(folder, 0, [(NOW_MS * 1_000_000 + n, n * 32) for n in range(600)]))
    patch(path, 4096 + 40, b"\x77")
    assert "index-damaged" not in found_in(archive_dir=str(folder))
    assert found_in(archive_dir=str(folder), deep=True)["index-damaged"].subject == "recording 0"


def test_of_a_damaged_catalog_what_can_be_read_is_judged(folder):
    write_recording(folder)
    write_recording(folder)
    patch(folder / "archive.catalog", 32 + 32 + 64, b"\x03")  # the first one's term length
    (folder / "1-0.rec").unlink()
    found = found_in(archive_dir=str(folder))
    assert found["catalog-damaged"]
    assert found["segment-missing"].subject == "recording 1"


def test_the_archive_s_mark_file_leads_to_its_driver(folder, files):
    write_recording(folder)
    mark = claim(folder, files.folder)
    mark.ready()
    look = Examination(archive_dir=str(folder)).look()
    assert look.driver.aeron_dir == str(files.folder)
    assert look.archive.mark.process.exists
    mark.error_log().record("java.io.IOException: disk on fire")
    found = found_in(archive_dir=str(folder))
    assert "disk on fire" in found["error-logged"].what


def test_a_running_archive_whose_driver_is_gone_misses_it(folder, tmp_path):
    write_recording(folder)
    claim(folder, tmp_path / "gone").ready()
    assert "driver-unreadable" in found_in(archive_dir=str(folder))


def test_an_archive_that_ended_misses_no_driver(folder, tmp_path):
    write_recording(folder)
    mark = claim(folder, tmp_path / "gone")
    mark.terminated()
    assert set(found_in(archive_dir=str(folder))) == {"archive-closed"}


def test_a_recording_that_nobody_writes_is_found_in_a_running_archive(folder, files):
    write_recording(folder, stopped=False)
    claim(folder, files.folder).ready()
    assert "recording-without-writer" in found_in(archive_dir=str(folder))
    key = (0).to_bytes(8, "little") + (1001).to_bytes(4, "little") + (0).to_bytes(4, "little")
    files.counters.allocate(
        ArchiveCounterType.RECORDING_POSITION,
        "rec-pos: 0 1001 10 aeron:ipc - archiveId=1",
        key + (1).to_bytes(8, "little"),
        value=64,
    )
    assert "recording-without-writer" not in found_in(archive_dir=str(folder))


def test_a_folder_of_the_reference_has_what_was_done_to_it():
    examination = Examination(archive_dir=str(GOLDEN_ARCHIVE), deep=True)
    found = examine(Case(examination.look()))
    # Whether its process id exists here is chance.
    files = {one.code: one for one in found if one.kind.area is not Area.PROCESSES}
    files = {code: one for code, one in files.items() if one.kind.area is not Area.DISK}
    assert set(files) == {"recording-unfinished", "recording-invalid", "segments-beside"}
    assert files["recording-invalid"].figures["ids"] == "10"
    assert files["segments-beside"].figures["files"] == "9-0.rec"
    ends = {one.subject: one.figures.get("end") for one in found if "unfinished" in one.code}
    assert ends == {"recording 13": 72_480, "recording 14": 9_024}


def test_nothing_to_look_at_is_an_error(tmp_path):
    with pytest.raises(ViewError, match="no such directory"):
        Examination(str(tmp_path / "none")).look()
    with pytest.raises(ViewError, match="no such folder"):
        Examination(archive_dir=str(tmp_path / "none")).look()


def claim(folder, aeron_dir):
    """The mark file of an archive of this process that starts now."""
    header = archive_header(
        pid=os.getpid(), control_channel="aeron:ipc", aeron_directory=str(aeron_dir)
    )
    return ArchiveMarkFile.claim(folder, header, clock=ManualClock(epoch_ms=NOW_MS))
