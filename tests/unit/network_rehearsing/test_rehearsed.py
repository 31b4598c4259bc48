"""Bad networks by property: ours, the debug endpoints of the reference, the C driver's names."""

import pytest

from aerolog.transport.driver.network_supplier import PlainNetwork
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.network.rehearsal import RehearsedPort
from aerolog.transport.protocol.frame_codec import Nak, encode_frame

MS = 1_000_000
NAK = encode_frame(Nak(1, 10, 7, 0, 64))
LOSS = "aeron.udp.channel.transport.bindings.loss.args"


def test_without_a_rehearsal_it_is_the_network_itself(network, host):
    assert network() is host
    assert network(send_channel_endpoint_supplier="debug") is host
    assert network(debug_send_data_loss_rate=0.5) is host


@pytest.mark.parametrize(
    ("keyword", "is_data"),
    [
        ("rehearse_send_data", True),
        ("rehearse_receive_data", True),
        ("rehearse_send_control", False),
        ("rehearse_receive_control", False),
    ],
)
def test_one_direction_of_one_kind_of_endpoint_loses_a_share(ends, frames, keyword, is_data):
    driver = ends(**{keyword: "rate=0.25|seed=5"})
    arrived = {True: driver.data(frames), False: driver.control(frames)}

    assert arrived[not is_data] == frames
    assert 60 < len(frames) - len(arrived[is_data]) < 140


def test_the_seed_says_which_are_lost(ends, frames, network, host):
    fates = []
    for seed in (5, 5, 6):
        driver = ends(rehearse_receive_data=f"rate=0.25|seed={seed}")
        fates.append(driver.data(frames))
        driver.receiver.close()
        driver.sender.close()
    assert fates[0] == fates[1]
    assert fates[0] != fates[2]


def test_one_stream_is_lost_and_the_other_is_not(ends, frames):
    driver = ends(rehearse_send_data="rate=1|stream-id=11")

    assert driver.data(frames) == frames[::2]


def test_bursts_are_lost_in_a_row(ends, frames):
    driver = ends(rehearse_send_data="rate=0.02|seed=3|burst=10")
    arrived = set(driver.data(frames))
    runs = [run for run in "".join(".x"[f not in arrived] for f in frames).split(".") if run]

    assert runs
    assert all(len(run) >= 10 for run in runs[:-1])


def test_datagrams_are_doubled_held_back_and_swapped(ends, frames, clock):
    driver = ends(rehearse_receive_data="duplicate=0.2|reorder=0.3|reorder-time=2ms|seed=9")
    first = driver.data(frames)
    clock.advance_ns(3 * MS)
    arrived = first + driver.data([])

    assert set(arrived) == set(frames)
    assert len(arrived) > len(frames)
    assert len(first) < len(frames)


def test_delay_is_the_clock_s(ends, frames, clock):
    driver = ends(rehearse_send_data="delay=20ms")
    assert driver.data(frames[:3]) == []
    clock.advance_ns(19 * MS)
    assert driver.data([]) == []
    clock.advance_ns(1 * MS)
    driver.sender.receive_datagrams()  # what was held back goes on with the sender's next call
    assert driver.data([]) == frames[:3]


@pytest.mark.parametrize(
    ("end", "direction", "is_data"),
    [
        ("send", "data", True),
        ("send", "control", False),
        ("receive", "data", True),
        ("receive", "control", False),
    ],
)
def test_the_reference_s_debug_endpoints_lose_at_their_rate(ends, frames, end, direction, is_data):
    title = f"{end.title()}ChannelEndpoint"
    driver = ends(
        {
            f"aeron.{title}.supplier": f"io.aeron.driver.ext.Debug{title}Supplier",
            f"aeron.debug.{end}.{direction}.loss.rate": "0.25",
            f"aeron.debug.{end}.{direction}.loss.seed": "5",
        }
    )
    arrived = {True: driver.data(frames), False: driver.control(frames)}

    assert arrived[not is_data] == frames
    assert 60 < len(frames) - len(arrived[is_data]) < 140


def test_a_debug_endpoint_without_a_seed_loses_others_each_time(ends, frames):
    fates = []
    for _ in range(2):
        driver = ends(receive_channel_endpoint_supplier="debug", debug_receive_data_loss_rate=0.5)
        fates.append(driver.data(frames))
        driver.receiver.close()
        driver.sender.close()
    assert fates[0] != fates[1]


def test_the_c_driver_s_interceptors_lose_what_arrives_at_any_endpoint(ends, frames):
    driver = ends(
        environment={
            "AERON_UDP_CHANNEL_INCOMING_INTERCEPTORS": "loss",
            "AERON_UDP_CHANNEL_TRANSPORT_BINDINGS_LOSS_ARGS": "rate=1|seed=3|recv-msg-mask=0x6",
        }
    )
    assert driver.data(frames) == []
    assert driver.control([NAK]) == []


def test_the_mask_of_the_interceptor_lets_other_frames_pass(ends, frames):
    driver = ends(
        {
            "aeron.udp.channel.incoming.interceptors": "loss",
            LOSS: "rate=1|seed=3|recv-msg-mask=0x2",
        }
    )
    assert driver.data(frames) == []
    assert driver.control([NAK]) == [NAK]


@pytest.mark.parametrize(
    ("name", "arguments", "lost"),
    [
        ("fixed-loss", "term-id=7|term-offset=128|length=64", [2]),
        ("multi-gap-loss", "term-id=7|gap-radix=256|gap-length=64|total-gaps=2", [4, 8]),
    ],
)
def test_places_of_a_term_are_lost_once(ends, frames, name, arguments, lost):
    stream = [frame for frame in frames if frame[16] == 10]
    renumbered = [
        frame[:8] + (i * 64).to_bytes(4, "little") + frame[12:] for i, frame in enumerate(stream)
    ]
    driver = ends(
        {
            "aeron.udp.channel.incoming.interceptors": name,
            f"aeron.udp.channel.transport.bindings.{name.replace('-', '.')}.args": arguments,
        }
    )
    assert driver.data(renumbered[:16]) == [
        frame for i, frame in enumerate(renumbered[:16]) if i not in lost
    ]
    assert driver.data([renumbered[i] for i in lost]) == [renumbered[i] for i in lost]


def test_interceptors_of_the_outgoing_list_do_nothing(network, host):
    assert (
        network(
            {"aeron.udp.channel.outgoing.interceptors": "loss", LOSS: "rate=1|recv-msg-mask=0xf"}
        )
        is host
    )


def test_all_three_ways_add_up(ends, frames):
    driver = ends(
        {
            "aeron.udp.channel.incoming.interceptors": "fixed-loss",
            "aeron.udp.channel.transport.bindings.fixed.loss.args": (
                "term-id=7|term-offset=0|length=64"
            ),
        },
        receive_channel_endpoint_supplier="debug",
        debug_receive_data_loss_rate=0.1,
        debug_receive_data_loss_seed=11,
        rehearse_receive_data="rate=1|stream-id=11",
    )
    arrived = driver.data(frames)

    assert not set(arrived) & set(frames[1::2])
    assert frames[0] not in arrived
    assert 120 < len(arrived) < 199


def test_each_endpoint_is_disturbed_on_its_own(network, host):
    disturbed = network(rehearse_send_data="rate=0.5|seed=1")
    ports = [disturbed.open_send_port((host.ipv4, 4000), ("0.0.0.0", 0)) for _ in range(2)]

    assert all(isinstance(port, RehearsedPort) for port in ports)
    assert ports[0].outgoing is not ports[1].outgoing


class Opened:
    """Notes what it was asked to open."""

    def __init__(self):
        self.options = []

    def open_send_port(self, remote, local, **options):
        self.options.append(options)

    def open_receive_port(self, endpoint, interface=None, **options):
        self.options.append(options)


def test_offload_is_switched_off_for_every_port(network, host):
    assert isinstance(network(network_offload=False), PlainNetwork)
    opened = Opened()
    plain = PlainNetwork(opened)
    plain.open_send_port(None, ("0.0.0.0", 0), ttl=3, offload=True)
    plain.open_receive_port(("127.0.0.1", 0))

    assert opened.options == [{"ttl": 3, "offload": False}, {"offload": False}]


@pytest.mark.parametrize(
    ("properties", "text"),
    [
        ({"aeron.rehearse.send.data": "rate=2"}, "loss rate must be in 0..1"),
        ({"aeron.rehearse.receive.data": "speed=1"}, "unknown keys of a rehearsal: speed"),
        ({"aeron.udp.channel.incoming.interceptors": "gain"}, "unknown interceptor gain"),
        (
            {
                "aeron.ReceiveChannelEndpoint.supplier": "debug",
                "aeron.debug.receive.data.loss.rate": "-0.5",
            },
            "is no share",
        ),
    ],
)
def test_a_rehearsal_that_cannot_be_read_is_refused(network, properties, text):
    with pytest.raises(ConfigurationError, match=text):
        network(properties)
