"""What was seen over time: rates, curves, and drivers that come and go."""

from __future__ import annotations

import pytest
from top_driver import START_MS, IpcStream, MadeUpDriver, NetworkStream

from aerolog.tools.top.measurement import DriverState, RecordingFigures, ReplayFigures
from aerolog.tools.top.top_model import Model
from aerolog.tools.views.driver_view import LossEntry
from aerolog.tools.views.stream_limits import LimitKind
from aerolog.transport.counters.system_counters import SystemCounter


def test_a_rate_is_what_moved_by_the_time_that_passed() -> None:
    driver, model = MadeUpDriver(), Model()
    stream = IpcStream(driver, 1001, 11, 100)
    stream.publish(4_096)
    model.update(driver.look())
    (track,) = model.streams.values()
    assert (track.rate, track.position, len(track.curve)) == (None, 4_096, 0)
    stream.publish(1_000)
    driver.grow(SystemCounter.BYTES_SENT, 500)
    driver.pass_time(0.5)
    model.update(driver.look())
    assert track.rate == 2_000
    assert model.total.rate == 2_000
    assert model.system[SystemCounter.BYTES_SENT].rate == 1_000
    driver.pass_time(2)
    model.update(driver.look())
    assert track.curve.last(5) == [2_000, 0]


def test_two_looks_at_one_moment_make_no_rate() -> None:
    driver, model = MadeUpDriver(), Model()
    stream = IpcStream(driver, 1001, 11, 100)
    model.update(driver.look())
    stream.publish(64)
    model.update(driver.look())
    (track,) = model.streams.values()
    assert (track.rate, len(track.curve), track.position) == (None, 0, 64)


def test_a_stream_tells_its_backlog_naks_and_waits() -> None:
    driver, model = MadeUpDriver(), Model()
    local = IpcStream(driver, 1001, 11, 100, subscribers=2)
    sent = NetworkStream(driver, 1002, 12, 200)
    model.update(driver.look())
    local.publish(5_000, read_by=1)
    sent.publish(100, naks=3, waits=8)
    driver.pass_time(2)
    model.update(driver.look())
    ours, theirs = model.streams.values()
    assert (ours.behind, ours.naks, ours.back_pressure) == (5_000, 0, 0)
    assert (theirs.behind, theirs.naks, theirs.back_pressure) == (None, 1.5, 4)
    assert (theirs.nak_total, theirs.bpe_total) == (3, 8)


def test_what_limits_a_stream_is_told() -> None:
    driver, model = MadeUpDriver(), Model()
    stream = IpcStream(driver, 1001, 11, 100, subscribers=2)
    model.update(driver.look())
    (track,) = model.streams.values()
    assert track.limit.kind is LimitKind.NOTHING
    stream.publish(40_000, read_by=1)
    driver.pass_time()
    model.update(driver.look())
    assert track.limit.kind is LimitKind.SLOW_SUBSCRIBER


def test_losses_belong_to_their_session_and_stream() -> None:
    driver, model = MadeUpDriver(), Model()
    NetworkStream(driver, 1002, 12, 200)
    NetworkStream(driver, 1002, 13, 300)
    driver.losses = [
        LossEntry(1, 10, START_MS, START_MS, 13, 1002, "aeron:udp", "10.0.0.1:1"),
        LossEntry(2, 20, START_MS, START_MS, 13, 1002, "aeron:udp", "10.0.0.2:1"),
        LossEntry(9, 99, START_MS, START_MS, 13, 1003, "aeron:udp", "10.0.0.1:1"),
    ]
    model.update(driver.look())
    assert [track.lost for track in model.streams.values()] == [0, 30]


@pytest.mark.parametrize(
    ("state", "told"),
    [
        (DriverState.SILENT, "the driver, pid 4711, has fallen silent"),
        (DriverState.CLOSED, "the driver, pid 4711, has closed"),
        (DriverState.ABSENT, "the driver's directory is gone"),
    ],
)
def test_a_driver_that_goes_is_told_and_its_last_picture_stands(
    state: DriverState, told: str
) -> None:
    driver, model = MadeUpDriver(), Model()
    IpcStream(driver, 1001, 11, 100)
    model.update(driver.look())
    assert model.is_live
    driver.state = state
    driver.pass_time()
    model.update(driver.look())
    assert (model.notice, model.notice_ms, model.is_live) == (told, driver.wall_ms, False)
    assert len(model.streams) == 1
    driver.state = DriverState.LIVE
    driver.pass_time()
    model.update(driver.look())
    assert (model.notice, model.is_live) == ("the driver, pid 4711, is back", True)


@pytest.mark.parametrize("gone_between", [False, True])
def test_another_driver_begins_a_history_of_its_own(gone_between: bool) -> None:
    driver, model = MadeUpDriver(), Model()
    IpcStream(driver, 1001, 11, 100)
    driver.grow(SystemCounter.BYTES_SENT, 1_000_000)
    model.update(driver.look())
    if gone_between:
        driver.state = DriverState.ABSENT
        model.update(driver.look())
    driver.pass_time()
    driver.restart(pid=815)
    again = IpcStream(driver, 1001, 11, 100)
    again.publish(64)
    model.update(driver.look())
    assert model.notice == "another driver, pid 815: history begins anew"
    (track,) = model.streams.values()
    assert (track.position, track.rate) == (64, None)
    assert (
        model.system[SystemCounter.BYTES_SENT].total,
        model.system[SystemCounter.BYTES_SENT].rate,
    ) == (0, None)


def test_the_time_without_a_driver_makes_no_rate() -> None:
    driver, model = MadeUpDriver(), Model()
    stream = IpcStream(driver, 1001, 11, 100)
    model.update(driver.look())
    driver.state = DriverState.ABSENT
    driver.pass_time()
    model.update(driver.look())
    driver.state = DriverState.LIVE
    stream.publish(1_000)
    driver.pass_time()
    model.update(driver.look())
    (track,) = model.streams.values()
    assert (track.position, track.rate) == (1_000, None)


def test_a_stream_that_ends_is_not_shown_any_more() -> None:
    driver, model = MadeUpDriver(), Model()
    stream = IpcStream(driver, 1001, 11, 100)
    IpcStream(driver, 1002, 12, 200)
    model.update(driver.look())
    for counter in (stream.position, stream.limit, *stream.readers):
        del driver.counters[counter]
    model.update(driver.look())
    assert [identity[:2] for identity in model.streams] == [(12, 1002)]


def test_recordings_and_replays_have_rates_of_their_own() -> None:
    driver, model = MadeUpDriver(), Model()

    def works(at: int) -> None:
        driver.recordings = [RecordingFigures(7, 1, 11, 1001, "aeron:ipc", 0, at, 60)]
        driver.replays = [ReplayFigures(60, 3, 12, 1002, "aeron:ipc", 0, 3 * at, None, live=False)]
        model.update(driver.look())

    works(1_000)
    driver.pass_time(2)
    works(2_000)
    assert [(key, one.meter.rate) for key, one in model.works.items()] == [
        (("rec", 60), 500),
        (("replay", 60), 1_500),
    ]
    driver.recordings = []
    driver.replays = []
    model.update(driver.look())
    assert not model.works
