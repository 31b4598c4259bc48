"""The cnc file: bytes, order of creation, waits of a client, damage (spec cnc-and-commands 2)."""

import struct

import pytest

from aerolog.testing import FakeFileSystem
from aerolog.transport.concurrent.clock import SystemClock
from aerolog.transport.errors import (
    ActiveDriverError,
    ConfigurationError,
    DriverTimeoutError,
    FileFormatError,
    StorageSpaceError,
)
from aerolog.transport.memory.cnc import CncFile, CncHeader, CncLengths, cnc_path, version_text
from aerolog.transport.memory.filesystem import RealFileSystem

VERSION_0_2_0 = 0x200
HEARTBEAT_OFFSET = 128 + 1024 + 640


class Waiting:
    """A sleep that moves the clock and does what is due at each look."""

    def __init__(self, clock, *steps):
        self.clock = clock
        self.steps = list(steps)
        self.slept = []

    def __call__(self, seconds):
        self.slept.append(seconds)
        self.clock.advance_ns(int(seconds * 1e9))
        if self.steps:
            self.steps.pop(0)()


def connect(disk, clock, sleep, timeout_ms=200):
    return CncFile.connect(
        disk.root, timeout_ms=timeout_ms, file_system=disk.files, clock=clock, sleep=sleep
    )


def go_live(cnc, clock):
    cnc.to_driver.consumer_heartbeat_ms = clock.now_epoch_ms()
    cnc.publish()


def test_the_defaults_are_the_references():
    lengths = CncLengths.of()
    assert (lengths.to_driver, lengths.to_clients) == (1_049_344, 1_048_704)
    assert (lengths.counter_metadata, lengths.counter_values) == (33_554_432, 8_388_608)
    assert lengths.error_log == 4_194_304
    assert CncHeader(lengths, 0, 0, 0).file_length == 48_238_592
    assert CncHeader(lengths, 0, 0, 0, 1 << 20).file_length == 47 << 20


def test_the_header_has_the_documented_bytes_and_the_version_comes_last(driver_file, clock):
    header = bytes(driver_file.mapped.view(0, 128))
    expected = struct.pack(
        "<6i3qi",
        0,
        1792,
        1152,
        4096,
        1024,
        1024,
        5_000_000_000,
        clock.now_epoch_ms(),
        4_000_000,
        4096,
    )
    assert header == expected + bytes(76)
    with pytest.raises(RuntimeError, match="heartbeat must be stored before"):
        driver_file.publish()
    go_live(driver_file, clock)
    assert struct.unpack("<i", driver_file.mapped.view(0, 4)) == (VERSION_0_2_0,)


def test_the_file_is_allocated_whole(tmp_path, clock):
    cnc = CncFile.create(
        RealFileSystem(), str(tmp_path), CncHeader(CncLengths.of(), 1, clock.now_epoch_ms(), 1)
    )
    assert (tmp_path / "cnc.dat").stat().st_blocks * 512 >= cnc.mapped.length == 48_238_592


def test_a_full_disk_refuses_the_file(clock):
    files = FakeFileSystem(capacity_bytes=1 << 20)
    files.make_dirs("/aeron")
    with pytest.raises(StorageSpaceError, match="needed=48238592 usable=1048576"):
        CncFile.create(files, "/aeron", CncHeader(CncLengths.of(), 1, clock.now_epoch_ms(), 1))
    assert not files.exists(cnc_path("/aeron"))


def test_of_two_drivers_that_start_at_once_one_is_refused(disk, driver_file):
    with pytest.raises(ActiveDriverError, match="another media driver starts there"):
        CncFile.create(disk.files, disk.root, driver_file.header)


def test_driver_and_client_meet_in_every_section(disk, driver_file, clock):
    manager = driver_file.counters_manager(clock)
    manager.allocate(11, "client-heartbeat: id=1", value=7)
    driver_file.error_log(clock).record("an error")
    transmitter = driver_file.transmitter()
    go_live(driver_file, clock)

    client = connect(disk, clock, Waiting(clock))
    assert client.header == driver_file.header
    assert client.version == VERSION_0_2_0
    assert [each.label for each in client.counters] == ["client-heartbeat: id=1"]
    assert [each.text for each in client.errors()] == ["an error"]
    receiver = client.receiver()
    transmitter.send(1, b"answer")
    assert receiver.receive_next() == (1, b"answer")
    assert client.to_driver.write(2, b"command")
    seen = []
    driver_file.to_driver.read(lambda *message: seen.append(message))
    assert seen == [(2, b"command")]


def test_a_client_waits_for_the_file_the_version_and_the_heartbeat(disk, clock):
    held = []

    def create_file():
        disk.files.write_bytes(cnc_path(disk.root), b"short")

    def create_whole():
        disk.files.remove(cnc_path(disk.root))
        lengths = CncLengths.of(1792, 1152, 1024, 1024)
        header = CncHeader(lengths, 1, clock.now_epoch_ms(), 1)
        held.append(CncFile.create(disk.files, disk.root, header))

    def store_version():
        held[0].mapped.store_i32(0, VERSION_0_2_0)

    def beat():
        held[0].to_driver.consumer_heartbeat_ms = clock.now_epoch_ms()

    sleep = Waiting(clock, lambda: None, create_file, create_whole, store_version, beat)
    assert connect(disk, clock, sleep).heartbeat_ms > 0
    assert sleep.slept == [0.016, 0.016, 0.016, 0.001, 0.001]


def test_a_client_waits_out_a_dead_drivers_file(disk, driver_file, clock):
    driver_file.to_driver.consumer_heartbeat_ms = clock.now_epoch_ms() - 1000
    driver_file.publish()

    def new_driver():
        driver_file.to_driver.consumer_heartbeat_ms = clock.now_epoch_ms()

    sleep = Waiting(clock, new_driver)
    assert connect(disk, clock, sleep).heartbeat_ms == clock.now_epoch_ms()
    assert sleep.slept == [0.1]


def test_a_file_that_was_replaced_is_not_waited_for(disk, driver_file, clock):
    assert driver_file.version == 0

    def new_driver():
        disk.files.remove(cnc_path(disk.root))
        lengths = CncLengths.of(1792, 1152, 1024, 1024)
        header = CncHeader(lengths, 1, clock.now_epoch_ms(), 99)
        go_live(CncFile.create(disk.files, disk.root, header), clock)

    assert connect(disk, clock, Waiting(clock, new_driver)).header.pid == 99


@pytest.mark.parametrize(
    ("stage", "message"),
    [
        ("nothing", "CnC file not created"),
        ("short", "CnC file is created but not populated"),
        ("no version", "CnC file is created but not initialised"),
        ("truncated", "CnC file length not sufficient"),
        ("no heartbeat", "no driver heartbeat detected"),
        ("closed", "no driver heartbeat detected"),
        ("old", "no driver heartbeat detected"),
    ],
)
def test_a_client_gives_up_at_the_deadline(disk, clock, stage, message):
    if stage == "short":
        disk.files.write_bytes(cnc_path(disk.root), bytes(127))
    elif stage == "truncated":
        header = CncHeader(CncLengths.of(), 1, 1, 1).encode()
        data = struct.pack("<i", VERSION_0_2_0) + header[4:]
        disk.files.write_bytes(cnc_path(disk.root), data.ljust(4096, b"\0"))
    elif stage != "nothing":
        lengths = CncLengths.of(1792, 1152, 1024, 1024)
        cnc = CncFile.create(disk.files, disk.root, CncHeader(lengths, 1, 1, 1))
        if stage != "no version":
            cnc.mapped.store_i32(0, VERSION_0_2_0)
        if stage == "closed":
            cnc.mark_closed()
        if stage == "old":
            cnc.to_driver.consumer_heartbeat_ms = clock.now_epoch_ms() - 201
    with pytest.raises(DriverTimeoutError, match=f"{message}.*waited 200 ms"):
        connect(disk, clock, Waiting(clock))


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (0x10200, "CnC version not compatible: app=0.2.0 file=1.2.0"),
        (0x100, "driverVersion=0.1.0 insufficient for clientVersion=0.2.0"),
        (-1, "CnC version not compatible"),
    ],
)
def test_versions_that_a_client_cannot_use_are_refused(disk, driver_file, clock, version, message):
    driver_file.to_driver.consumer_heartbeat_ms = clock.now_epoch_ms()
    driver_file.mapped.store_i32(0, version)
    with pytest.raises(FileFormatError, match=message):
        connect(disk, clock, Waiting(clock))


@pytest.mark.parametrize("version", [0x200, 0x201, 0x300, 0x100])
def test_tools_ask_only_for_the_major_version(disk, driver_file, version):
    driver_file.mapped.store_i32(0, version)
    opened = CncFile.open(disk.files, disk.root)
    assert opened.version == version
    assert not opened.mapped.writable


def test_tools_do_not_wait(disk, driver_file):
    with pytest.raises(FileFormatError, match="not initialised"):
        CncFile.open(disk.files, disk.root)
    with pytest.raises(FileNotFoundError):
        CncFile.open(disk.files, disk.path("elsewhere"))


@pytest.mark.parametrize("field", range(5))
@pytest.mark.parametrize("length", [0, -1, -(2**31), 2**31 - 1, 1001, 12345])
def test_section_lengths_that_cannot_be_are_refused(disk, driver_file, clock, field, length):
    go_live(driver_file, clock)
    driver_file.mapped.store_i32(4 + 4 * field, length)
    with pytest.raises(FileFormatError, match=r"no cnc\.dat|truncated"):
        CncFile.open(disk.files, disk.root)


@pytest.mark.parametrize(
    "wrong",
    [
        {"to_driver": 1 << 20},
        {"to_clients": (1 << 20) + 127},
        {"counter_values": 1000},
        {"error_log": 0},
        {"counter_values": 500 << 20},
    ],
)
def test_lengths_that_a_driver_cannot_have_are_refused(wrong):
    with pytest.raises(ConfigurationError, match=r"length=|do not fit"):
        CncLengths.of(**wrong)


@pytest.mark.parametrize("page_size", [0, 1, 2048, 4097, 1 << 31])
def test_page_sizes_out_of_range_are_refused(disk, page_size):
    with pytest.raises(ConfigurationError, match="file page size"):
        CncFile.create(disk.files, disk.root, CncHeader(CncLengths.of(), 1, 1, 1, page_size))


def test_an_orderly_close_leaves_everything_but_the_heartbeat(driver_file, clock):
    go_live(driver_file, clock)
    before = bytes(driver_file.mapped.view())
    driver_file.mark_closed()
    after = bytes(driver_file.mapped.view())
    assert driver_file.heartbeat_ms == -1
    assert driver_file.mapped.load_i64(HEARTBEAT_OFFSET) == -1
    assert before[:HEARTBEAT_OFFSET] == after[:HEARTBEAT_OFFSET]
    assert before[HEARTBEAT_OFFSET + 8 :] == after[HEARTBEAT_OFFSET + 8 :]


def test_the_page_size_zero_is_read_as_the_default(disk, driver_file, clock):
    go_live(driver_file, clock)
    driver_file.mapped.store_i32(48, 0)
    assert CncFile.open(disk.files, disk.root).header.file_page_size == 4096


def test_connect_uses_the_machine_by_default(tmp_path):
    header = CncHeader(CncLengths.of(1792, 1152, 1024, 1024), 1, 1, 1)
    cnc = CncFile.create(RealFileSystem(), str(tmp_path), header)
    go_live(cnc, SystemClock())
    assert CncFile.connect(str(tmp_path), timeout_ms=1000).header == header


def test_versions_are_printed_with_dots():
    assert version_text(0x010203) == "1.2.3"
