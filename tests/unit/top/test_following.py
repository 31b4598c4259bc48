"""Streams that are filled anew are the ones that would be put together anew."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from top_driver import IpcStream, MadeUpCounter, MadeUpDriver, NetworkStream, stream_key

from aerolog.tools.top.stream_tracker import StreamsFollower
from aerolog.tools.views.stream_views import streams

_CHANNEL = "aeron:udp?endpoint=10.0.0.7:40123"


def full_driver() -> MadeUpDriver:
    """Counters of every kind that a stream can have."""
    driver = MadeUpDriver()
    driver.add_client(1, "one")
    IpcStream(driver, 1001, 11, 100, subscribers=3)
    NetworkStream(driver, 1002, 12, 200, _CHANNEL)
    key = (12, 1002, _CHANNEL)
    for type_id, name in ((3, "rcv-hwm"), (5, "rcv-pos"), (20, "rcv-naks-sent")):
        driver.add_of_stream(type_id, name, 210, key, owner_id=1)
    for name in ("rcv-cc-cubic-rtt", "rcv-cc-cubic-wnd"):
        driver.add_of_stream(10, name, 210, key, owner_id=-1)
    driver.add_of_stream(17, "fc-receivers", 200, key, owner_id=-1)
    driver.add_of_stream(4, "sub-pos", 220, key, owner_id=1, reference_id=210)
    recorded = bytes(8) + (11).to_bytes(4, "little") + (0).to_bytes(4, "little")
    label = "rec-pos: 0 11 1001 aeron:ipc - archiveId=9"
    archive = (9).to_bytes(8, "little")
    driver.add(MadeUpCounter(100, label, recorded + archive, owner_id=1))
    return driver


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_streams_are_the_same_as_put_together_anew(data: st.DataObject) -> None:
    driver, follower = full_driver(), StreamsFollower()
    last = None
    for _ in range(data.draw(st.integers(1, 6))):
        for counter in driver.counters.values():
            if counter.type_id:
                counter.value += data.draw(st.integers(0, 3))
        snapshot = driver.snapshot()
        follower.take(snapshot)
        assert follower.streams == streams(snapshot)
        assert follower.before == ([] if last is None else streams(last))
        last = snapshot


def test_a_stream_that_comes_or_goes_is_noticed() -> None:
    driver, follower = full_driver(), StreamsFollower()
    for _ in range(3):
        follower.take(driver.snapshot())
    late = IpcStream(driver, 1003, 13, 300)
    follower.take(driver.snapshot())
    assert [one.stream_id for one in follower.streams] == [1001, 1002, 1003]
    assert follower.before == []
    late.publish(64)
    follower.take(driver.snapshot())
    assert [one.position for one in (follower.before[2], follower.streams[2])] == [0, 64]
    for counter in (late.position, late.limit, *late.readers):
        del driver.counters[counter]
    follower.take(driver.snapshot())
    assert [one.stream_id for one in follower.streams] == [1001, 1002]


def test_a_counter_that_is_used_anew_is_another_stream() -> None:
    driver, follower = MadeUpDriver(), StreamsFollower()
    first = IpcStream(driver, 1001, 11, 100)
    follower.take(driver.snapshot())
    for counter in (first.position, first.limit, *first.readers):
        old = driver.counters[counter]
        key = stream_key(500, 99, 1009, first.channel)
        label = old.label.replace("100 11 1001", "500 99 1009")
        driver.counters[counter] = MadeUpCounter(old.type_id, label, key, 7, 500, 1, 500)
    follower.take(driver.snapshot())
    assert [(one.session_id, one.stream_id) for one in follower.streams] == [(99, 1009)]
    assert follower.before == []


def test_what_is_forgotten_is_not_compared_with() -> None:
    driver, follower = full_driver(), StreamsFollower()
    follower.take(driver.snapshot())
    follower.forget()
    assert (follower.streams, follower.before) == ([], [])
    follower.take(driver.snapshot())
    assert (len(follower.streams), follower.before) == (2, [])
