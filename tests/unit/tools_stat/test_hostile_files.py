"""Whatever a driver's files hold: an answer or one line, and nothing read outside them."""

import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aerolog.tools.stat import classic_lines, classic_stream_lines
from aerolog.tools.stat.counter_filters import Filters
from aerolog.tools.stat.stream_forms import backlogs, rows
from aerolog.tools.views.driver_view import DriverView, read_losses
from aerolog.tools.views.errors import ViewError
from aerolog.tools.views.stream_limits import limited_by
from aerolog.tools.views.stream_views import streams

from .made_up import LENGTHS, MadeUpDriver

FUZZ = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
COUNTERS_AT = 128 + LENGTHS.to_driver + LENGTHS.to_clients
VALUES_AT = COUNTERS_AT + LENGTHS.counter_metadata
#: Where damage hits something: the header, the first counters' records, the error log.
PLACES = (
    st.integers(0, 127)
    | st.integers(COUNTERS_AT, COUNTERS_AT + 16 * 512)
    | st.integers(VALUES_AT, VALUES_AT + 16 * 128)
    | st.integers(LENGTHS.total - LENGTHS.error_log, LENGTHS.total - 1)
)


def look_at_everything(folder: Path) -> int:
    """Everything that the commands do with files; returns how many counters there were."""
    view = DriverView.open(folder)
    snapshot = view.counters()
    assert len(list(snapshot)) == len(snapshot.labels) == len(snapshot.keys)
    found = streams(snapshot, view.logs)
    for stream in found:
        assert limited_by(stream, stream, 1.0).text
        assert len(list(rows(stream))) + len(list(backlogs(stream))) >= 0
    for lines in (
        classic_lines.stat(view, snapshot, Filters()),
        classic_lines.errors(view.errors()),
        classic_lines.driver(view, str(folder), 0),
        classic_stream_lines.stream_stat(snapshot),
        classic_stream_lines.backlog_stat(snapshot),
    ):
        assert "\n".join(lines) is not None
    return len(snapshot)


def what_was_wrong(folder: Path) -> str:
    try:
        look_at_everything(folder)
    except ViewError as error:
        return str(error)
    return ""


@pytest.fixture
def good(driver: MadeUpDriver, tmp_path: Path) -> Path:
    driver.client(1, "pricing")
    driver.ipc(position=32_800, limit=32_768, readers={3: 0, 4: 32_800})
    driver.sent(position=900, limit=32_768, sent=900, allowed=33_000)
    driver.received(hwm=900, position=900, readers={5: 900})
    driver.error_log.record("it broke")
    shutil.copytree(driver.folder, tmp_path / "copy")
    return tmp_path / "copy"


@FUZZ
@given(damage=st.lists(st.tuples(PLACES, st.binary(min_size=1, max_size=8)), max_size=12))
def test_damaged_files_are_read_or_refused(good: Path, damage: list[tuple[int, bytes]]) -> None:
    data = bytearray((good.parent / "driver" / "cnc.dat").read_bytes())
    for at, junk in damage:
        data[at : at + len(junk)] = junk
    data = data[: LENGTHS.total]
    (good / "cnc.dat").write_bytes(data)

    assert "\n" not in what_was_wrong(good)
    assert (good / "cnc.dat").read_bytes() == data


@FUZZ
@given(length=st.integers(0, LENGTHS.total - 1))
def test_files_that_are_cut_off_are_refused(good: Path, length: int) -> None:
    data = (good.parent / "driver" / "cnc.dat").read_bytes()
    (good / "cnc.dat").write_bytes(data[:length])

    with pytest.raises(ViewError):
        look_at_everything(good)


@FUZZ
@given(data=st.binary(min_size=1, max_size=4096))
def test_any_bytes_make_a_loss_report(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "loss-report.dat").write_bytes(data)

    assert len(list(classic_lines.losses(read_losses(tmp_path)))) >= 2


def test_counters_that_all_claim_to_be_allocated(good: Path) -> None:
    data = bytearray((good / "cnc.dat").read_bytes())
    for counter in range(128):
        at = COUNTERS_AT + 512 * counter
        data[at : at + 512] = b"\xff" * 512
        data[at : at + 4] = (1).to_bytes(4, "little")
    (good / "cnc.dat").write_bytes(data)

    assert look_at_everything(good) == 128
