"""The receiver on real sockets: batches, runs that the kernel joins, timestamps, hand-over."""

from __future__ import annotations

import errno
import struct
import time

import pytest

from aerolog.transport.concurrent.clock import SystemClock
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.driver.receive.receive_transport import ReceiveTransport
from aerolog.transport.driver.receive.receiver_events import AnswerFailed, ReceiveFailed
from aerolog.transport.network import sockets
from aerolog.transport.network.rehearsal import Disturbance, RehearsedPort

MS = 1_000_000
LOOPBACK = ("127.0.0.1", 0)
RESERVED = -8


@pytest.fixture
def clock():
    return SystemClock()


def until(condition, station, deadline_s=30.0):
    """Turn the station until a condition holds."""
    deadline = time.monotonic() + deadline_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come about in time"
        station.cycle()


@pytest.fixture
def station(clock, station_of):
    return station_of(clock, None)


@pytest.fixture
def link(station, source_of):
    """What connects a source to a station through sockets."""
    opened = []

    def make(endpoint_options=None, **port_options):
        receiving = sockets.open_receive_port(LOOPBACK, so_rcvbuf=1 << 20, **port_options)
        endpoint = station.endpoint(ReceiveTransport(0, receiving), **(endpoint_options or {}))
        station.receiver.add_subscription(endpoint, 1001)
        station.cycle()
        sending = sockets.open_send_port(
            receiving.local_address, LOOPBACK, so_rcvbuf=1 << 20, **port_options
        )
        opened.extend((receiving, sending))
        return source_of(sending, None)

    yield make
    for port in opened:
        port.close()


@pytest.mark.parametrize("offload", [True, False])
def test_a_stream_arrives_whole_with_and_without_offload(station, link, offload):
    source = link(offload=offload)
    source.setup()
    until(lambda: station.images, station)
    image = station.image
    until(source.heard, station)
    found = b""
    sent = b""
    for start in range(0, 6 * 65536, 16384):
        # One call sends 16 datagrams, joined by the kernel where it can.
        end = start + 16384
        run = b"".join(source.frame(position, 1024) for position in range(start, end, 1024))
        assert source.port.send_datagrams([run], segment=1024) == 1
        sent += b"".join(run[at + 32 : at + 1024] for at in range(0, len(run), 1024))
        until(lambda end=end: image.rebuild_position >= end, station)
        found += station.consume(image)
        station.cycle()
    assert found == sent
    assert station.count(SystemCounter.INVALID_PACKETS) == 0
    assert station.count(SystemCounter.FLOW_CONTROL_OVER_RUNS) == 0


def test_receive_timestamps_are_put_into_messages(station, link):
    source = link({"channel_timestamp_offset": 8})
    source.setup()
    until(lambda: station.images, station)
    before = time.time_ns()
    source.data(0, 64, fill=0)
    source.data(64, 64, fill=0, flags=0x40)
    source.data(128, 40, fill=0)
    source.send(source.frame(192, 48, fill=0) + source.frame(256, 64, fill=0))
    until(lambda: station.image.rebuild_position == 320, station)
    after = time.time_ns()
    term = bytes(station.image.logs.term(0)[:320])
    assert before <= struct.unpack_from("<q", term, 40)[0] <= after
    assert term[32:40] + term[48:64] == bytes(24)
    assert term[96:128] == bytes(32)
    assert term[160:192] == bytes(32)
    assert before <= struct.unpack_from("<q", term, 232)[0] <= after
    assert term[288:320] == bytes(32)


def test_media_timestamps_are_the_kernels(station, link):
    source = link(
        {"channel_timestamp_offset": 0, "media_timestamp_offset": RESERVED}, timestamps=True
    )
    source.setup()
    until(lambda: station.images, station)
    before = time.time_ns()
    source.data(0, 64)
    until(lambda: station.image.rebuild_position == 64, station)
    term = station.image.logs.term(0)
    (reserved,) = struct.unpack_from("<q", term, 24)
    (payload,) = struct.unpack_from("<q", term, 32)
    assert before <= reserved <= payload <= time.time_ns()


def test_of_many_endpoints_every_one_is_heard(station, link):
    """More than are tried one by one: the system says which have datagrams."""
    sources = [link() for _ in range(9)]
    for number, source in enumerate(sources):
        source.session_id = number
        source.setup()
    until(lambda: len(station.images) == len(sources), station)
    for position in (0, 64, 128):
        for source in sources:
            source.data(position, 64, fill=source.session_id)
        end = position + 64
        until(lambda end=end: all(i.rebuild_position == end for i in station.images), station)
    for image in station.images:
        assert station.consume(image) == bytes([image.session_id]) * 96


def test_a_port_that_holds_datagrams_back_is_tried_among_many(station, link, source_of):
    for _ in range(7):
        link()
    delay = Disturbance(delay_ns=20 * MS)
    receiving = RehearsedPort(sockets.open_receive_port(LOOPBACK), None, delay, station.clock)
    sending = sockets.open_send_port(receiving.local_address, LOOPBACK)
    with receiving, sending:
        endpoint = station.endpoint(ReceiveTransport(0, receiving))
        station.receiver.add_subscription(endpoint, 1001)
        station.cycle()
        source = source_of(sending, None)
        source.setup()
        until(lambda: station.images, station)
        source.data(0)
        until(lambda: station.image.rebuild_position == 64, station)
        assert station.consume(station.image) == bytes(32)


def test_refused_answers_are_told_once_a_second_and_counted(station):
    nowhere = ("127.0.0.1", 0)  # the system refuses port 0 as a destination
    with sockets.open_receive_port(LOOPBACK) as receiving:
        transport = ReceiveTransport(0, receiving, explicit_control=nowhere)
        began = time.monotonic()
        endpoint = station.endpoint(transport)
        for _ in range(50):
            station.receiver.request_setup(endpoint, 1001, 5)
            station.cycle()
        assert set(station.events) == {AnswerFailed(transport, nowhere, errno.EINVAL)}
        assert len(station.events) <= 1 + time.monotonic() - began
        assert station.count(SystemCounter.SHORT_SENDS) == 51


def test_a_port_that_fails_is_told_once_a_second_and_hurts_no_other(station, link):
    source = link()
    failing = sockets.open_receive_port(LOOPBACK)
    transport = ReceiveTransport(0, failing)
    station.endpoint(transport)
    station.cycle()
    failing.close()
    began = time.monotonic()
    source.setup()
    until(lambda: station.images, station)
    for _ in range(50):
        station.cycle()
    failures = [event for event in station.events if isinstance(event, ReceiveFailed)]
    assert set(failures) == {ReceiveFailed(transport, errno.EBADF)}
    assert len(failures) <= 1 + time.monotonic() - began
