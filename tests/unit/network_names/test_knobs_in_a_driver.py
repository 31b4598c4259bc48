"""Knobs that reach all the way from a property or a channel into the streams of a driver."""

import sys
import time
from importlib import metadata
from importlib.metadata import EntryPoint, EntryPoints

import pytest
from waits import wait_until

from aerolog.transport.client import Aeron
from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.driver import MediaDriver
from aerolog.transport.driver.congestion_control import congestion_control_supplier
from aerolog.transport.driver.congestion_control.congestion_control import PythonCongestionControl
from aerolog.transport.driver.flow_control import flow_control_supplier
from aerolog.transport.driver.flow_control.flow_control import PythonFlowControl
from aerolog.transport.errors import RegistrationError

DEADLINE_S = 60
UDP = "aeron:udp?endpoint=127.0.0.1:{port}|term-length=64k"
GROUP = "aeron:udp?endpoint=224.20.30.41:{port}|interface=127.0.0.1|term-length=64k"
_ports = iter(range(24_400, 24_500))
PER_IMAGE = CounterType.PER_IMAGE


@pytest.fixture
def port():
    return next(_ports)


@pytest.fixture
def driver_with():
    """``driver_with(**settings)``: a driver and a client on it; closed after the test."""
    opened = []

    def start(**options):
        driver = MediaDriver.embedded(**options)
        opened.append(driver)
        opened.append(Aeron(driver.aeron_dir))
        return driver, opened[-1]

    yield start
    for one in reversed(opened):
        one.close()


def first_message(subscription):
    return wait_until(lambda: subscription.poll_messages(1), "a message")[0]


def sent(aeron, channel, stream_id, payload, *, sub=""):
    subscription = aeron.add_subscription(channel + sub, stream_id)
    publication = aeron.add_publication(channel, stream_id)
    publication.send(payload, timeout=DEADLINE_S)
    return publication, first_message(subscription)


def test_the_kernel_s_time_of_arrival_is_in_the_message(driver_with, port):
    _, aeron = driver_with()
    before = time.time_ns()
    _, message = sent(
        aeron,
        UDP.format(port=port),
        1101,
        bytes(32),
        sub="|media-rcv-ts-offset=8|channel-rcv-ts-offset=16",
    )
    zeros, media, channel, rest = (
        int.from_bytes(bytes(message.data)[at : at + 8], "little") for at in (0, 8, 16, 24)
    )
    assert before < media <= channel <= time.time_ns()
    assert (zeros, rest) == (0, 0)


def test_the_kernel_s_time_is_refused_when_it_is_switched_off(driver_with, port):
    _, aeron = driver_with(media_receive_timestamps=False)
    with pytest.raises(RegistrationError, match="not supported in the Java driver"):
        aeron.add_subscription(UDP.format(port=port) + "|media-rcv-ts-offset=0", 1101)


def cubic_counters(aeron):
    return {
        found.label.partition(":")[0]: found.value
        for found in aeron.counters.values()
        if found.type_id == PER_IMAGE
    }


def test_cubic_by_property_shows_its_numbers(driver_with, port):
    _, aeron = driver_with(congestioncontrol_supplier="cubic")
    sent(aeron, UDP.format(port=port), 1102, b"hello")

    shown = cubic_counters(aeron)
    assert shown.keys() == {"rcv-cc-cubic-rtt", "rcv-cc-cubic-wnd"}
    assert shown["rcv-cc-cubic-rtt"] == 0  # nothing is measured yet
    # Ten datagrams at first, and at most as many as half a term holds.
    assert shown["rcv-cc-cubic-wnd"] in range(10 * 1408, 23 * 1408 + 1, 1408)


def test_cubic_measures_the_round_trip_when_asked_to(driver_with, port):
    _, aeron = driver_with(
        congestioncontrol_supplier="cubic", cubic_congestion_control_measure_rtt=True
    )
    sent(aeron, UDP.format(port=port), 1102, b"hello")

    wait_until(
        lambda: cubic_counters(aeron)["rcv-cc-cubic-rtt"] not in {0, 100_000},
        "a measured round trip",
    )


def test_an_unknown_congestion_control_fails_the_image_and_says_so(driver_with, port):
    driver, aeron = driver_with()
    channel = UDP.format(port=port)
    subscription = aeron.add_subscription(channel + "|cc=reno", 1103)
    publication = aeron.add_publication(channel, 1103)
    errors = driver.context.counters

    def is_told() -> bool:
        texts = [found.text for found in driver.context.cnc.errors()]
        return any("unsupported congestion control : cc=reno" in text for text in texts)

    wait_until(is_told, "the error")
    wait_until(lambda: errors.counter_value(SystemCounter.ERRORS) > 0, "an error to be counted")
    assert not subscription.images
    assert not publication.is_connected


MADE = []


def spy_flow_control(params, term_length):
    multiple = params.retransmit_window_multiple
    MADE.append(PythonFlowControl(term_length, retransmit_window_multiple=multiple))
    return MADE[-1]


def spy_congestion_control(image):
    MADE.append(PythonCongestionControl(image.max_window, image.max_window))
    return MADE[-1]


@pytest.fixture
def installed(monkeypatch):
    """Strategies as another package would install them."""
    monkeypatch.setitem(sys.modules, "strategies_of_a_driver", sys.modules[__name__])
    declared = EntryPoints(
        [
            EntryPoint("own", "strategies_of_a_driver:spy_flow_control", "aerolog.flow_control"),
            EntryPoint(
                "own", "strategies_of_a_driver:spy_congestion_control", "aerolog.congestion_control"
            ),
        ]
    )
    for module in (metadata, congestion_control_supplier, flow_control_supplier):
        monkeypatch.setattr(module, "entry_points", declared.select)
    flow_control_supplier._plug_ins.cache_clear()
    MADE.clear()
    yield MADE
    flow_control_supplier._plug_ins.cache_clear()


def test_installed_strategies_are_chosen_by_channel(driver_with, port, installed):
    _, aeron = driver_with()
    channel = GROUP.format(port=port)
    subscription = aeron.add_subscription(channel + "|cc=own", 1104)
    publication = aeron.add_publication(channel + "|fc=own", 1104)
    publication.send(b"hello", timeout=DEADLINE_S)

    assert bytes(first_message(subscription).data) == b"hello"
    assert {type(made) for made in installed} == {PythonFlowControl, PythonCongestionControl}
    assert [made.error for made in installed] == [None, None]


def test_installed_strategies_are_chosen_by_property(driver_with, port, installed):
    _, aeron = driver_with(unicast_flowcontrol_supplier="own", congestioncontrol_supplier="own")
    _, message = sent(aeron, UDP.format(port=port), 1105, b"hello")

    assert bytes(message.data) == b"hello"
    assert {type(made) for made in installed} == {PythonFlowControl, PythonCongestionControl}


@pytest.mark.parametrize("offload", [True, False])
def test_streams_are_the_same_with_and_without_offload(driver_with, port, offload):
    _, aeron = driver_with(network_offload=offload)
    channel = UDP.format(port=port)
    subscription = aeron.add_subscription(channel, 1106)
    publication = aeron.add_publication(channel, 1106)
    expected = [number.to_bytes(4, "little") * (1 + number % 300) for number in range(3000)]
    arrived, done = [], 0
    deadline = time.monotonic() + DEADLINE_S
    while len(arrived) < len(expected):
        assert time.monotonic() < deadline, f"{len(arrived)} of {len(expected)} arrived"
        if done < len(expected) and publication.offer(expected[done]) > 0:
            done += 1
        arrived += [bytes(message.data) for message in subscription.poll_messages()]
    assert arrived == expected


def test_a_driver_s_own_rehearsal_is_counted_as_loss_and_repaired(driver_with, port):
    _, aeron = driver_with(rehearse_send_data="rate=0.1|seed=2|types=2")
    channel = UDP.format(port=port)
    subscription = aeron.add_subscription(channel, 1107)
    publication = aeron.add_exclusive_publication(channel, 1107)
    expected = [number.to_bytes(4, "little") * 200 for number in range(500)]
    arrived, done = [], 0
    deadline = time.monotonic() + DEADLINE_S
    while len(arrived) < len(expected):
        assert time.monotonic() < deadline, f"{len(arrived)} of {len(expected)} arrived"
        if done < len(expected) and publication.offer(expected[done]) > 0:
            done += 1
        arrived += [bytes(message.data) for message in subscription.poll_messages()]
    assert arrived == expected
    assert aeron.counters[SystemCounter.RETRANSMITS_SENT].value > 0
