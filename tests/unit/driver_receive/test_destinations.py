"""Multi-destination subscriptions: destinations added and removed, images merged from them."""

import pytest

from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.protocol import commands as c
from aerolog.transport.protocol import frame_codec as f
from aerolog.transport.protocol import responses as r

STREAM = 7
MS = 1_000_000
S = 1_000_000_000
MDS = "aeron:udp?control-mode=manual"
FIRST = ("10.0.0.1", 24341)
SECOND = ("10.0.0.1", 24342)


def channel(address):
    return f"aeron:udp?endpoint={address[0]}:{address[1]}"


def add(subscription, text):
    return lambda i, n: c.AddReceiveDestination(i, n, subscription.correlation_id, text)


def remove(subscription, text):
    return lambda i, n: c.RemoveReceiveDestination(i, n, subscription.correlation_id, text)


@pytest.fixture
def mds(bench):
    """A multi-destination subscription with two destinations."""
    ready = bench.subscription(MDS)
    bench.destination(ready, channel(FIRST))
    bench.destination(ready, channel(SECOND))
    return ready


def test_only_destinations_have_addresses(bench):
    ready = bench.subscription(MDS)
    status = bench.counter(CounterType.RECEIVE_CHANNEL_STATUS)
    assert (status.value, status.label) == (1, f"rcv-channel: {MDS} ")
    assert bench.counters(CounterType.LOCAL_SOCKET_ADDRESS) == []
    bench.destination(ready, channel(FIRST))
    local = bench.counter(CounterType.LOCAL_SOCKET_ADDRESS)
    assert (local.value, local.label) == (
        1,
        f"rcv-local-sockaddr: {status.counter_id} 10.0.0.1:24341",
    )
    assert local.registration_id == ready.correlation_id


def test_a_destination_that_cannot_be_bound_is_refused(bench, mds):
    assert bench.refused(add(mds, channel(FIRST))) == (
        11,
        (
            "io.aeron.exceptions.AeronException : ERROR - channel error - Address already in use: "
            "aeron:udp?endpoint=10.0.0.1:24341"
        ),
    )
    assert len(bench.counters(CounterType.LOCAL_SOCKET_ADDRESS)) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("aeron:udp?endpoint=10.0.0.1:24343|mtu=1408", "destinations must not contain the key"),
        ("aeron:udp?endpoint=10.0.0.1:24343|so-rcvbuf=64k", "must not contain the key: so-rcvbuf"),
        ("aeron:udp?endpoint=10.0.0.1:24343|control-mode=response", "may not specify"),
        ("aeron:udp", "URIs for UDP must specify an endpoint"),
    ],
)
def test_destinations_that_are_refused(bench, mds, text, message):
    code, said = bench.refused(add(mds, text))
    assert code == 1
    assert message in said


def test_only_multi_destination_subscriptions_have_destinations(bench):
    plain = bench.subscription("aeron:udp?endpoint=10.0.0.1:24340")
    for text in (channel(FIRST), "aeron:ipc", "aeron-spy:aeron:udp?endpoint=10.0.0.1:1"):
        assert bench.refused(add(plain, text)) == (
            2,
            f"ERROR - unknown MDS subscription: {plain.correlation_id}",
        )
    assert bench.refused(remove(plain, channel(FIRST))) == (
        1,
        "ERROR - channel does not allow manual control",
    )


def test_removing_a_destination_closes_its_socket_and_may_be_repeated(bench, mds):
    for _ in range(2):
        (answer,) = bench.do(remove(mds, channel(FIRST)))
        assert isinstance(answer, r.OperationSuccess)
    local = bench.counter(CounterType.LOCAL_SOCKET_ADDRESS)
    assert local.label.endswith(":24342")
    bench.destination(mds, channel(FIRST))
    assert len(bench.counters(CounterType.LOCAL_SOCKET_ADDRESS)) == 2


def test_one_image_is_merged_from_all_destinations(bench, mds):
    one, two = bench.source(FIRST), bench.source(SECOND)
    image = bench.image(one)
    two.setup()
    assert bench.turn() == []
    position = one.data(0, b"x" * 96)
    two.data(0, b"x" * 96)
    position = two.data(position, b"y" * 96)
    bench.turn()
    assert bench.counter(CounterType.RECEIVER_POSITION).value == position
    one.heard(), two.heard()
    bench.pass_time(300 * MS)
    assert [s.session_id for s in one.heard(f.StatusMessage)] == [77]
    assert [s.session_id for s in two.heard(f.StatusMessage)] == [77]
    assert image.subscription_registration_id == mds.correlation_id
    assert bench.counter(CounterType.RECEIVER_HWM).label.endswith(f" {STREAM} {MDS}")


def test_a_merged_stream_ends_when_all_its_sources_have(bench, mds):
    one, two = bench.source(FIRST), bench.source(SECOND)
    image = bench.image(one)
    two.setup()
    bench.turn()
    one.heartbeat(0, 0xE0)
    told = []
    for _ in range(10):
        two.heartbeat(0)
        told += bench.pass_time(200 * MS)
    assert told == []
    two.heartbeat(0, 0xE0)
    (gone,) = bench.pass_time(2 * S)
    assert gone.correlation_id == image.correlation_id


def test_removing_the_subscription_closes_all_its_sockets(bench, mds):
    bench.destination(mds, "aeron:ipc")
    bench.remove(mds)
    assert bench.types() == []
    assert bench.refused(remove(mds, "aeron:ipc"))[0] == 2


def test_ipc_streams_are_destinations_too(bench, mds):
    bench.destination(mds, "aeron:ipc")
    bench.do(lambda i, n: c.AddPublication(i, n, STREAM, "aeron:ipc?term-length=64k"))
    position = bench.counter(CounterType.SUBSCRIBER_POSITION)
    assert position.registration_id == mds.correlation_id
    bench.do(remove(mds, "aeron:ipc"))
    assert bench.counters(CounterType.SUBSCRIBER_POSITION) == []


def test_a_destination_with_control_asks_for_setups(bench):
    ready = bench.subscription(MDS)
    bench.subscription(MDS, 8)
    source = bench.source(("10.0.0.1", 24345), local=("10.0.0.2", 24346))
    bench.destination(ready, "aeron:udp?endpoint=10.0.0.1:24345|control=10.0.0.2:24346")
    (asked,) = source.heard()
    assert (asked.flags, asked.session_id, asked.stream_id) == (0x80, 0, 0)
    bench.pass_time(2100 * MS)
    assert len(source.heard()) == 2


def test_a_destination_may_be_added_again_in_the_same_breath(bench, mds):
    for _ in range(3):
        bench.send(remove(mds, channel(FIRST)))
        bench.send(add(mds, channel(FIRST)))
        assert [type(m) for m in bench.turn()] == [r.OperationSuccess, r.OperationSuccess]
    assert len(bench.counters(CounterType.LOCAL_SOCKET_ADDRESS)) == 2
