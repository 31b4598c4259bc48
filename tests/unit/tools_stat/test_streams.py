"""Streams are put together from counters."""

import struct

import pytest

from aerolog.archive.protocol.counter_types import ArchiveCounterType
from aerolog.tools.views.driver_view import DriverView
from aerolog.tools.views.stream_views import StreamView, streams
from aerolog.transport.counters.counter_types import CounterType

from .made_up import UDP, MadeUpDriver


def found(driver: MadeUpDriver) -> list[StreamView]:
    return streams(DriverView.open(driver.folder).counters())


def test_an_ipc_publication_has_its_readers_the_slowest_first(driver: MadeUpDriver) -> None:
    driver.client(1, "pricing")
    driver.ipc(position=900, limit=32_768, readers={3: 900, 4: 100})

    (stream,) = found(driver)

    assert stream.is_ipc
    assert stream.publisher is not None
    assert (stream.publisher.position, stream.publisher.limit) == (900, 32_768)
    assert stream.publisher.window == 31_868
    assert not stream.publisher.exclusive
    assert [(s.registration_id, s.position, s.client_name) for s in stream.subscribers] == [
        (4, 100, "pricing"),
        (3, 900, "pricing"),
    ]
    assert stream.sender is None
    assert stream.position == 900
    assert len(stream.counter_ids) == 4


def test_both_ends_of_a_network_stream_are_one(driver: MadeUpDriver) -> None:
    driver.sent(position=900, limit=32_768, sent=800, allowed=33_000, events=2)
    driver.received(hwm=800, position=700, readers={3: 600}, naks=4)

    (stream,) = found(driver)

    assert stream.publisher is not None
    assert stream.publisher.exclusive
    assert stream.sender is not None
    assert (stream.sender.window, stream.sender.back_pressure_events) == (32_200, 2)
    (receiver,) = stream.receivers
    assert (receiver.missing, receiver.naks_sent) == (100, 4)
    assert [s.reference_id for s in stream.subscribers] == [30]
    assert stream.channel == f"{UDP}|term-length=64k"


@pytest.mark.parametrize(
    ("publication", "image", "one"),
    [
        ("aeron:udp?endpoint=localhost:1", "aeron:udp?endpoint=127.0.0.1:1", True),
        ("aeron:udp?endpoint=localhost:1", "aeron:udp?endpoint=localhost:0", True),
        ("aeron:udp?endpoint=localhost:1", "aeron:udp?control-mode=manual", True),
        ("aeron:udp?endpoint=localhost:1", "aeron:udp?endpoint=localhost:2", False),
        ("aeron:udp?control=a:1|control-mode=dynamic", "aeron:udp?endpoint=b:0|control=a:1", True),
        ("aeron:ipc", "aeron:udp?endpoint=localhost:1", False),
    ],
)
def test_an_image_belongs_to_the_publication_whose_packets_reach_it(
    driver: MadeUpDriver, publication: str, image: str, one: bool
) -> None:
    driver.stream(12, "pub-pos (exclusive)", 20, 0, channel=publication)
    driver.stream(3, "rcv-hwm", 30, 0, channel=image)

    assert len(found(driver)) == (1 if one else 2)


def test_two_publications_of_one_session_keep_their_images(driver: MadeUpDriver) -> None:
    for port in (1, 2):
        channel = f"aeron:udp?endpoint=localhost:{port}"
        driver.stream(12, "pub-pos (exclusive)", 20 + port, 0, channel=channel)
        driver.stream(3, "rcv-hwm", 30 + port, port, channel=channel)

    assert [s.receivers[0].hwm for s in found(driver)] == [1, 2]


def test_a_stream_of_another_driver_has_its_images_alone(driver: MadeUpDriver) -> None:
    driver.received(hwm=800, position=800, readers={3: 800})

    (stream,) = found(driver)

    assert stream.publisher is stream.sender is None
    assert len(stream.receivers) == len(stream.subscribers) == 1


def test_a_subscriber_whose_stream_is_gone_is_shown_all_the_same(driver: MadeUpDriver) -> None:
    driver.stream(4, "sub-pos", 3, 64, reference_id=99, suffix=" @0")

    (stream,) = found(driver)

    assert [s.position for s in stream.subscribers] == [64]
    assert stream.identity == (7, 1001, 0)


def test_a_spy_is_told_from_others(driver: MadeUpDriver) -> None:
    driver.sent(position=0, limit=0, sent=0, allowed=0)
    driver.stream(4, "sub-pos", 3, 0, channel=f"aeron-spy:{UDP}", reference_id=20, suffix=" @0")

    (stream,) = found(driver)

    assert [s.is_spy for s in stream.subscribers] == [True]
    assert not stream.channel.startswith("aeron-spy")


def test_a_channel_that_the_key_cuts_is_whole_in_the_label(driver: MadeUpDriver) -> None:
    channel = f"aeron:udp?endpoint=localhost:1|alias={'x' * 200}"
    driver.stream(12, "pub-pos (exclusive)", 20, 0, channel=channel)

    assert [s.channel for s in found(driver)] == [channel]


def test_a_recording_is_linked_to_its_stream_and_subscriber(driver: MadeUpDriver) -> None:
    driver.ipc(position=900, limit=32_768, readers={3: 900})
    driver.stream(4, "sub-pos", 5, 700, client_id=8, reference_id=10, suffix=" @0")
    key = struct.pack("<qii", 44, 7, 9) + b"aeron:ipc" + struct.pack("<q", 2)
    driver.counters.allocate(
        ArchiveCounterType.RECORDING_POSITION,
        "rec-pos: 44 7 1001 aeron:ipc - archiveId=2",
        key,
        1,
        8,
        value=640,
    )

    (stream,) = found(driver)

    (recording,) = stream.recordings
    assert (recording.recording_id, recording.archive_id, recording.position) == (44, 2, 640)
    assert {s.registration_id: s.recording_id for s in stream.subscribers} == {3: None, 5: 44}


@pytest.mark.parametrize("label", ["rec-pos", "rec-pos: x y z", ""])
def test_a_recording_with_a_strange_label_is_left_out(driver: MadeUpDriver, label: str) -> None:
    driver.counters.allocate(ArchiveCounterType.RECORDING_POSITION, label, b"\xff" * 112)

    assert found(driver) == []


def test_a_key_that_lies_about_its_channel_is_cut(driver: MadeUpDriver) -> None:
    for length in (-1, 2**31 - 1, 93):
        driver.counters.allocate(
            CounterType.PUBLISHER_POSITION, "pub-pos: x", struct.pack("<qiii", length, 1, 2, length)
        )

    assert len(found(driver)) == 3
