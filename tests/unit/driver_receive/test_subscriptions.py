"""UDP subscriptions: endpoints shared and not, refusals, counters, closing."""

import struct

import pytest

from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.protocol import commands as c
from aerolog.transport.protocol import responses as r

STREAM = 7
S = 1_000_000_000
HERE = ("10.0.0.1", 24325)
CHANNEL = "aeron:udp?endpoint=10.0.0.1:24325"


def sub(channel, stream_id=STREAM):
    return lambda i, n: c.AddSubscription(i, n, stream_id, channel)


def test_a_subscription_is_ready_with_the_status_of_its_endpoint(bench):
    ready = bench.subscription(CHANNEL)
    assert [type(m) for m in bench.last] == [r.CounterReady, r.SubscriptionReady]
    status = bench.counter(CounterType.RECEIVE_CHANNEL_STATUS)
    local = bench.counter(CounterType.LOCAL_SOCKET_ADDRESS)
    heartbeat = bench.counter(CounterType.CLIENT_HEARTBEAT)
    assert status.counter_id < local.counter_id < heartbeat.counter_id
    assert ready.channel_status_id == status.counter_id
    assert (status.value, status.label) == (1, f"rcv-channel: {CHANNEL} 10.0.0.1:24325")
    assert (status.registration_id, status.owner_id) == (ready.correlation_id, 0)
    assert status.key[: 4 + len(CHANNEL)] == struct.pack("<i", len(CHANNEL)) + CHANNEL.encode()
    assert (local.value, local.label) == (
        1,
        f"rcv-local-sockaddr: {status.counter_id} 10.0.0.1:24325",
    )
    address = b"10.0.0.1:24325"
    assert (
        local.key[: 8 + len(address)]
        == struct.pack("<ii", status.counter_id, len(address)) + address
    )


def test_subscriptions_share_an_endpoint_by_the_text_of_its_address(bench):
    first = bench.subscription(CHANNEL)
    again = bench.subscription(CHANNEL + "|alias=another", 8)
    assert again.channel_status_id == first.channel_status_id
    code, text = bench.refused(sub("aeron:udp?endpoint=10.0.0.1:024325"))
    assert code == 11
    assert text == (
        "io.aeron.exceptions.AeronException : ERROR - channel error - Address already in use: "
        "aeron:udp?endpoint=10.0.0.1:024325"
    )
    assert bench.types() == [7, 14]


def test_an_address_that_cannot_be_bound_leaves_nothing_behind(bench):
    code, text = bench.refused(sub("aeron:udp?endpoint=192.0.2.9:24325"))
    assert code == 11
    assert "channel error - Cannot assign requested address" in text
    assert bench.types() == []
    assert "channel error" in bench.errors()[0]
    bench.subscription(CHANNEL)
    assert bench.types() == [7, 14]


def test_an_endpoint_closes_with_its_last_subscription_and_may_be_opened_again(bench):
    first = bench.subscription(CHANNEL)
    second = bench.subscription(CHANNEL, 8)
    (answer,) = bench.remove(first)
    assert isinstance(answer, r.OperationSuccess)
    assert bench.types() == [7, 14]
    bench.remove(second)
    assert bench.types() == []
    assert bench.value(second.channel_status_id) == 2
    bench.subscription(CHANNEL)
    assert bench.types() == [7, 14]


def test_removing_an_unknown_subscription_is_refused(bench):
    assert bench.refused(lambda i, n: c.RemoveSubscription(i, n, 4711)) == (
        2,
        "ERROR - unknown subscription: 4711",
    )


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("reliable=false", "reliable=false"),
        ("rejoin=false", "rejoin=false"),
        ("channel-rcv-ts-offset=0", "channel-rcv-ts-offset=0"),
    ],
)
def test_subscriptions_of_one_stream_agree_on_how_it_is_received(bench, option, text):
    bench.subscription(CHANNEL)
    assert bench.refused(sub(f"{CHANNEL}|{option}")) == (
        1,
        (
            f"ERROR - option conflicts with existing subscription: {text} "
            f"existingChannel={CHANNEL} channel={CHANNEL}|{option}"
        ),
    )
    bench.subscription(CHANNEL + "|session-id=5")


def test_another_stream_may_be_received_otherwise(bench):
    one = bench.subscription(CHANNEL)
    others = [
        bench.subscription(CHANNEL + "|reliable=false", 8),
        bench.subscription(CHANNEL + "|session-id=5|reliable=false"),
    ]
    assert {other.channel_status_id for other in others} == {one.channel_status_id}


def test_a_socket_buffer_holds_the_window(bench):
    channel = "aeron:udp?endpoint=10.0.0.1:24326|rcv-wnd=32k|so-rcvbuf=16k"
    assert bench.refused(sub(channel)) == (
        11,
        (
            "java.lang.IllegalStateException : Initial window greater than SO_RCVBUF for channel: "
            f"rcv-wnd=32768 so-rcvbuf=16384 channel={channel}"
        ),
    )
    assert bench.types() == []
    small = "aeron:udp?endpoint=10.0.0.1:24326|rcv-wnd=16k|so-rcvbuf=16k"
    bench.subscription(small)
    larger = "aeron:udp?endpoint=10.0.0.1:24326|rcv-wnd=32k"
    assert bench.refused(sub(larger)) == (
        11,
        (
            "java.lang.IllegalStateException : Initial window greater than SO_RCVBUF for channel: "
            f"rcv-wnd=32768 so-rcvbuf=16384 existingChannel={small} channel={larger}"
        ),
    )
    other = "aeron:udp?endpoint=10.0.0.1:24326|rcv-wnd=16k|so-rcvbuf=64k"
    assert bench.refused(sub(other)) == (
        1,
        (
            "ERROR - so-rcvbuf=65536 does not match existing value of 16384: "
            f"existingChannel={small} channel={other}"
        ),
    )


def test_a_tag_names_an_endpoint(bench):
    first = bench.subscription(CHANNEL + "|tags=9")
    assert bench.subscription("aeron:udp?tags=9").channel_status_id == first.channel_status_id
    assert bench.types() == [7, 14]
    code, text = bench.refused(sub("aeron:udp?tags=9|endpoint=10.0.0.1:24399"))
    assert code == 11
    assert "matching tag=9 has mismatched endpoint or control" in text


def test_wildcard_ports_are_shown_and_every_subscription_has_its_own(bench):
    first = bench.subscription("aeron:udp?endpoint=10.0.0.1:0")
    second = bench.subscription("aeron:udp?endpoint=10.0.0.1:0")
    assert first.channel_status_id != second.channel_status_id
    ports = {
        int(k.label.rpartition(":")[2]) for k in bench.counters(CounterType.LOCAL_SOCKET_ADDRESS)
    }
    assert len(ports) == 2
    assert 0 not in ports


def test_wildcard_ports_come_from_the_range_and_go_back_to_it(start):
    bench = start(receiver_wildcard_port_range="25000 25001")
    first = bench.subscription("aeron:udp?endpoint=10.0.0.1:0")
    bench.subscription("aeron:udp?endpoint=10.0.0.1:0")
    assert [
        k.label.rpartition(":")[2] for k in bench.counters(CounterType.LOCAL_SOCKET_ADDRESS)
    ] == ["25000", "25001"]
    code, text = bench.refused(sub("aeron:udp?endpoint=10.0.0.1:0"))
    assert code == 11
    assert "no available ports in range 25000 25001" in text
    bench.remove(first)
    bench.subscription("aeron:udp?endpoint=10.0.0.1:0")
    assert sorted(
        k.label.rpartition(":")[2] for k in bench.counters(CounterType.LOCAL_SOCKET_ADDRESS)
    ) == ["25000", "25001"]


def test_ipv6_addresses_are_shown_in_full(bench):
    bench.subscription("aeron:udp?endpoint=[::1]:24327")
    assert bench.counter(CounterType.LOCAL_SOCKET_ADDRESS).label.endswith(
        " [0:0:0:0:0:0:0:1]:24327"
    )


def test_a_group_is_joined_and_its_answers_go_to_the_next_address(bench):
    channel = "aeron:udp?endpoint=224.20.30.39:24328|interface=127.0.0.1"
    bench.subscription(channel)
    assert (
        bench.counter(CounterType.RECEIVE_CHANNEL_STATUS).label
        == f"rcv-channel: {channel} 0.0.0.0:24328"
    )
    assert bench.refused(sub(channel.replace("30.39", "30.41") + "|ttl=300")) == (
        11,
        "java.lang.IllegalArgumentException : Invalid TTL/hop value",
    )


def test_a_closed_or_dead_client_takes_its_subscriptions_with_it(bench):
    other = bench.cnc.to_driver.next_correlation_id()
    bench.subscription(CHANNEL)
    bench.subscription(CHANNEL, 8, client_id=other)
    bench.do(c.ClientClose)
    bench.alive.remove(bench.client_id)
    bench.pass_time(S)
    assert bench.types() == [7, 14]
    bench.pass_time(11 * S)
    assert bench.types() == []


def test_control_needs_a_port(bench):
    assert bench.refused(sub("aeron:udp?control=10.0.0.1:0")) == (
        11,
        (
            "java.lang.IllegalArgumentException : control has port=0 for subscription: "
            "channel=aeron:udp?control=10.0.0.1:0"
        ),
    )


def test_an_explicit_control_address_is_asked_for_setups_once_a_second(bench):
    source = bench.source(("10.0.0.1", 24330), local=("10.0.0.2", 24331))
    bench.subscription("aeron:udp?endpoint=10.0.0.1:24330|control=10.0.0.2:24331")
    (eliciting,) = source.heard()
    assert (eliciting.session_id, eliciting.stream_id, eliciting.flags) == (0, 0, 0x80)
    bench.pass_time(3 * S)
    assert 2 <= len(source.heard()) <= 3
    bench.subscription("aeron:udp?endpoint=10.0.0.1:24330|control=10.0.0.2:24331|session-id=55")
    asked = source.heard()
    assert (asked[0].session_id, asked[0].stream_id, asked[0].flags) == (55, STREAM, 0x80)


def test_full_counters_refuse_a_subscription_and_leave_nothing_behind(bench):
    bench.add(lambda i, n: c.AddCounter(i, n, 1500, b"", "first"))
    for _ in range(bench.driver.context.counters.available() - 1):
        bench.do(lambda i, n: c.AddCounter(i, n, 1500, b"", "filler"))
    code, text = bench.refused(sub(CHANNEL))
    assert code == 11
    assert "unable to allocate counter" in text
    assert 7 not in bench.types()
    assert bench.there.open_send_port(HERE, ("10.0.0.2", 0)) is not None


def test_a_port_may_be_asked_for_again_in_the_same_breath(bench):
    ready = bench.subscription(CHANNEL)
    for _ in range(3):
        bench.send(lambda i, n, gone=ready: c.RemoveSubscription(i, n, gone.correlation_id))
        again = bench.send(sub(CHANNEL))
        said = bench.turn()
        assert [type(m) for m in said] == [r.OperationSuccess, r.SubscriptionReady]
        (ready,) = [m for m in said if m.correlation_id == again]
    assert bench.types().count(7) == 1
