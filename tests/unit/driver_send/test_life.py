"""UDP publications from their first status message to the end of their linger."""

import pytest

from aerolog.transport.counters.counter_types import CounterType as T
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.protocol import commands as c
from aerolog.transport.protocol import frame_codec as f
from aerolog.transport.protocol import responses as r
from aerolog.transport.protocol.frames import STATUS_FLAG_EOS

MS = 1_000_000
S = 1_000_000_000
CHANNEL = "aeron:udp?endpoint=10.0.0.2:4000"
TERM = 65_536
WINDOW = TERM // 2
MESSAGE = bytes(1000)
FRAMED = 1056
REVOKE = 1
EOS = 0x20
REVOKED = 0x10


@pytest.fixture
def connected(bench):
    """A publication with a receiver: ready, the receiver, the setup that it answered."""
    listener = bench.listener()
    ready = bench.publication()
    return ready, listener, bench.connect(listener)


def is_gone(bench):
    return bench.types() == []


def test_nothing_can_be_written_before_a_receiver_answers(bench):
    listener = bench.listener()
    ready = bench.publication()
    writer = bench.writer(ready)

    assert writer.offer(MESSAGE) == -1
    bench.connect(listener)

    assert bench.position_of(ready, T.PUBLISHER_LIMIT) == WINDOW
    assert bench.position_of(ready, T.SENDER_LIMIT) == listener.window
    assert writer.offer(MESSAGE) == FRAMED


def test_what_is_written_arrives_and_moves_the_counters(bench, connected):
    ready, listener, setup = connected
    writer = bench.writer(ready)
    for _ in range(10):
        assert writer.offer(MESSAGE) > 0
    bench.turn()

    frames = listener.heard(f.DataFrame)
    listener.status(setup, 10 * FRAMED)
    bench.turn()

    assert [frame.payload for frame in frames if frame.frame_length != 0] == [MESSAGE] * 10
    assert bench.position_of(ready, T.SENDER_POSITION) == 10 * FRAMED
    assert bench.position_of(ready, T.PUBLISHER_POSITION) == 10 * FRAMED
    assert bench.position_of(ready, T.SENDER_LIMIT) == 10 * FRAMED + listener.window
    assert bench.position_of(ready, T.PUBLISHER_LIMIT) == 10 * FRAMED + WINDOW


def test_a_publication_whose_receivers_are_silent_is_not_connected(bench, connected):
    ready, *_ = connected
    writer = bench.writer(ready)
    assert writer.offer(MESSAGE) > 0

    bench.pass_time(7 * S, step_ns=100 * MS)

    assert bench.position_of(ready, T.PUBLISHER_LIMIT) == FRAMED
    assert writer.offer(MESSAGE) == -1


def test_a_publication_lingers_before_it_is_gone(bench, connected):
    ready, listener, setup = connected
    bench.remove(ready)
    bench.pass_time(1500 * MS)
    lingering = bench.types()
    ended = [frame for frame in listener.heard(f.DataFrame) if frame.flags & EOS]
    listener.status(setup)
    bench.pass_time(1 * S)

    assert len(lingering) == 8
    assert len(ended) > 5
    assert is_gone(bench)
    assert not bench.files.exists(ready.log_file)


def test_a_receiver_that_has_seen_the_end_cuts_the_linger_short(bench, connected):
    ready, listener, setup = connected
    bench.remove(ready)
    bench.pass_time(300 * MS)
    listener.status(setup, flags=STATUS_FLAG_EOS)

    bench.pass_time(300 * MS)

    assert is_gone(bench)


def test_data_that_is_not_sent_yet_keeps_a_publication(bench, connected):
    ready, listener, setup = connected
    writer = bench.writer(ready)
    while writer.offer(MESSAGE) > 0:
        pass
    listener.window = 0
    sent = bench.position_of(ready, T.PUBLISHER_LIMIT)
    bench.remove(ready)
    bench.turn()
    listener.heard()
    for _ in range(20):
        listener.status(setup, bench.position_of(ready, T.SENDER_POSITION))
        bench.pass_time(200 * MS)
    still_there = not is_gone(bench)
    listener.window = WINDOW
    for _ in range(30):
        listener.status(setup, bench.position_of(ready, T.SENDER_POSITION))
        bench.pass_time(100 * MS)
        if is_gone(bench):
            break

    assert still_there
    assert is_gone(bench)
    frames = listener.heard(f.DataFrame)
    assert sum(FRAMED for frame in frames if frame.payload) + sent >= writer.position


def test_a_revoked_publication_says_so_and_goes_soon(bench, connected):
    ready, listener, _ = connected
    spy = bench.spy()
    listener.heard()

    said = bench.remove(ready, REVOKE)
    said += bench.pass_time(150 * MS)
    frames = listener.heard(f.DataFrame)
    bench.pass_time(3 * S)

    assert any(frame.flags & REVOKED for frame in frames)
    assert [type(m).__name__ for m in said] == ["OperationSuccess", "UnavailableImage"]
    assert said[-1].subscription_registration_id == spy.correlation_id
    assert bench.value(SystemCounter.PUBLICATIONS_REVOKED) == 1
    assert is_gone(bench)


def test_publications_of_a_client_that_is_gone_drain(bench, connected):
    bench.alive.clear()

    bench.pass_time(14 * S, step_ns=100 * MS)

    assert is_gone(bench)
    assert bench.value(SystemCounter.CLIENT_TIMEOUTS) == 1


def test_a_session_is_free_when_its_publication_is(bench):
    channel = f"{CHANNEL}|session-id=4242|linger=0"
    first = bench.exclusive(channel)
    bench.remove(first)
    bench.pass_time(500 * MS)

    assert bench.exclusive(channel).session_id == 4242


def test_an_endpoint_stays_as_long_as_a_publication_needs_it(bench):
    first = bench.publication(f"{CHANNEL}|linger=0")
    second = bench.publication(f"{CHANNEL}|linger=0", stream_id=8)
    bench.remove(first)
    bench.pass_time(500 * MS)
    shared = bench.types()
    bench.remove(second)
    bench.pass_time(500 * MS)

    assert shared[:2] == [T.SEND_CHANNEL_STATUS, T.LOCAL_SOCKET_ADDRESS]
    assert len(shared) == 8
    assert is_gone(bench)


def test_a_command_for_a_port_that_is_being_closed_waits_for_it(bench):
    channel = "aeron:udp?control=10.0.0.1:4001|control-mode=dynamic|linger=0"
    for _ in range(3):
        ready = bench.publication(channel)
        bench.remove(ready)
        while bench.counters(T.SEND_CHANNEL_STATUS) and bench.types()[-1:] != [T.MDC_DESTINATIONS]:
            bench.pass_time(20 * MS)

    assert isinstance(bench.publication(channel), r.PublicationReady)


def test_an_abandoned_claim_is_unblocked(start):
    bench = start(
        publication_unblock_timeout="2s", client_liveness_timeout="1s", timer_interval="100ms"
    )
    listener = bench.listener()
    ready = bench.publication()
    setup = bench.connect(listener)
    writer = bench.writer(ready)
    claimed = writer.claim(100)
    assert not isinstance(claimed, int)
    assert bench.writer(ready).offer(MESSAGE) > 0
    for _ in range(15):
        listener.status(setup)
        bench.pass_time(200 * MS)

    assert bench.value(SystemCounter.UNBLOCKED_PUBLICATIONS) == 1
    payloads = [frame.payload for frame in listener.heard(f.DataFrame)]
    assert MESSAGE in payloads


def test_a_rejected_stream_is_reported_once_to_its_clients(bench, connected):
    ready, listener, setup = connected
    error = f.ErrorFrame(
        setup.session_id, setup.stream_id, listener.receiver_id, 13, "not wanted", flags=0
    )
    listener.send(error)
    listener.send(error)

    (told,) = bench.turn()

    assert isinstance(told, r.OnPublicationError)
    assert (told.registration_id, told.code, told.message) == (
        ready.registration_id,
        13,
        "not wanted",
    )
    assert (told.receiver_id, told.destination_registration_id) == (listener.receiver_id, -1)
    assert (told.address[:4], told.port) == (bytes((10, 0, 0, 2)), 4000)
    assert "onPublicationError: registrationId=" in bench.errors()[-1]


def test_unknown_publications_are_refused(bench):
    bench.publication()

    assert bench.refused(lambda i, n: c.RemovePublication(i, n, 4711, 0)) == (
        3,
        "ERROR - unknown publication: 4711",
    )


def test_made_up_rejections_do_not_fill_the_error_log(bench, connected):
    _, listener, setup = connected
    told = []
    for number in range(100):
        listener.receiver_id = number
        listener.status(setup)
        error = f.ErrorFrame(setup.session_id, setup.stream_id, number, 13, f"reason {number}")
        listener.send(error)
        told += bench.turn()

    assert [m.message for m in told] == [f"reason {number}" for number in range(100)]
    assert len(bench.errors()) == 17
    assert bench.value(SystemCounter.ERRORS) == 100
