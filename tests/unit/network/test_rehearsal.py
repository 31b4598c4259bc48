"""Loss, duplicates, reordering and delay on demand, by rule and by seed."""

import pytest

from aerolog.testing import FakeNetwork, ManualClock
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.network.drop_rules import FixedLoss, MultiGapLoss, RandomLoss
from aerolog.transport.network.rehearsal import Disturbance, RehearsedPort
from aerolog.transport.network.rehearsal_options import interceptor_rule, parse_rehearsal
from aerolog.transport.network.sockets import open_receive_port, open_send_port
from aerolog.transport.protocol.frame_codec import DataFrame, Nak, SetupFrame, encode_frame

MS = 1_000_000


def data(offset, length=96, term_id=7, session_id=1, stream_id=10):
    frame = DataFrame(offset, session_id, stream_id, term_id, bytes(length - 32))
    return encode_frame(frame)


HEARTBEAT = encode_frame(DataFrame(0, 1, 10, 7, frame_length=0))
NAK = encode_frame(Nak(1, 10, 7, 0, 64))
SETUP = encode_frame(SetupFrame(0, 1, 10, 7, 7, 65536, 1408))


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def ports(clock):
    """A sender and the receiver that it is connected to, in memory."""
    network = FakeNetwork(clock)
    host = network.host()
    receiver = host.open_receive_port((host.ipv4, 4000), so_rcvbuf=1 << 20)
    return host.open_send_port(receiver.local_address, ("0.0.0.0", 0)), receiver


def texts(port):
    return [text for text, _, _ in port.receive_datagrams()]


def test_a_share_of_the_datagrams_is_lost_and_the_seed_says_which():
    fates = [
        [rule.would_drop(data(i * 96)) for i in range(10_000)]
        for rule in (RandomLoss(0.05, 11), RandomLoss(0.05, 11), RandomLoss(0.05, 12))
    ]
    assert 400 < sum(fates[0]) < 600
    assert fates[0] == fates[1]
    assert fates[0] != fates[2]


def test_bursts_drop_datagrams_in_a_row():
    rule = RandomLoss(0.01, 3, burst=5)
    fates = "".join("x" if rule.would_drop(data(0)) else "." for _ in range(5000))
    runs = [len(run) for run in fates.split(".") if run]
    assert runs
    assert all(run >= 5 for run in runs[:-1])


@pytest.mark.parametrize(
    ("mask", "dropped"),
    [(0x2, [True, True, False, False]), (0x4, [False, False, True, False]), (0x20, [False] * 3)],
)
def test_a_mask_chooses_frame_types(mask, dropped):
    rule = RandomLoss(1.0, types=mask)
    frames = [data(0), HEARTBEAT, NAK, b"\x00" * 3]
    assert [rule.would_drop(frame) for frame in frames[: len(dropped)]] == dropped


def test_one_stream_or_session_can_be_chosen():
    stream, session = RandomLoss(1.0, stream_id=10), RandomLoss(1.0, session_id=2)
    for frame in (data(0), NAK, SETUP):
        assert stream.would_drop(frame)
        assert not session.would_drop(frame)
    assert not stream.would_drop(data(0, stream_id=11))
    assert session.would_drop(data(0, session_id=2))
    assert not stream.would_drop(data(0)[:19])


def test_a_fixed_range_is_lost_once_for_each_stream():
    rule = FixedLoss(7, 96, 192)
    sent = [data(offset) for offset in (0, 96, 192, 288)]
    assert [rule.would_drop(frame) for frame in sent] == [False, True, True, False]
    assert not any(rule.would_drop(frame) for frame in sent)
    assert rule.would_drop(data(96, session_id=2))
    assert not rule.would_drop(data(96, term_id=8, session_id=3))


def test_gaps_are_lost_once_at_each_multiple_of_the_radix():
    rule = MultiGapLoss(7, 1000, 32, 2)  # 1024 and 2048
    sent = [data(offset, 512) for offset in range(0, 4096, 512)]
    lost = [i * 512 for i, frame in enumerate(sent) if rule.would_drop(frame)]
    assert lost == [1024, 2048]
    assert not any(rule.would_drop(frame) for frame in sent)
    assert not rule.would_drop(HEARTBEAT)
    assert rule.dropped == 2


def test_a_gap_longer_than_a_datagram_loses_all_that_overlap_it():
    rule = MultiGapLoss(7, 1024, 200, 1)
    lost = [offset for offset in range(0, 2048, 96) if rule.would_drop(data(offset))]
    assert lost == [960, 1056, 1152]


@pytest.mark.parametrize(
    ("names", "arguments", "dropped"),
    [
        ("loss", {"loss": "rate=1.0|seed=5|recv-msg-mask=0x2"}, [True, False]),
        ("loss", {"loss": "rate=1.0|seed=5|recv-msg-mask=0xF"}, [True, True]),
        ("loss", {"loss": "rate=0|recv-msg-mask=F"}, [False, False]),
        ("fixed-loss", {"fixed-loss": "term-id=7|term-offset=0|length=96"}, [True, False]),
        (
            "fixed-loss, loss",
            {
                "loss": "rate=1|recv-msg-mask=4",
                "fixed-loss": "term-id=7|term-offset=0|length=96",
            },
            [True, True],
        ),
        (
            "multi-gap-loss",
            {"multi-gap-loss": "term-id=7|gap-radix=64|gap-length=8|total-gaps=9"},
            [True, False],
        ),
    ],
)
def test_the_reference_s_interceptors_are_understood(names, arguments, dropped):
    rule = interceptor_rule(names, arguments)
    assert [rule.would_drop(frame) for frame in (data(0), NAK)] == dropped


def test_no_interceptors_are_no_rule():
    assert interceptor_rule("", {}) is None


@pytest.mark.parametrize(
    ("names", "arguments"),
    [
        ("gain", {}),
        ("loss", {"loss": "rate=2|recv-msg-mask=F"}),
        ("loss", {"loss": "rate"}),
        ("loss", {"loss": "rate=a"}),
        ("fixed-loss", {}),
        ("fixed-loss", {"fixed-loss": "term-id=1|term-offset=-1|length=1"}),
        ("multi-gap-loss", {"multi-gap-loss": "term-id=1|gap-radix=0|gap-length=1|total-gaps=1"}),
        ("multi-gap-loss", {"multi-gap-loss": "term-id=1|gap-radix=8|gap-length=9|total-gaps=1"}),
    ],
)
def test_interceptors_that_cannot_be_are_refused(names, arguments):
    with pytest.raises(ConfigurationError):
        interceptor_rule(names, arguments)


@pytest.mark.parametrize(
    "text", ["speed=1", "rate=1.5", "delay=1x", "reorder=2", "rate=1|burst=0", "seed=a", "rate"]
)
def test_rehearsals_that_cannot_be_are_refused(text):
    with pytest.raises(ConfigurationError):
        parse_rehearsal(text)


def test_each_direction_is_disturbed_on_its_own(ports, clock):
    sender, receiver = ports
    port = RehearsedPort(sender, parse_rehearsal("rate=1"), parse_rehearsal(""), clock)
    assert port.send_datagrams([b"lost", b"lost too"]) == 2
    assert texts(receiver) == []
    assert receiver.send_datagrams([b"heard"], sender.local_address) == 1
    assert texts(port) == [b"heard"]
    assert (port.outgoing.dropped, port.incoming.dropped) == (2, 0)


@pytest.mark.parametrize("outgoing", [True, False])
def test_delayed_datagrams_go_on_in_order_when_they_are_due(ports, clock, outgoing):
    sender, receiver = ports
    disturbance = parse_rehearsal("delay=2ms")
    if outgoing:
        sender = RehearsedPort(sender, disturbance, clock=clock)
    else:
        receiver = RehearsedPort(receiver, incoming=disturbance, clock=clock)
    assert sender.send_datagrams([b"1", b"2"]) == 2
    assert texts(receiver) == []
    clock.advance_ns(2 * MS - 1)
    assert sender.receive_datagrams() == []
    assert texts(receiver) == []
    clock.advance_ns(1)
    assert sender.receive_datagrams() == []  # any call of the sender lets its own go on
    assert texts(receiver) == [b"1", b"2"]
    assert disturbance.delayed == 2


def test_duplicates_and_reordering(ports, clock):
    sender, receiver = ports
    disturbance = parse_rehearsal("duplicate=0.2|reorder=0.2|reorder-time=1ms|seed=4")
    port = RehearsedPort(receiver, incoming=disturbance, clock=clock)
    sent = [i.to_bytes(2, "big") for i in range(1000)]
    found = []
    for text in sent:
        assert sender.send_datagrams([text]) == 1
        found += texts(port)
        clock.advance_ns(MS // 5)
    clock.advance_ns(2 * MS)
    found += texts(port)
    assert len(found) == 1000 + disturbance.duplicated
    assert sorted(set(found)) == sent
    assert found != sorted(found)
    assert 150 < disturbance.duplicated < 250
    assert 150 < disturbance.delayed < 250


def test_what_is_held_back_is_bounded(ports, clock):
    sender, _ = ports
    disturbance = Disturbance(delay_ns=MS)
    port = RehearsedPort(sender, disturbance, clock=clock)
    assert port.send_datagrams([b"x"] * 2000) == 2000
    assert disturbance.overflowed == 2000 - 1024


@pytest.mark.parametrize("offload", [True, False])
def test_runs_are_judged_datagram_by_datagram(take, offload):
    expected = RandomLoss(0.3, 9)
    datagrams = [data(i * 1408, 1408) for i in range(40)]
    kept = [datagram for datagram in datagrams if not expected.would_drop(datagram)]
    with (
        open_receive_port(("127.0.0.1", 0), so_rcvbuf=1 << 20, offload=offload) as inner,
        open_send_port(inner.local_address, ("0.0.0.0", 0), offload=offload) as sender,
        RehearsedPort(inner, incoming=Disturbance(RandomLoss(0.3, 9))) as port,
    ):
        assert sender.send_datagrams([b"".join(datagrams)], segment=1408) == 1
        assert [text for text, _, _ in take(port, len(kept))] == kept
        assert port.receive_datagrams() == []
        assert port.local_address == inner.local_address


def test_a_rehearsed_port_closes_the_one_inside(ports):
    sender, _ = ports
    with RehearsedPort(sender) as port:
        assert not port.closed
    assert port.closed
    assert sender.closed
