"""Destinations of publications, by command and by status messages; response channels."""

import pytest

from aerolog.transport.counters.counter_types import CounterType as T
from aerolog.transport.protocol import commands as c
from aerolog.transport.protocol import frame_codec as f
from aerolog.transport.protocol.frames import STATUS_FLAG_SETUP

MS = 1_000_000
S = 1_000_000_000
MANUAL = "aeron:udp?control-mode=manual"
STREAM = 7
OTHER = ("10.0.0.2", 4002)


def destinations(bench):
    return bench.value(bench.counter(T.MDC_DESTINATIONS).counter_id)


def test_setups_go_to_every_destination_that_was_added(bench):
    here, there = bench.listener(), bench.listener(OTHER)
    ready = bench.publication(MANUAL)
    bench.destination(ready, "aeron:udp?endpoint=10.0.0.2:4000")
    bench.destination(ready, "aeron:udp?endpoint=10.0.0.2:4002")

    bench.pass_time(200 * MS)

    assert here.setup() == there.setup()
    assert destinations(bench) == 2


def test_destinations_go_by_channel_and_by_id(bench):
    here, there = bench.listener(), bench.listener(OTHER)
    ready = bench.publication(MANUAL)
    first = bench.destination(ready, "aeron:udp?endpoint=10.0.0.2:4000")
    bench.destination(ready, "aeron:udp?endpoint=10.0.0.2:4002")
    bench.add(lambda i, n: c.RemoveDestinationById(i, n, ready.registration_id, first))
    bench.add(lambda i, n: c.RemoveDestinationById(i, n, ready.registration_id, first))
    bench.pass_time(200 * MS)
    by_id = (here.heard(), len(there.heard()))
    bench.add(
        lambda i, n: c.RemoveDestination(
            i, n, ready.registration_id, "aeron:udp?endpoint=10.0.0.2:4002"
        )
    )
    there.heard()
    bench.pass_time(200 * MS)

    assert by_id[0] == []
    assert by_id[1] > 0
    assert there.heard() == []
    assert destinations(bench) == 0


def test_the_same_destination_twice_is_two_of_them(bench):
    here = bench.listener()
    ready = bench.publication(MANUAL)
    channel = "aeron:udp?endpoint=10.0.0.2:4000"
    bench.destination(ready, channel)
    bench.destination(ready, channel)
    twice = destinations(bench)
    bench.add(lambda i, n: c.RemoveDestination(i, n, ready.registration_id, channel))
    bench.pass_time(200 * MS)

    assert (twice, destinations(bench)) == (2, 1)
    assert here.heard()


@pytest.mark.parametrize(
    ("channel", "code", "text"),
    [
        ("aeron:ipc", 1, "UdpChannel only supports UDP media: aeron:ipc"),
        ("aeron-spy:aeron:udp?endpoint=a:1", 1, "Aeron spies are invalid as send destinations"),
        ("aeron:udp?endpoint=10.0.0.2:0", 1, "endpoint has port=0 for send destination"),
        ("aeron:udp?endpoint=10.0.0.2:1|mtu=1408", 1, "must not contain the key: mtu"),
    ],
)
def test_channels_that_no_destination_has_are_refused(bench, channel, code, text):
    ready = bench.publication(MANUAL)

    refused = bench.refused(lambda i, n: c.AddDestination(i, n, ready.registration_id, channel))

    assert refused[0] == code
    assert text in refused[1]


def test_only_manual_publications_take_destinations(bench):
    ready = bench.publication()
    channel = "aeron:udp?endpoint=10.0.0.2:4000"

    refused = bench.refused(lambda i, n: c.AddDestination(i, n, ready.registration_id, channel))
    unknown = bench.refused(lambda i, n: c.AddDestination(i, n, 4711, channel))

    assert refused == (1, "ERROR - channel does not allow manual control")
    assert unknown == (3, "ERROR - unknown publication: 4711")


def test_a_destination_whose_host_is_unknown_is_taken_and_tried_again(start):
    bench = start(driver_reresolution_check_interval="1s")
    ready = bench.publication(MANUAL)
    bench.destination(ready, "aeron:udp?endpoint=no-such-host.invalid:4000")

    bench.pass_time(8 * S, step_ns=100 * MS)

    assert destinations(bench) == 1
    assert any("could not re-resolve: endpoint=no-such-host" in text for text in bench.errors())


def test_receivers_become_destinations_by_asking(bench):
    listener = bench.listener(OTHER)
    bench.publication("aeron:udp?control=10.0.0.1:4001|control-mode=dynamic")
    bench.pass_time(200 * MS)
    before = listener.heard()
    asking = f.StatusMessage(0, 0, 0, 0, 0, listener.receiver_id, flags=STATUS_FLAG_SETUP)
    listener.send(asking, ("10.0.0.1", 4001))
    bench.pass_time(200 * MS)
    setup = listener.setup()
    listener.status(setup)
    bench.turn()

    assert before == []
    assert destinations(bench) == 1
    assert setup.stream_id == STREAM


def test_an_error_names_the_destination_that_it_came_from(bench):
    listener = bench.listener()
    ready = bench.publication(MANUAL)
    destination = bench.destination(ready, "aeron:udp?endpoint=10.0.0.2:4000")
    setup = bench.connect(listener)
    listener.send(f.ErrorFrame(setup.session_id, STREAM, listener.receiver_id, 13, "no"))

    (told,) = bench.turn()

    assert told.destination_registration_id == destination


def test_a_response_is_sent_to_who_asked_for_it(bench):
    listener = bench.listener(OTHER)
    ready = bench.publication(
        "aeron:udp?control=10.0.0.1:4001|control-mode=response|response-correlation-id=prototype"
    )
    bench.pass_time(300 * MS)
    before = listener.heard()
    asking = f.StatusMessage(
        ready.session_id, STREAM, 0, 0, 0, listener.receiver_id, flags=STATUS_FLAG_SETUP
    )
    listener.send(asking, ("10.0.0.1", 4001))
    bench.pass_time(200 * MS)

    assert before == []
    assert listener.setup().session_id == ready.session_id


def test_a_request_needs_its_subscription(bench):
    channel = "aeron:udp?endpoint=10.0.0.2:4000|response-correlation-id=4711"

    refused = bench.refused(lambda i, n: c.AddPublication(i, n, STREAM, channel))

    assert refused == (
        11,
        (
            "java.lang.IllegalArgumentException : "
            "unable to find response subscription for response-correlation-id=4711"
        ),
    )


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        ("", "control-mode=response was specified, but no response-correlation-id set"),
        ("|response-correlation-id=77", "image.correlationId=77 not found"),
    ],
)
def test_a_response_needs_an_image(bench, wanted, text):
    channel = f"aeron:udp?control=10.0.0.1:4001|control-mode=response{wanted}"

    refused = bench.refused(lambda i, n: c.AddPublication(i, n, STREAM, channel))

    assert refused == (11, f"java.lang.IllegalArgumentException : {text}")


def test_destinations_of_a_group_are_sent_to_by_the_socket_of_the_group(bench):
    listener = bench.listener()
    ready = bench.publication(
        "aeron:udp?endpoint=224.20.30.39:4003|interface=localhost|control-mode=manual"
    )
    bench.destination(ready, "aeron:udp?endpoint=10.0.0.2:4000")
    bench.pass_time(200 * MS)

    assert listener.setup().session_id == ready.session_id
    assert listener.source == ("10.0.0.1", 4003)
