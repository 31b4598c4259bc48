"""A driver as seen from outside: what its files say, and what is wrong with them."""

import os
import struct
from pathlib import Path

import pytest

from aerolog.tools.views.counter_rates import Rates
from aerolog.tools.views.driver_view import DriverView, read_error_file, read_losses
from aerolog.tools.views.errors import Trouble, ViewError

from .made_up import START_MS, MadeUpDriver


def test_a_view_tells_who_the_driver_is(driver: MadeUpDriver) -> None:
    with DriverView.open(driver.folder) as view:
        assert (view.pid, view.version_text, view.start_ms) == (os.getpid(), "0.2.0", START_MS)
        assert view.client_liveness_timeout_ns == 10_000_000_000
        assert not view.cnc.mapped.writable
        assert not view.is_replaced()


def test_a_driver_is_alive_while_its_heartbeat_is_young(driver: MadeUpDriver) -> None:
    view = DriverView.open(driver.folder)
    now = view.heartbeat_ms()

    assert view.is_alive(now + view.driver_timeout_ms)
    assert not view.is_alive(now + view.driver_timeout_ms + 1)
    driver.cnc.mark_closed()
    assert view.is_closed()
    assert not view.is_alive(now)


def test_a_snapshot_has_all_that_is_allocated_by_id(driver: MadeUpDriver) -> None:
    freed = driver.counters.allocate(1000, "gone")
    kept = driver.counters.allocate(1001, "kept", b"key", 5, 6, 7, -9)
    driver.counters.free(freed)

    found = DriverView.open(driver.folder).counters()

    assert list(found.ids) == [0, 1, kept]
    assert found.labels == ["Bytes sent", "Bytes received", "kept"]
    assert found.counter(2) == (kept, 1001, b"key".ljust(112, b"\0"), "kept", -9, 5, 6, 7)
    assert list(found) == [found.counter(row) for row in range(3)]
    assert found.value(kept) == -9
    assert found.value(freed) is None
    assert found.system(1) == 101
    assert found.system(kept) == 0


def test_a_snapshot_stays_as_it_is(driver: MadeUpDriver) -> None:
    view = DriverView.open(driver.folder)
    before = view.counters()

    driver.counters.set_value(0, 777)

    assert before.values[0] == 100
    assert view.counters().values[0] == 777


def test_the_first_record_that_was_never_used_ends_a_snapshot(driver: MadeUpDriver) -> None:
    view = DriverView.open(driver.folder)

    assert len(view.counters()) == 2
    assert view.cnc.counters.max_counter_id == 127


def test_rates_are_known_for_counters_that_are_the_same(driver: MadeUpDriver) -> None:
    view = DriverView.open(driver.folder)
    reused = driver.counters.allocate(1000, "first", b"", 1)
    before = view.counters()
    driver.counters.set_value(0, 350)
    driver.counters.free(reused)
    assert driver.counters.allocate(1000, "second", b"", 2) == reused
    after = view.counters()
    after.taken_ns = before.taken_ns + 500_000_000

    rates = Rates(before, after)

    assert (rates.change(0), rates.per_second(0)) == (250, 500.0)
    assert rates.change(reused) is None
    assert rates.per_second(99) is None


def test_errors_and_losses_are_read(driver: MadeUpDriver) -> None:
    driver.error_log.record("first")
    driver.error_log.record("second")
    driver.error_log.record("second")
    driver.losses.create_entry(64, 1000, 7, 1001, "aeron:udp?endpoint=a:1", "1.2.3.4:5")
    view = DriverView.open(driver.folder)

    assert [(e.count, e.text) for e in view.errors()] == [(1, "first"), (2, "second")]
    assert [(e.total_bytes_lost, e.source) for e in view.losses()] == [(64, "1.2.3.4:5")]
    (driver.folder / "loss-report.dat").unlink()
    assert view.losses() == []


def test_a_removed_or_new_directory_is_noticed(driver: MadeUpDriver) -> None:
    view = DriverView.open(driver.folder)
    data = (driver.folder / "cnc.dat").read_bytes()
    (driver.folder / "cnc.dat").unlink()

    assert view.is_replaced()
    assert len(view.counters()) == 2  # what is mapped stays readable
    (driver.folder / "fresh").write_bytes(data)
    (driver.folder / "fresh").rename(driver.folder / "cnc.dat")
    assert view.is_replaced()
    assert not DriverView.open(driver.folder).is_replaced()


def trouble(folder: Path) -> ViewError:
    with pytest.raises(ViewError) as caught:
        DriverView.open(folder)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(caught.value.remedy)
    return caught.value


def test_what_is_missing_is_told(tmp_path: Path) -> None:
    assert trouble(tmp_path / "nix").trouble is Trouble.MISSING
    assert trouble(tmp_path / "a\0b").trouble is Trouble.MISSING
    assert "empty" in trouble(tmp_path).reason
    (tmp_path / "notes.txt").touch()
    assert "not a driver's" in trouble(tmp_path).reason
    (tmp_path / "loss-report.dat").touch()
    assert trouble(tmp_path).trouble is Trouble.HALF_DELETED


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", Trouble.DAMAGED),
        (bytes(127), Trouble.DAMAGED),
        (bytes(4096), Trouble.STARTING),
        (struct.pack("<i", 1 << 16) + bytes(4092), Trouble.VERSION),
        (struct.pack("<i", 512) + bytes(4092), Trouble.DAMAGED),
        (
            struct.pack("<6i", 512, 1792, 1152, 512 * 512, 128 * 512, 4096) + bytes(4072),
            Trouble.DAMAGED,
        ),
        (b"\xff" * 4096, Trouble.VERSION),
    ],
)
def test_what_is_no_cnc_file_is_told(tmp_path: Path, content: bytes, expected: Trouble) -> None:
    (tmp_path / "cnc.dat").write_bytes(content)

    assert trouble(tmp_path).trouble is expected
    assert (tmp_path / "cnc.dat").read_bytes() == content


def test_what_cannot_be_read_is_told(driver: MadeUpDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    from aerolog.tools.views import driver_view

    class Refusing:
        @staticmethod
        def open(*_: object, **__: object) -> None:
            raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(driver_view, "MappedFile", Refusing)

    error = trouble(driver.folder)

    assert (error.trouble, error.reason) == (Trouble.UNREADABLE, "Permission denied")


@pytest.mark.parametrize("name", ["cnc.dat", "loss-report.dat"])
def test_only_regular_files_are_opened(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)

    with pytest.raises(ViewError, match="not a regular file"):
        DriverView.open(tmp_path) if name == "cnc.dat" else read_losses(tmp_path)


def test_an_error_log_begins_where_it_is_said(driver: MadeUpDriver) -> None:
    driver.error_log.record("here")
    lengths = driver.cnc.header.lengths
    offset = 128 + lengths.to_driver + lengths.to_clients + lengths.counter_metadata
    offset += lengths.counter_values
    path = driver.folder / "cnc.dat"

    assert [e.text for e in read_error_file(path, offset)] == ["here"]
    for wrong in (offset + 4, 1 << 40, -8):
        with pytest.raises(ViewError, match="multiple of 8"):
            read_error_file(path, wrong)


def test_settings_of_logs_are_read_once(driver: MadeUpDriver) -> None:
    from aerolog.transport.logbuffer.metadata import LogMetadata, LogType, encode

    images = driver.folder / "images"
    images.mkdir()
    meta = LogMetadata(
        correlation_id=30,
        session_id=7,
        stream_id=1001,
        initial_term_id=5,
        term_length=64 * 1024,
        mtu_length=1408,
        type=LogType.IMAGE,
        receiver_window_length=32 * 1024,
    )
    path = images / "30.logbuffer"
    path.write_bytes(bytes(8192) + encode(meta))
    (images / "31.logbuffer").write_bytes(b"short")
    (images / "32.logbuffer").write_bytes(b"\xff" * 4096)
    logs = DriverView.open(driver.folder).logs

    found = logs.image(30)
    assert found is not None
    assert found.receiver_window_length == 32 * 1024
    path.unlink()
    assert logs.image(30) is found
    assert [logs.image(31), logs.image(32), logs.image(33), logs.publication(30)] == [None] * 4
