"""The driver's directory: made, refused, taken over, left behind."""

import os
import struct
import subprocess
import sys

import pytest
from late_threads import begin_when_joined

from aerolog.testing import FakeFileSystem, ManualClock
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.driver import MediaDriver
from aerolog.transport.errors import ActiveDriverError, ConfigurationError, ResourceClosedError
from aerolog.transport.memory.cnc import HEARTBEAT_CLOSED, CncFile
from aerolog.transport.memory.filesystem import RealFileSystem
from aerolog.transport.protocol import commands as c

S = 1_000_000_000


def test_a_fresh_driver_has_what_clients_look_for(bench):
    cnc = bench.cnc
    assert cnc.version == 512
    assert cnc.header.pid == os.getpid()
    assert cnc.header.client_liveness_timeout_ns == 10 * S
    assert cnc.heartbeat_ms == bench.clock.now_epoch_ms()
    assert bench.client_id == 1
    assert bench.files.list_dir(bench.driver.aeron_dir) == [
        "aerolog-cycles.dat", "cnc.dat", "images", "loss-report.dat", "publications",
    ]  # fmt: skip
    assert bench.files.size(f"{bench.driver.aeron_dir}/loss-report.dat") == 1 << 20


def test_system_counters_stand_at_their_ids(bench):
    found = list(bench.cnc.counters)
    assert [k.counter_id for k in found] == list(range(46))
    for k in found:
        assert (k.type_id, k.registration_id, k.owner_id, k.reference_id) == (
            0, k.counter_id, -1, 0,
        )  # fmt: skip
        assert k.key[:4] == struct.pack("<i", k.counter_id)
    labels = {k.counter_id: k.label for k in found}
    assert labels[26] == "Conductor max cycle time doing its work in ns: INVOKER"
    assert labels[27] == "Conductor work cycle exceeded threshold count: threshold=100ms INVOKER"
    assert labels[33] == "NameResolver exceeded threshold count: threshold=5s"
    assert labels[25] == "Resolution changes: driverName=null"
    assert labels[15].startswith("Errors: version=1.51.0 commit=")
    assert bench.value(SystemCounter.AERON_VERSION) == 78592
    assert bench.value(SystemCounter.CONTROL_PROTOCOL_VERSION) == 65536
    cnc_and_loss_report = bench.cnc.mapped.length + (1 << 20)
    assert bench.value(SystemCounter.BYTES_CURRENTLY_MAPPED) == cnc_and_loss_report


def test_the_heartbeat_follows_the_timer(bench):
    before = bench.cnc.heartbeat_ms
    bench.pass_time(900_000_000)
    assert bench.cnc.heartbeat_ms == before
    bench.pass_time(100_000_000)
    assert bench.cnc.heartbeat_ms == before + 1000


def test_closing_leaves_the_directory_and_no_logs(bench):
    bench.publication()
    bench.driver.close()
    bench.driver.close()
    assert bench.cnc.heartbeat_ms == HEARTBEAT_CLOSED
    directory = bench.driver.aeron_dir
    assert bench.files.list_dir(directory) == [
        "aerolog-cycles.dat", "cnc.dat", "images", "loss-report.dat", "publications",
    ]  # fmt: skip
    assert bench.files.list_dir(f"{directory}/publications") == []
    with pytest.raises(ResourceClosedError):
        bench.driver.do_work()


def test_closing_deletes_the_directory_when_told_to(start):
    bench = start(dir_delete_on_shutdown=True)
    bench.driver.close()
    assert not bench.files.exists(bench.driver.aeron_dir)


def test_a_live_drivers_directory_is_refused_and_left_alone(bench):
    with pytest.raises(ActiveDriverError, match="Active media driver detected"):
        MediaDriver(
            bench.driver.aeron_dir,
            clock=bench.clock,
            file_system=bench.files,
            threading_mode="INVOKER",
            dir_delete_on_shutdown=True,
        )
    assert bench.publication().registration_id


def test_a_closed_drivers_directory_is_taken_over_and_its_errors_kept(tmp_path, capsys):
    clock, files = ManualClock(), FakeFileSystem()
    options = {
        "clock": clock,
        "file_system": files,
        "threading_mode": "INVOKER",
        "counters_buffer_length": "1m",
    }
    directory = str(tmp_path / "aeron")
    with MediaDriver(directory, **options) as driver:
        ring = CncFile.open(files, directory, writable=True).to_driver
        ring.write(c.RemoveCounter.TYPE_ID, c.encode_command(c.RemoveCounter(1, 2, 4711)))
        driver.do_work()
    with MediaDriver(directory, **options) as driver:
        assert driver.context.counters.counter_value(SystemCounter.ERRORS) == 0
    (saved,) = [n for n in files.list_dir(str(tmp_path)) if n.endswith("-error.log")]
    assert b"unknown counter: 4711" in files.read_bytes(str(tmp_path / saved))
    assert f"WARNING: Existing errors saved to: {tmp_path / saved}" in capsys.readouterr().err


def test_a_driver_whose_start_is_interrupted_closes_its_directory(tmp_path, monkeypatch):
    directory = tmp_path / "aeron"
    with monkeypatch.context() as patch:
        started = begin_when_joined(patch)
        with pytest.raises(KeyboardInterrupt):
            MediaDriver(directory, threading_mode="SHARED", counters_buffer_length="1m")
    assert not any(thread.is_alive() for thread in started)
    assert CncFile.open(RealFileSystem(), str(directory)).heartbeat_ms == HEARTBEAT_CLOSED


def test_a_killed_drivers_directory_is_taken_over_at_once(tmp_path):
    directory = tmp_path / "aeron"
    script = (
        "import os, sys\n"
        "from aerolog.transport.driver import MediaDriver\n"
        "MediaDriver(sys.argv[1], threading_mode='SHARED')\n"
        "os.kill(os.getpid(), 9)\n"
    )
    killed = subprocess.run([sys.executable, "-c", script, str(directory)], check=False)
    assert killed.returncode == -9
    assert (directory / "cnc.dat").exists()
    with MediaDriver(directory, threading_mode="INVOKER") as driver:
        assert driver.context.cnc.header.pid == os.getpid()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"publication_unblock_timeout": 9.0}, "aeron.publication.unblock.timeout"),
        ({"client_liveness_timeout": 1.0}, "aeron.client.liveness.timeout"),
        ({"untethered_resting_timeout": 1.0}, "aeron.untethered.resting.timeout"),
        ({"untethered_linger_timeout": 0.5}, "aeron.untethered.linger.timeout"),
        ({"ipc_term_buffer_length": "100k"}, "Term length not a power of 2"),
        ({"ipc_term_buffer_length": "32k"}, "Term length less than min"),
        ({"ipc_mtu_length": 100}, "not a multiple"),
        ({"mtu_length": "70k"}, "MAX_UDP_PAYLOAD_LENGTH"),
        ({"file_page_size": 5000}, "aeron.file.page.size"),
        ({"conductor_buffer_length": "2m"}, "power of two"),
        ({"clients_buffer_length": "1m"}, "aeron.clients.buffer.length"),
        ({"counters_buffer_length": "1k"}, "aeron.counters.buffer.length"),
        ({"publication_reserved_session_id_low": 2000}, "aeron.publication.reserved.session.id"),
        ({"shared_idle_strategy": "nap"}, "aeron.shared.idle.strategy"),
        ({"shared_idle_strategy_init_args": "1,2"}, "aeron.shared.idle.strategy.init.args"),
        ({"threading_mode": "shared"}, "aeron.threading.mode"),
        ({"termination_validator_": "x"}, "termination_validator_"),
    ],
)
def test_settings_that_cannot_be_used_are_named(tmp_path, options, message):
    files = FakeFileSystem()
    with pytest.raises(ConfigurationError, match=message):
        MediaDriver(str(tmp_path), file_system=files, **{"threading_mode": "INVOKER", **options})


@pytest.mark.parametrize(
    "content",
    [
        b"",
        bytes(100),
        bytes(128),
        bytes(range(256)) * 40,
        struct.pack("<6i", 512, 2**31 - 1, -1, 0, 7, 1) + bytes(200),
        struct.pack("<i", 1 << 16) + bytes(5000),
    ],
    ids=["empty", "short", "zeros", "noise", "lengths", "version"],
)
def test_a_damaged_control_file_that_nobody_uses_is_replaced(start, tmp_path, content):
    files = FakeFileSystem()
    files.make_dirs(str(tmp_path / "aeron-0"))
    files.write_bytes(str(tmp_path / "aeron-0" / "cnc.dat"), content)
    bench = start(file_system=files)
    assert bench.cnc.version == 512
    assert bench.publication().registration_id
