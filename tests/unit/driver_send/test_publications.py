"""Adding and sharing UDP publications: endpoints, counters, logs, refusals."""

import errno
import threading

import pytest

from aerolog.testing import FakeFileSystem, FakeNetwork, ManualClock
from aerolog.transport.client import Aeron
from aerolog.transport.counters.counter_types import CounterType as T
from aerolog.transport.driver import MediaDriver, media_driver
from aerolog.transport.network.networks import SYSTEM_NETWORK, WrappedNetwork
from aerolog.transport.protocol import commands as c
from aerolog.transport.protocol import frame_codec as f
from aerolog.transport.protocol import responses as r

MS = 1_000_000
CHANNEL = "aeron:udp?endpoint=10.0.0.2:4000"
STREAM = 7
TERM = 65_536


def pub(channel, stream_id=STREAM):
    return lambda i, n: c.AddPublication(i, n, stream_id, channel)


def test_counters_of_a_publication_come_in_the_order_of_the_reference(bench):
    bench.publication()

    assert bench.types() == [
        T.SEND_CHANNEL_STATUS,
        T.LOCAL_SOCKET_ADDRESS,
        T.PUBLISHER_POSITION,
        T.PUBLISHER_LIMIT,
        T.SENDER_POSITION,
        T.SENDER_LIMIT,
        T.SENDER_BPE,
        T.SENDER_NAKS_RECEIVED,
    ]
    status = bench.counter(T.SEND_CHANNEL_STATUS)
    address = bench.counter(T.LOCAL_SOCKET_ADDRESS)
    assert bench.value(status.counter_id) == 1
    assert status.label.startswith(f"snd-channel: {CHANNEL} 10.0.0.1:")
    assert address.label.startswith(f"snd-local-sockaddr: {status.counter_id} 10.0.0.1:")


def test_a_publication_of_several_destinations_counts_them(bench):
    ready = bench.publication("aeron:udp?control=10.0.0.1:4001|control-mode=dynamic|fc=min")

    assert bench.types()[:4] == [
        T.SEND_CHANNEL_STATUS,
        T.LOCAL_SOCKET_ADDRESS,
        T.MDC_DESTINATIONS,
        T.FLOW_CONTROL_RECEIVERS,
    ]
    assert bench.counter(T.FLOW_CONTROL_RECEIVERS).owner_id == -1
    assert bench.counter(T.SEND_CHANNEL_STATUS).counter_id == ready.channel_status_id


def test_an_endpoint_is_shared_by_canonical_form(bench):
    first = bench.publication()
    second = bench.exclusive(f"{CHANNEL}|alias=other")
    other = bench.publication(f"{CHANNEL}|control=10.0.0.1:4001")

    assert first.channel_status_id == second.channel_status_id != other.channel_status_id
    assert first.registration_id != second.registration_id


def test_a_publication_is_shared_by_stream_and_endpoint(bench):
    first = bench.publication()

    again = bench.publication(f"{CHANNEL}|alias=again")
    elsewhere = bench.publication(stream_id=8)

    assert again.registration_id == first.registration_id != elsewhere.registration_id
    assert again.session_id == first.session_id != elsewhere.session_id
    assert len(bench.counters(T.PUBLISHER_LIMIT)) == 2


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("mtu=4096", "'mtu': existing=1408 requested=4096"),
        ("term-length=128k", "'term-length': existing=65536 requested=131072"),
        ("ssc=true", "spiesSimulateConnection: existing=false requested=true"),
    ],
)
def test_a_publication_that_asks_for_something_else_is_not_shared(bench, option, text):
    bench.publication()

    code, message = bench.refused(pub(f"{CHANNEL}|{option}"))

    assert code == 11
    assert message.startswith("java.lang.IllegalStateException : existing publication has differe")
    assert text in message
    assert f"existingChannel={CHANNEL} " in message


def test_a_session_belongs_to_one_publication_of_a_channel(bench):
    channel = f"{CHANNEL}|session-id=4242"
    bench.exclusive(channel)

    code, message = bench.refused(lambda i, n: c.AddExclusivePublication(i, n, STREAM, channel))
    elsewhere = bench.exclusive("aeron:udp?endpoint=10.0.0.2:4001|session-id=4242")

    assert (code, elsewhere.session_id) == (1, 4242)
    assert message == (
        f"ERROR - existing publication has clashing sessionId=4242 for streamId=7 channel={channel}"
    )


def test_a_tag_stands_for_an_endpoint(bench):
    tagged = bench.publication("aeron:udp?endpoint=10.0.0.2:4000|tags=5")

    shared = bench.publication("aeron:udp?tags=5", stream_id=8)
    unknown = bench.refused(pub("aeron:udp?tags=6"))
    mismatch = bench.refused(pub("aeron:udp?endpoint=10.0.0.2:4001|tags=5"))

    assert shared.channel_status_id == tagged.channel_status_id
    assert unknown[0] == 1
    assert "must have explicit control, endpoint" in unknown[1]
    assert mismatch[0] == 11
    assert "matching tag=5 has mismatched endpoint or control" in mismatch[1]


def test_a_refused_socket_leaves_nothing_behind(start):
    class Refusing(WrappedNetwork):
        def open_send_port(self, *_, **__):
            raise OSError(errno.EADDRINUSE, "Address already in use")

    bench = start(network=Refusing(SYSTEM_NETWORK))

    code, message = bench.refused(pub(f"{CHANNEL}|control=10.0.0.1:4001"))

    assert code == 11
    assert message == (
        "io.aeron.exceptions.AeronException : ERROR - channel error - Address already in use: "
        f"{CHANNEL}|control=10.0.0.1:4001"
    )
    assert bench.types() == []


def test_an_endpoint_outlives_a_publication_that_is_refused_after_it(bench):
    code, message = bench.refused(pub(f"{CHANNEL}|fc=min"))

    assert (code, message) == (
        11,
        "java.lang.IllegalArgumentException : unsupported unicast flow control strategy: fc=min",
    )
    assert bench.types() == [T.SEND_CHANNEL_STATUS, T.LOCAL_SOCKET_ADDRESS]
    bench.publication()
    assert len(bench.counters(T.SEND_CHANNEL_STATUS)) == 1


def test_what_a_publication_asks_for_is_in_its_log(bench):
    group = "aeron:udp?control=10.0.0.1:4001|control-mode=dynamic"
    unicast = bench.log(bench.publication(f"{CHANNEL}|so-sndbuf=64k|eos=false")).metadata
    dynamic = bench.log(bench.exclusive(f"{group}|ssc=true|linger=3s")).metadata

    assert (unicast.group, unicast.socket_sndbuf_length, unicast.signal_eos) == (0, 65536, 0)
    assert unicast.socket_rcvbuf_length == 131072
    assert (dynamic.group, dynamic.spies_simulate_connection) == (1, 1)
    assert dynamic.linger_timeout_ns == 3_000_000_000


def test_a_publication_starts_where_its_channel_says(bench):
    listener = bench.listener()
    ready = bench.exclusive(f"{CHANNEL}|init-term-id=7|term-id=9|term-offset=4096")
    position = 2 * TERM + 4096

    setup = bench.connect(listener)

    assert [bench.position_of(ready, kind) for kind in (12, 1, 2, 9)] == [position] * 4
    assert (setup.initial_term_id, setup.active_term_id, setup.term_offset) == (7, 9, 4096)


def test_a_port_comes_from_the_range_and_goes_back_to_it(start):
    bench = start(sender_wildcard_port_range="5000 5000", publication_linger_timeout=0)
    channel = "aeron:udp?control=10.0.0.1:0|control-mode=dynamic"
    first = bench.publication(channel)
    label = bench.counter(T.LOCAL_SOCKET_ADDRESS).label
    code, message = bench.refused(pub(channel))
    bench.remove(first)
    bench.pass_time(500 * MS)

    second = bench.publication(channel)

    assert label.endswith(" 10.0.0.1:5000")
    assert (code, message) == (
        11,
        (
            "io.aeron.exceptions.AeronException : ERROR - channel error - "
            f"no available ports in range 5000 5000: {channel}"
        ),
    )
    assert second.channel_status_id > 0


def test_next_session_ids_are_those_of_no_publication_of_the_stream(bench):
    ready = bench.publication(f"{CHANNEL}|session-id=5000")

    def taken():
        (answer,) = bench.do(lambda i, n: c.GetNextAvailableSessionId(i, n, STREAM))
        assert isinstance(answer, r.NextAvailableSessionId)
        return answer.session_id

    assert len({ready.session_id, *(taken() for _ in range(5))}) == 6


def test_names_are_looked_up_before_the_next_command_is_taken(start):
    bench = start(driver_async_executor_enabled=True)
    ids = [
        bench.send(pub("aeron:udp?endpoint=localhost:4000")),
        bench.send(pub("aeron:ipc")),
        bench.send(pub("aeron:udp?endpoint=localhost:0")),
    ]
    answers = []
    while len(answers) < 3:
        answers += [m for m in bench.turn() if not isinstance(m, r.CounterReady)]

    assert [answer.correlation_id for answer in answers] == ids
    assert isinstance(answers[2], r.OnError)


@pytest.mark.parametrize("mode", ["DEDICATED", "SHARED_NETWORK", "SHARED"])
def test_a_driver_with_threads_leaves_none_of_them_and_no_socket(tmp_path, mode):
    before = set(threading.enumerate())
    options = {"threading_mode": mode, "term_buffer_length": "64k"}
    with (
        MediaDriver(str(tmp_path / "aeron"), **options) as driver,
        Aeron.connect(driver.aeron_dir) as client,
    ):
        client.add_publication("aeron:udp?endpoint=127.0.0.1:24999", STREAM)
        client.add_publication("aeron:udp?control=127.0.0.1:24998|control-mode=dynamic", STREAM)
    assert set(threading.enumerate()) <= before


def test_a_setup_says_what_the_publication_is(bench):
    listener = bench.listener()
    ready = bench.publication(f"{CHANNEL}|mtu=4096|term-length=128k")

    setup = bench.connect(listener)

    assert setup == f.SetupFrame(
        0, ready.session_id, STREAM, setup.initial_term_id, setup.initial_term_id, 2 * TERM, 4096
    )


def test_a_driver_that_does_not_start_leaves_no_socket(tmp_path, monkeypatch):
    def refuse(*_):
        raise RuntimeError("no threads today")

    monkeypatch.setattr(media_driver, "make_runners", refuse)
    clock = ManualClock()
    host = FakeNetwork(clock).host("10.0.0.1")
    options = {"driver_resolver_name": "here", "driver_resolver_interface": "10.0.0.1:8050"}

    with pytest.raises(RuntimeError, match="no threads"):
        MediaDriver(
            str(tmp_path / "aeron"),
            clock=clock,
            network=host,
            file_system=FakeFileSystem(),
            **options,
        )

    host.open_receive_port(("10.0.0.1", 8050)).close()
