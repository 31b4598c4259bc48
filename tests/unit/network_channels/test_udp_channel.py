"""Channels resolved: canonical forms, derived addresses, the order of the checks."""

import pytest

from aerolog.transport.errors import ChannelUriError
from aerolog.transport.network.addresses import SocketAddress, multicast_control
from aerolog.transport.network.host_names import platform_address
from aerolog.transport.network.udp_channel import ControlMode
from aerolog.transport.uri import ChannelUri

#: The worked table of the reference's canonical forms, with this test's interfaces.
CANONICAL = [
    ("endpoint=localhost:40123", "UDP-0.0.0.0:0-localhost:40123"),
    ("endpoint=127.0.0.1:40123|interface=127.0.0.1:5555", "UDP-127.0.0.1:5555-127.0.0.1:40123"),
    ("endpoint=127.0.0.1:40123|interface=localhost/24", "UDP-127.0.0.1:0-127.0.0.1:40123"),
    ("endpoint=127.0.0.1:40123|interface={lo}:77", "UDP-127.0.0.1:77-127.0.0.1:40123"),
    ("endpoint=127.0.0.1:0", "UDP-0.0.0.0:0-127.0.0.1:0-100"),
    ("endpoint=127.0.0.1:0|tags=44", "UDP-0.0.0.0:0-127.0.0.1:0#44"),
    ("control=127.0.0.1:4000|control-mode=dynamic", "UDP-127.0.0.1:4000-0.0.0.0:0"),
    ("control-mode=manual", "UDP-0.0.0.0:0-0.0.0.0:0-100"),
    ("control-mode=manual|tags=3", "UDP-0.0.0.0:0-0.0.0.0:0#3"),
    ("control=127.0.0.1:0|control-mode=dynamic", "UDP-127.0.0.1:0-0.0.0.0:0-100"),
    ("endpoint=localhost:4001|control=localhost:4000", "UDP-localhost:4000-localhost:4001"),
    ("endpoint=224.20.30.39:4002|interface=localhost", "UDP-127.0.0.1:0-224.20.30.39:4002"),
    ("endpoint=224.20.30.39:4002", "UDP-10.0.1.7:0-224.20.30.39:4002"),
    ("endpoint=group:0", "UDP-10.0.1.7:0-224.10.9.9:0"),
    ("endpoint=[::1]:4003", "UDP-0.0.0.0:0-[::1]:4003"),
    ("endpoint=[ff02::3]:4004|interface=[::1]", "UDP-0:0:0:0:0:0:0:1%lo:0-ff02:0:0:0:0:0:0:3:4004"),
    ("control=[::1]:4000|control-mode=dynamic", "UDP-[::1]:4000-0:0:0:0:0:0:0:0:0"),
    ("control=10.0.0.1:1|endpoint=alpha:2|interface={nosuch}", "UDP-10.0.0.1:1-alpha:2"),
]


@pytest.mark.parametrize(("params", "form"), CANONICAL)
def test_a_channel_has_the_references_canonical_form(channels, params, form):
    assert channels.resolve(f"aeron:udp?{params}").canonical_form == form


def test_each_untagged_wildcard_channel_has_a_form_of_its_own(channels):
    forms = [channels.resolve("aeron:udp?endpoint=localhost:0").canonical_form for _ in range(2)]

    assert forms == ["UDP-0.0.0.0:0-localhost:0-100", "UDP-0.0.0.0:0-localhost:0-101"]


def test_a_destination_has_no_suffix(channels):
    channel = channels.resolve("aeron:udp?endpoint=localhost:0", is_destination=True)

    assert channel.canonical_form == "UDP-0.0.0.0:0-localhost:0"


def test_control_is_ignored_when_the_endpoint_is_a_group(channels):
    channel = channels.resolve("aeron:udp?endpoint=224.1.1.1:5|control=10.0.0.1:6|ttl=3")

    assert not channel.has_explicit_control
    assert channel.local_data.canonical == "10.0.1.7:0"
    assert channel.remote_control.canonical == "224.1.1.2:5"
    assert (channel.multicast_ttl, channel.interface.name) == (3, "near0")


def test_a_control_address_is_what_sockets_are_bound_to(channels):
    channel = channels.resolve("aeron:udp?control=alpha:6|control-mode=manual|ttl=zz")

    assert channel.local_data.canonical == channel.local_control.canonical == "10.0.0.1:6"
    assert channel.remote_data.canonical == channel.remote_control.canonical == "0.0.0.0:0"
    assert channel.multicast_ttl is None
    assert channel.control_mode is ControlMode.MANUAL
    assert not channel.is_full_wildcard


def test_only_tags_mean_any_endpoint(channels):
    assert channels.resolve("aeron:udp?tags=7").is_full_wildcard
    assert not channels.resolve("aeron:udp?tags=7|endpoint=0.0.0.0:1").is_full_wildcard


def test_a_channel_keeps_its_text(channels):
    text = "aeron:udp?mtu=8k|endpoint=localhost:1|unknown=x"

    assert channels.resolve(text).original == str(channels.resolve(text)) == text
    assert channels.resolve(ChannelUri.parse(text)).canonical_form == ("UDP-0.0.0.0:0-localhost:1")


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("endpoint=nowhere:1", "control=elsewhere:1"),
        ("control=nowhere:1", "so-rcvbuf=x"),
        ("so-rcvbuf=3g", "so-sndbuf=x"),
        ("so-sndbuf=3g", "rcv-wnd=x"),
        ("rcv-wnd=3g", "control-mode=dynamic"),
        ("control-mode=dynamic", "nak-delay=x"),
        ("nak-delay=x", "tags=x"),
        ("tags=x", "interface={nosuch}"),
        ("interface={nosuch}", "channel-rcv-ts-offset=x"),
        ("channel-rcv-ts-offset=x", "gtag=x"),
    ],
)
def test_the_first_check_that_fails_is_reported(channels, earlier, later):
    endpoint = "" if earlier.startswith("endpoint") else "endpoint=localhost:1|"
    with pytest.raises(ChannelUriError) as first:
        channels.resolve(f"aeron:udp?{endpoint}{earlier}")
    with pytest.raises(ChannelUriError) as both:
        channels.resolve(f"aeron:udp?{endpoint}{later}|{earlier}")

    def kind(error):
        return error.value.reference_message.split("aeron:")[0]

    assert kind(both) == kind(first)


@pytest.mark.parametrize(
    ("text", "number"), [("reserved", -8), ("-8", -8), ("0", 0), ("16", 16), ("-1", -1)]
)
def test_timestamp_offsets_are_read(channels, text, number):
    channel = channels.resolve(
        f"aeron:udp?endpoint=localhost:1|channel-rcv-ts-offset={text}|channel-snd-ts-offset={text}"
    )

    assert channel.channel_receive_timestamp_offset == number
    assert channel.channel_send_timestamp_offset == number


@pytest.mark.parametrize(
    ("data", "control"),
    [
        ("224.0.0.1", "224.0.0.2"),
        ("239.255.255.255", "239.255.255.0"),
        ("ff02::3", "ff02:0:0:0:0:0:0:4"),
        ("ff02::ffff", "ff02:0:0:0:0:0:0:ff00"),
    ],
)
def test_the_control_group_is_next_to_the_data_group(data, control):
    found = multicast_control(SocketAddress(platform_address(data), 9))

    assert (found.host, found.port) == (control, 9)


def test_addresses_are_written_as_the_reference_writes_them():
    six = SocketAddress(platform_address("fe80::a:0:1"), 5, "lo")

    assert six.canonical == "fe80:0:0:0:0:a:0:1%lo:5"
    assert six.label == str(six) == "[fe80:0:0:0:0:a:0:1]:5"
    assert six == SocketAddress(six.ip, 5)
    assert six.with_port(6).canonical == "fe80:0:0:0:0:a:0:1%lo:6"
    assert six.sockaddr[0] == "fe80::a:0:1"
    assert six.sockaddr[3] > 0
    assert SocketAddress(platform_address("127.0.0.1"), 5).sockaddr == ("127.0.0.1", 5)


def test_a_name_is_looked_up_again(channels):
    assert channels.re_resolve("alpha:7", "endpoint").canonical == "10.0.0.1:7"
    with pytest.raises(ChannelUriError, match="unresolved - endpoint=nowhere:7"):
        channels.re_resolve("nowhere:7", "endpoint")
