"""Bytes captured from the reference, replayed through real sockets (spec wire-protocol 18)."""

from __future__ import annotations

import struct
import time

import pytest

from aerolog.transport.concurrent.clock import SystemClock
from aerolog.transport.driver.congestion_control.congestion_control import StaticWindow
from aerolog.transport.driver.receive.receive_endpoint import ReceiveEndpoint
from aerolog.transport.driver.receive.receive_transport import ReceiveTransport
from aerolog.transport.network import sockets

LOOPBACK = ("127.0.0.1", 0)
TERM = 65536


def octets(text):
    return bytes.fromhex(text)


def receiver_id(text):
    return struct.unpack("<q", octets(text))[0]


# 18.2: session 0x01020304, stream 1001, initial term id 0x10
RECEIVER = "f1 2a 47 b2 8b 9e 02 89"
ELICITING = octets(
    "24 00 00 00 00 80 03 00 04 03 02 01 e9 03 00 0000 00 00 00 00 00 00 00 00 00 00 00" + RECEIVER
)
SETUP = octets(
    "28 00 00 00 00 00 05 00 00 00 00 00 04 03 02 01"
    "e9 03 00 00 10 00 00 00 10 00 00 00 00 00 01 00"
    "80 05 00 00 00 00 00 00"
)
FIRST_STATUS = octets(
    "24 00 00 00 00 00 03 00 04 03 02 01 e9 03 00 0010 00 00 00 00 00 00 00 00 80 00 00" + RECEIVER
)
NAK = octets("1c 00 00 00 00 00 02 00 04 03 02 01 e9 03 00 00 10 00 00 00 40 00 00 00 40 00 00 00")
# 18.4: gtag=258|rcv-wnd=16k
TAGGED_RECEIVER = "9c ae 7f 49 1d bc c1 68"
TAGGED_SETUP = SETUP[:12] + octets("0d 0c 0b 0a e9 03 00 00 07 00 00 00 07 00 00 00") + SETUP[28:]
TAGGED_STATUS = octets(
    "2c 00 00 00 00 00 03 00 0d 0c 0b 0a e9 03 00 00"
    "07 00 00 00 00 00 00 00 00 40 00 00" + TAGGED_RECEIVER + "02 01 00 00 00 00 00 00"
)
REJECTION = octets(
    "37 00 00 00 00 08 04 00 0d 0c 0b 0a e9 03 00 00" + TAGGED_RECEIVER + "02 01 00 00 00 00 00 00"
    "0d 00 00 00 0f 00 00 00 62 65 63 61 75 73 65 20 72 65 61 73 6f 6e 73"
)
# 18.5
CONTROL_RECEIVER = "9e ae 7f 49 1d bc c1 68"
ELICITING_ANY = octets(
    "24 00 00 00 00 80 03 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00"
    + CONTROL_RECEIVER
)
# 18.8: init-term-id=-5|term-id=-3|term-offset=61440, session 1234, stream 1
PLACED_SETUP = octets(
    "28 00 00 00 00 00 05 00 00 f0 00 00 d2 04 00 00 01 00 00 00 fb ff ff ff fd ff ff ff"
    "00 00 01 00 80 05 00 00 00 00 00 00"
)


class Wire:
    """A station and a socket that plays the reference's sender."""

    def __init__(self, station, identity, **options):
        self.station = station
        self.receiving = sockets.open_receive_port(LOOPBACK)
        self.sending = sockets.open_receive_port(LOOPBACK)
        control = self.sending.local_address if options.pop("controlled", False) else None
        self.endpoint = ReceiveEndpoint(
            receiver_id(identity),
            [ReceiveTransport(0, self.receiving, explicit_control=control)],
            **options,
        )
        station.receiver.add_endpoint(self.endpoint)
        self.heard = []

    def send(self, *datagrams):
        sent = self.sending.send_datagrams(list(datagrams), self.receiving.local_address)
        assert sent == len(datagrams)

    def hear(self, count=1):
        """The next datagrams that the station sends."""
        self.until(lambda: len(self.heard) >= count)
        found, self.heard = self.heard[:count], self.heard[count:]
        return found

    def until(self, condition):
        deadline = time.monotonic() + 30
        while not condition():
            assert time.monotonic() < deadline, "it did not come about in time"
            self.station.cycle()
            self.heard += [data for data, _, _ in self.sending.receive_datagrams()]


@pytest.fixture
def station(station_of):
    return station_of(SystemClock(), None)


@pytest.fixture
def wire(station):
    opened = []

    def make(identity, **options):
        opened.append(Wire(station, identity, **options))
        return opened[-1]

    yield make
    for each in opened:
        each.receiving.close()
        each.sending.close()


def test_a_subscription_and_a_scripted_sender(wire, station, source_of):
    """18.2"""
    here = wire(RECEIVER)
    station.receiver.add_subscription(here.endpoint, 1001)
    source = source_of(here.sending, here.receiving.local_address)
    here.send(source.frame(0, 64))
    assert here.hear() == [ELICITING]
    here.send(source.frame(0, 64), SETUP)
    assert here.hear() == [FIRST_STATUS]
    here.send(source.frame(0, 64), source.frame(128, 64))
    repeated = here.hear(20)
    assert repeated.count(NAK) >= 15
    assert set(repeated) <= {NAK, FIRST_STATUS}
    here.send(source.frame(64, 64))
    here.until(lambda: station.image.rebuild_position == 192)
    source.heartbeat(1024)
    here.until(lambda: any(data[20:] == struct.pack("<ii", 192, 832) for data in here.heard))
    here.send(b"".join(source.frame(position, 64) for position in range(192, 1024, 64)))
    here.until(lambda: station.image.rebuild_position == 1024)
    station.consume(station.image)
    here.heard.clear()
    echo = "39 30 00 00 00 00 00 00 4d 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00"
    here.send(octets("28 00 00 00 00 80 06 00 04 03 02 01 e9 03 00 00" + echo))
    here.until(lambda: any(data[6] == 6 for data in here.heard))
    answer = octets(
        "28 00 00 00 00 00 06 00 04 03 02 01 e9 03 00 00 39 30 00 00 00 00 00 00"
        "00 00 00 00 00 00 00 00" + RECEIVER
    )
    assert answer in here.heard


def test_status_messages_come_every_200_ms(wire, station):
    """18.2: 196, 201, 201, 201 ms"""
    here = wire(RECEIVER)
    station.receiver.add_subscription(here.endpoint, 1001)
    began = time.monotonic()
    here.send(SETUP)
    assert here.hear(4) == [FIRST_STATUS] * 4
    assert time.monotonic() - began >= 0.6


def test_the_end_of_a_stream_is_confirmed_within_a_cycle(wire, station, source_of):
    """18.3"""
    here = wire(RECEIVER)
    station.receiver.add_subscription(here.endpoint, 1001)
    source = source_of(here.sending, here.receiving.local_address)
    here.send(SETUP)
    here.hear()
    here.send(source.frame(0, 64))
    here.until(lambda: station.image.rebuild_position == 64)
    here.heard.clear()
    source.heartbeat(64, flags=0xE0)
    confirmed = FIRST_STATUS[:5] + b"\x40" + FIRST_STATUS[6:]
    assert here.hear(2) == [confirmed] * 2
    assert station.image.logs.end_of_stream_position == 64


def test_a_tagged_subscription_rejects_with_its_tag(wire, station):
    """18.4"""
    station.image_options = {"congestion": StaticWindow(16384, TERM)}
    here = wire(TAGGED_RECEIVER, group_tag=258)
    station.receiver.add_subscription(here.endpoint, 1001)
    here.send(TAGGED_SETUP)
    assert here.hear() == [TAGGED_STATUS]
    station.image.reject("because reasons")
    assert here.hear(2) == [REJECTION] * 2


def test_a_receiver_with_control_asks_for_any_session(wire, station):
    """18.5"""
    here = wire(CONTROL_RECEIVER, controlled=True)
    assert here.hear() == [ELICITING_ANY]
    station.receiver.add_subscription(here.endpoint, 1004, 55)
    assert here.hear() == [
        ELICITING_ANY[:8] + octets("37 00 00 00 ec 03 00 00") + ELICITING_ANY[16:]
    ]


def test_a_stream_begins_where_its_setup_says_and_skips_padding(wire, station, source_of):
    """18.8"""
    here = wire(RECEIVER)
    station.receiver.add_subscription(here.endpoint, 1)
    source = source_of(
        here.sending, here.receiving.local_address, session_id=1234, stream_id=1, initial_term_id=-5
    )
    here.send(PLACED_SETUP)
    (status,) = here.hear()
    assert struct.unpack_from("<ii", status, 16) == (-3, 61440)
    image = station.image
    assert image.rebuild_position == 192512
    start = 192512
    here.send(source.frame(start, 1376))
    here.send(source.frame(start + 1376, 1376) + source.pad(start + 2752, 1344))
    here.send(*[source.frame(3 * TERM + at, 1376) for at in (0, 1376, 2752)])
    here.until(lambda: image.rebuild_position == 200736)
    assert len(station.consume(image)) == 5 * 1344
    assert station.consumed(image) == 200736


def test_padding_alone_ends_a_term(wire, station, source_of):
    """18.8: 00 0c 00 00 00 c0 00 00 00 f4 00 00 ..."""
    here = wire(RECEIVER)
    station.receiver.add_subscription(here.endpoint, 1001)
    source = source_of(here.sending, here.receiving.local_address)
    source.setup(0xF400)
    here.hear()
    padding = source.pad(0xF400, 3072)
    assert padding[:12] == octets("00 0c 00 00 00 c0 00 00 00 f4 00 00")
    here.send(padding)
    here.until(lambda: station.image.rebuild_position == TERM)
