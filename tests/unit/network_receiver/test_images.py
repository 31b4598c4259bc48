"""What an image does with datagrams, and what its sender hears (spec wire-protocol 9, 18.2)."""

from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.driver.congestion_control.congestion_control import Cubic, StaticWindow
from aerolog.transport.driver.receive.loss_detector import StaticDelay
from aerolog.transport.driver.receive.receive_transport import ReceiveTransport
from aerolog.transport.protocol.frame_codec import (
    Nak,
    RttMeasurement,
    SetupFrame,
    StatusMessage,
    decode_frame,
    encode_frame,
)

MS = 1_000_000
S = 1_000 * MS
TERM = 65536
SESSION = 0x01020304
STREAM = 1001
RECEIVER_ID = -8574284853424707855


def status(position, window=32768, flags=0):
    return StatusMessage(
        SESSION, STREAM, 0x10 + position // TERM, position % TERM, window, RECEIVER_ID, flags=flags
    )


def nak(position, length):
    return Nak(SESSION, STREAM, 0x10 + position // TERM, position % TERM, length)


def test_data_is_received_in_order(streaming):
    station, source = streaming
    source.data(0, 64, fill=1)
    source.send(source.frame(64, 96, fill=2) + source.frame(160, 33, fill=3))
    station.cycle(MS)
    image = station.image
    assert (image.rebuild_position, image.hwm_position) == (224, 224)
    assert station.consume(image) == b"\1" * 32 + b"\2" * 64 + b"\3"
    assert source.heard() == []
    assert station.count(SystemCounter.BYTES_RECEIVED) == 40 + 64 + 160


def test_a_gap_is_reported_until_it_is_closed(streaming):
    station, source = streaming
    source.data(0)
    source.data(128)
    for _ in range(5):
        station.cycle(150_000)
    heard = source.heard()
    assert heard == [nak(64, 64)] * 4
    assert station.image.rebuild_position == 64
    assert station.image.hwm_position == 192
    source.data(64)
    for _ in range(5):
        station.cycle(150_000)
    assert station.image.rebuild_position == 192
    station.cycle(MS)
    assert source.heard() == []
    assert station.count(SystemCounter.NAK_MESSAGES_SENT) == 4


def test_a_heartbeat_reveals_what_was_lost_last(streaming):
    station, source = streaming
    source.data(0, 192)
    source.heartbeat(1024)
    station.cycle(MS)
    station.cycle(MS)
    assert source.heard()[0] == nak(192, 832)
    source.send(b"".join(source.frame(position, 64) for position in range(192, 1024, 64)))
    station.cycle(MS)
    assert station.image.rebuild_position == 1024
    assert station.count(SystemCounter.HEARTBEATS_RECEIVED) == 1


def test_a_status_message_follows_a_quarter_of_the_window(streaming):
    station, source = streaming
    for position in range(0, 40 * 1024, 1024):
        source.data(position, 1024)
        station.cycle(MS)
        station.consume(station.image)
        station.cycle()
    positions = [frame for frame in source.heard() if isinstance(frame, StatusMessage)]
    assert positions == [status(9216), status(18432), status(27648), status(36864)]


def test_losses_are_reported_once_with_their_extent(streaming):
    station, source = streaming
    source.data(0)
    source.data(128)
    for _ in range(10):
        station.cycle(MS)
    source.data(512)
    for _ in range(10):
        station.cycle(MS)
    source.data(64)
    for _ in range(10):
        station.cycle(MS)
    (entry,) = station.losses.entries()
    assert (entry.observation_count, entry.total_bytes_lost) == (2, 64 + 320)
    assert (entry.session_id, entry.stream_id) == (SESSION, STREAM)
    assert entry.channel == "aeron:udp?endpoint=receiver:4000"
    assert entry.source == "{}:{}".format(*source.port.local_address)


def test_gaps_of_an_unreliable_stream_are_filled(station, source):
    station.image_options = {"reliable": False, "feedback_delay": StaticDelay.unreliable()}
    station.listen()
    source.setup()
    station.cycle()
    source.data(0, fill=1)
    source.data(256, fill=2)
    station.cycle(MS)
    station.cycle(MS)
    image = station.image
    assert image.rebuild_position == 320
    assert station.consume(image) == b"\1" * 32 + b"\2" * 32
    assert station.consumed(image) == 320
    source.data(64, fill=9)
    station.cycle(MS)
    assert station.count(SystemCounter.LOSS_GAP_FILLS) == 1
    assert station.count(SystemCounter.NAK_MESSAGES_SENT) == 0


def test_more_than_half_a_term_ahead_is_an_over_run(streaming):
    station, source = streaming
    for position in range(0, 33 * 1024, 1024):
        source.data(position, 1024)
    station.cycle(MS)
    assert station.count(SystemCounter.FLOW_CONTROL_OVER_RUNS) == 1
    assert station.image.hwm_position == 32768
    source.heartbeat(32768 + 32)
    station.cycle(MS)
    assert station.count(SystemCounter.FLOW_CONTROL_OVER_RUNS) == 2
    assert station.count(SystemCounter.HEARTBEATS_RECEIVED) == 0
    station.consume(station.image)
    station.cycle(MS)
    assert source.heard() == [status(32768)]
    source.data(0, 1024)
    station.cycle(MS)
    assert station.count(SystemCounter.FLOW_CONTROL_UNDER_RUNS) == 1


def test_streams_go_around_all_terms(streaming):
    station, source = streaming
    position = 0
    sent = b""
    while position < 8 * TERM:
        fill = position // 1024 % 251
        source.data(position, 1024, fill=fill)
        sent += bytes([fill]) * 992
        position += 1024
        station.cycle(MS)
        assert station.consume(station.image) == sent[-992:]
        station.cycle()
    assert station.image.rebuild_position == 8 * TERM
    assert station.count(SystemCounter.FLOW_CONTROL_OVER_RUNS) == 0
    naks = [frame for frame in source.heard() if isinstance(frame, Nak)]
    assert naks == []


def test_padding_takes_the_stream_to_the_next_term(streaming):
    station, source = streaming
    position = 0
    while position < TERM - 1024:
        source.data(position, 1024)
        station.cycle(MS)
        station.consume(station.image)
        station.cycle()
        position += 1024
    source.send(source.pad(position, 1024))
    station.cycle(MS)
    image = station.image
    assert (image.hwm_position, image.rebuild_position) == (position + 32, TERM)
    station.consume(image)
    assert station.consumed(image) == TERM
    source.data(TERM, 64)
    station.cycle(MS)
    assert image.rebuild_position == TERM + 64


def test_round_trips_are_echoed_with_the_own_id(streaming):
    station, source = streaming
    for asked in (0, RECEIVER_ID, 4711):
        source.send(encode_frame(RttMeasurement(SESSION, STREAM, 12345, 77, asked, flags=0x80)))
    station.cycle(MS)
    assert source.heard() == [RttMeasurement(SESSION, STREAM, 12345, 0, RECEIVER_ID)] * 2


def test_cubic_measures_round_trips_and_opens_its_window(station, source):
    cubic = Cubic(131072, TERM, 1408, station.clock.now_ns(), measure_rtt=True)
    station.image_options = {"congestion": cubic}
    station.listen()
    source.setup()
    station.cycle()
    assert source.heard() == [status(0, 14080)]
    station.clock.advance_ns(MS)
    station.receiver.on_cycle()
    (request,) = source.heard()
    assert isinstance(request, RttMeasurement)
    assert (request.flags, request.receiver_id) == (0x80, RECEIVER_ID)
    station.clock.advance_ns(3 * MS)
    source.send(
        encode_frame(
            RttMeasurement(SESSION, STREAM, request.echo_timestamp_ns, MS, request.receiver_id)
        )
    )
    station.receiver.on_cycle()
    assert cubic.rtt_ns == 2 * MS
    station.cycle()
    assert [frame.window for frame in source.heard() if isinstance(frame, StatusMessage)] == [26752]


def test_a_window_of_its_own_is_announced(station, source):
    station.image_options = {"congestion": StaticWindow(16384, TERM)}
    endpoint = station.listen(group_tag=258)
    source.setup()
    station.cycle()
    assert source.heard() == [
        StatusMessage(SESSION, STREAM, 0x10, 0, 16384, RECEIVER_ID, group_tag=258)
    ]
    assert endpoint.group_tag == 258


def test_a_hostile_subscriber_position_moves_the_window_no_farther_than_data(streaming):
    station, source = streaming
    source.data(0, 1024)
    station.cycle(MS)
    for position in (2**62, -(2**62), 40_000):
        station.consume_to(station.image, position)
        station.run(250 * MS)
        assert station.image.rebuild_position <= TERM
        for frame in source.heard():
            assert 0 <= frame.term_offset <= TERM
            assert frame.term_id in {0x10, 0x11}


def test_answers_go_to_the_group_of_a_multicast_channel(station, network):
    group, control = ("224.20.30.39", 5000), ("224.20.30.40", 5000)
    transport = ReceiveTransport(0, station.host.open_receive_port(group), control_group=control)
    endpoint = station.endpoint(transport)
    station.receiver.add_subscription(endpoint, STREAM)
    station.cycle()
    host = network.host()
    sender = host.open_send_port(group, (host.ipv4, 0), control=control, ttl=4)
    setup = SetupFrame(0, SESSION, STREAM, 0x10, 0x10, TERM, 1408, ttl=4, flags=0x40)
    assert sender.send_datagrams([encode_frame(setup)]) == 1
    station.cycle()
    heard = [decode_frame(data) for data, _, _ in sender.receive_datagrams()]
    assert heard == [status(0)]
    assert (station.events[0].control, station.events[0].flags) == (control, 0x40)
    assert station.count(SystemCounter.POSSIBLE_TTL_ASYMMETRY) == 1
