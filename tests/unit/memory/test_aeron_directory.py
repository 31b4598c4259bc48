"""Taking over a directory: the live are refused, the dead leave their errors.

Spec cnc-and-commands 1.1, 1.2.
"""

import io
import os
import signal
import subprocess
import sys

import pytest

from aerolog.transport.concurrent.clock import SystemClock
from aerolog.transport.errors import (
    ActiveDriverError,
    ConfigurationError,
    DriverTimeoutError,
    FileFormatError,
)
from aerolog.transport.memory.aeron_directory import AeronDirectory
from aerolog.transport.memory.cnc import CncFile, CncHeader, CncLengths, cnc_path
from aerolog.transport.memory.filesystem import RealFileSystem
from aerolog.transport.memory.processes import process_exists

TIMEOUT_MS = 10_000
GONE_PID = 4_000_000
LENGTHS = CncLengths.of(1792, 1152, 1024, 1024)


class Sleeper:
    def __init__(self, clock, each=lambda: None):
        self.clock = clock
        self.each = each
        self.total_s = 0.0

    def __call__(self, seconds):
        self.total_s += seconds
        self.clock.advance_ns(int(seconds * 1e9))
        self.each()


@pytest.fixture
def sleeper(clock):
    return Sleeper(clock)


@pytest.fixture
def directory(disk, clock, sleeper):
    return AeronDirectory(disk.path("aeron"), TIMEOUT_MS, disk.files, clock, sleeper)


def start_driver(directory, pid, age_ms=0):
    directory.claim(delete_on_start=True)
    now_ms = directory.clock.now_epoch_ms()
    cnc = CncFile.create(directory.file_system, directory.path, CncHeader(LENGTHS, 1, now_ms, pid))
    cnc.to_driver.consumer_heartbeat_ms = now_ms - age_ms
    cnc.publish()
    return cnc


def test_a_fresh_directory_is_made(disk, directory):
    directory.claim()
    assert disk.files.list_dir(directory.path) == []


def test_a_live_driver_is_refused_and_left_alone(disk, directory, sleeper):
    cnc = start_driver(directory, os.getpid())
    with pytest.raises(ActiveDriverError, match=r"Active media driver detected: .*aeron/cnc\.dat"):
        directory.claim()
    assert disk.files.exists(cnc_path(directory.path))
    assert cnc.version == 0x200
    assert sleeper.total_s == 0


def test_an_old_heartbeat_means_dead(disk, directory):
    cnc = start_driver(directory, os.getpid(), age_ms=TIMEOUT_MS + 1)
    directory.claim()
    assert disk.files.list_dir(directory.path) == []
    assert cnc.version == 0x200


def test_a_heartbeat_exactly_as_old_as_the_timeout_means_alive(directory):
    cnc = start_driver(directory, os.getpid(), age_ms=TIMEOUT_MS)
    assert directory.is_driver_active()
    assert cnc.heartbeat_ms > 0


def test_an_orderly_close_means_dead(directory):
    cnc = start_driver(directory, os.getpid())
    cnc.mark_closed()
    assert not directory.is_driver_active()


def test_a_file_that_nobody_has_mapped_means_dead_at_once(directory, sleeper):
    start_driver(directory, os.getpid())
    assert not directory.is_driver_active()
    assert sleeper.total_s == 0


def test_a_loss_report_that_nobody_writes_to_means_dead_at_once(disk, directory, sleeper):
    cnc = start_driver(directory, os.getpid())  # a client still has it mapped
    report = disk.files.create_mapped(disk.path("aeron/loss-report.dat"), 4096)
    assert directory.is_driver_active()
    del report
    reader = disk.files.open_mapped(disk.path("aeron/loss-report.dat"), writable=False)
    assert not directory.is_driver_active()
    assert sleeper.total_s == 0
    assert cnc.heartbeat_ms > 0
    assert reader.length == 4096


def test_a_process_that_is_not_seen_is_alive_while_its_heartbeat_is_fresh(directory, clock):
    cnc = start_driver(directory, GONE_PID)
    with pytest.raises(ActiveDriverError):
        directory.claim()
    clock.advance_ns(TIMEOUT_MS * 1_000_000)
    assert directory.is_driver_active()
    clock.advance_ns(1_000_000)
    assert not directory.is_driver_active()
    assert cnc.heartbeat_ms > 0


def test_a_driver_that_starts_is_waited_for(directory, sleeper, clock):
    cnc = start_driver(directory, os.getpid())
    cnc.mapped.store_i32(0, 0)
    sleeper.each = lambda: cnc.mapped.store_i32(0, 0x200)
    assert directory.is_driver_active()
    cnc.mapped.store_i32(0, 0)
    sleeper.each = lambda: None
    with pytest.raises(DriverTimeoutError, match="created but not initialised"):
        directory.claim()
    assert sleeper.total_s >= TIMEOUT_MS / 1000


def test_another_major_version_is_not_removed(disk, directory):
    cnc = start_driver(directory, os.getpid())
    cnc.mapped.store_i32(0, 0x10000)
    with pytest.raises(FileFormatError, match="not compatible"):
        directory.claim()
    assert disk.files.exists(cnc_path(directory.path))


@pytest.mark.parametrize("content", [b"", bytes(128), b"\0\2" + bytes(200), b"\xff" * 64])
def test_a_damaged_file_is_replaced(disk, directory, content):
    directory.claim()
    disk.files.write_bytes(cnc_path(directory.path), content)
    disk.files.make_dirs(directory.path + "/publications")
    directory.claim()
    assert disk.files.list_dir(directory.path) == []


def test_delete_on_start_refuses_a_live_driver_s_directory(disk, directory):
    cnc = start_driver(directory, os.getpid())
    with pytest.raises(ActiveDriverError, match="Active media driver detected"):
        directory.claim(delete_on_start=True)
    assert disk.files.exists(cnc_path(directory.path))
    assert cnc.version == 0x200


def test_delete_on_start_removes_a_dead_driver_s_files_with_its_errors(disk, directory, clock):
    cnc = start_driver(directory, os.getpid())
    cnc.error_log(clock).record("what happened\n")
    cnc.mark_closed()
    directory.claim(delete_on_start=True)
    assert disk.files.list_dir(directory.path) == []
    assert disk.files.list_dir(disk.root) == ["aeron"]


@pytest.mark.parametrize("deletes", [False, True])
def test_a_folder_that_never_was_a_driver_s_is_refused(disk, directory, deletes):
    disk.files.make_dirs(directory.path + "/images")
    names = [f"thesis-{number}.txt" for number in range(4)]
    for name in names:
        disk.files.write_bytes(f"{directory.path}/{name}", b"years of work")
    with pytest.raises(ConfigurationError, match=r"has no cnc\.dat, and holds thesis-0.*, \.\.\.;"):
        directory.claim(delete_on_start=deletes)
    assert sorted(disk.files.list_dir(directory.path)) == ["images", *names]


def test_what_a_killed_driver_left_of_its_directory_is_removed(disk, directory):
    disk.files.make_dirs(directory.path + "/publications")
    disk.files.write_bytes(directory.path + "/loss-report.dat", bytes(64))
    directory.claim()
    assert disk.files.list_dir(directory.path) == []


def test_the_wait_for_another_driver_s_start_is_announced(directory):
    cnc = start_driver(directory, os.getpid())
    cnc.mapped.store_i32(0, 0)
    log = io.StringIO()
    with pytest.raises(DriverTimeoutError, match="created but not initialised"):
        directory.claim(log=log)
    path = cnc_path(directory.path)
    assert log.getvalue() == f"INFO: waiting up to 10 s for the driver that starts in {path}\n"


def test_errors_of_a_dead_driver_are_saved(disk, directory, clock):
    cnc = start_driver(directory, os.getpid())
    cnc.error_log(clock).record("what happened\n")
    cnc.mark_closed()
    log = io.StringIO()
    directory.claim(log=log)
    (name,) = (name for name in disk.files.list_dir(disk.root) if name != "aeron")
    assert log.getvalue() == f"WARNING: Existing errors saved to: {disk.path(name)}\n"
    assert name.startswith("aeron-20")
    assert name.endswith("-error.log")
    saved = disk.files.read_bytes(disk.path(name)).decode()
    assert "1 observations from" in saved
    assert "what happened" in saved
    assert saved.endswith("\n1 distinct errors observed.\n")


def test_no_errors_leave_no_file(disk, directory):
    start_driver(directory, os.getpid()).mark_closed()
    log = io.StringIO()
    directory.claim(log=log)
    assert disk.files.list_dir(disk.root) == ["aeron"]
    assert log.getvalue() == ""


def test_warnings_tell_what_is_found(directory, clock):
    start_driver(directory, os.getpid(), age_ms=20_000).mapped.flush()
    cnc = CncFile.open(directory.file_system, directory.path, writable=True)
    log = io.StringIO()
    directory.claim(warn_if_exists=True, log=log)
    assert cnc.heartbeat_ms > 0
    assert log.getvalue().splitlines() == [
        f"WARNING: {directory.path} exists",
        f"INFO: Aeron CnC file exists: {cnc_path(directory.path)}",
        "INFO: Aeron toDriver consumer heartbeat age is (ms): 20000",
    ]


DRIVER = """
import os, signal, sys
from aerolog.transport.concurrent.clock import SystemClock
from aerolog.transport.memory.cnc import CncFile, CncHeader, CncLengths
from aerolog.transport.memory.filesystem import RealFileSystem
now = SystemClock().now_epoch_ms()
header = CncHeader(CncLengths.of(1792, 1152, 1024, 1024), 1, now, os.getpid())
cnc = CncFile.create(RealFileSystem(), sys.argv[1], header)
cnc.to_driver.consumer_heartbeat_ms = now
cnc.publish()
print("up", flush=True)
signal.pause()
"""


def test_a_killed_process_frees_its_directory_at_once(tmp_path):
    path = str(tmp_path / "aeron")
    directory = AeronDirectory(path)
    directory.claim()
    with subprocess.Popen(
        [sys.executable, "-c", DRIVER, path], stdout=subprocess.PIPE, text=True
    ) as driver:
        assert driver.stdout.readline() == "up\n"
        with pytest.raises(ActiveDriverError):
            directory.claim()
        driver.send_signal(signal.SIGKILL)
        driver.wait(30)
    before_ns = SystemClock().now_ns()
    directory.claim()
    assert SystemClock().now_ns() - before_ns < 5_000_000_000
    assert RealFileSystem().list_dir(path) == []


def test_processes_are_told_from_none():
    assert process_exists(os.getpid())
    assert process_exists(1)
    assert not process_exists(GONE_PID)
    assert not process_exists(0)
    assert not process_exists(-1)
    assert not process_exists(2**40)
