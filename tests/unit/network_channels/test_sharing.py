"""Which endpoint a channel shares, which not, and what destinations may say."""

import pytest

from aerolog.transport.config.sources import Properties
from aerolog.transport.driver.channels.destination_params import (
    check_receive_destination,
    check_send_destination,
    send_destination_endpoint,
)
from aerolog.transport.driver.channels.endpoint_match import (
    ExistingEndpoint,
    check_is_original,
    check_receive_endpoint,
    check_send_endpoint,
    check_subscription,
    is_canonical_match,
    is_tagged_match,
)
from aerolog.transport.driver.channels.network_params import network_subscription_params
from aerolog.transport.driver.conductor.command_error import answer_to
from aerolog.transport.driver.properties import driver_settings
from aerolog.transport.errors import ChannelUriError, ControlProtocolError
from aerolog.transport.uri import ChannelUri

FIRST = "aeron:udp?tags=9|endpoint=localhost:1"


def existing(channels, uri, *, remote=None, sndbuf=0, rcvbuf=131_072):
    channel = channels.resolve(uri)
    return ExistingEndpoint(
        channel, remote or channel.remote_data, channel.local_data, sndbuf, rcvbuf
    )


@pytest.mark.parametrize(
    ("uri", "matches"),
    [
        ("aeron:udp?tags=9", True),
        ("aeron:udp?tags=9,5", True),
        ("aeron:udp?tags=9|endpoint=127.0.0.1:1", True),
        ("aeron:udp?tags=8|endpoint=localhost:1", False),
        ("aeron:udp?endpoint=localhost:1", False),
    ],
)
def test_a_tag_names_an_endpoint(channels, uri, matches):
    assert is_tagged_match(channels.resolve(uri), existing(channels, FIRST)) is matches


@pytest.mark.parametrize(
    ("uri", "what"),
    [
        ("aeron:udp?tags=9|endpoint=localhost:2", "endpoint or control"),
        ("aeron:udp?tags=9|endpoint=alpha:1", "endpoint or control"),
        ("aeron:udp?tags=9|endpoint=localhost:1|control=localhost:2", "endpoint or control"),
        ("aeron:udp?tags=9|control-mode=manual", "control-mode"),
    ],
)
def test_a_tag_with_other_addresses_or_mode_is_refused(channels, uri, what):
    with pytest.raises(ControlProtocolError) as refused:
        is_tagged_match(channels.resolve(uri), existing(channels, FIRST))

    code, text = answer_to(refused.value)
    assert code.name == "GENERIC_ERROR"
    assert text == (
        f"java.lang.IllegalArgumentException : matching tag=9 has mismatched {what}: "
        f"{uri} <> {FIRST}"
    )


def test_the_addresses_of_a_tagged_endpoint_are_its_current_ones(channels):
    moved = channels.resolve("aeron:udp?endpoint=alpha:1").remote_data
    endpoint = existing(channels, FIRST, remote=moved)

    assert is_tagged_match(channels.resolve("aeron:udp?tags=9|endpoint=alpha:1"), endpoint)
    with pytest.raises(ControlProtocolError, match="mismatched endpoint"):
        is_tagged_match(channels.resolve("aeron:udp?tags=9|endpoint=127.0.0.1:1"), endpoint)
    assert is_tagged_match(channels.resolve(FIRST), endpoint)  # it asks for the same name


def test_a_mode_matches_when_the_new_channel_has_none(channels):
    endpoint = existing(channels, "aeron:udp?tags=9|control-mode=manual")

    assert is_tagged_match(channels.resolve("aeron:udp?tags=9"), endpoint)


@pytest.mark.parametrize(
    ("one", "other", "matches"),
    [
        ("endpoint=localhost:1", "mtu=8k|endpoint=localhost:1", True),
        ("endpoint=localhost:1", "endpoint=127.0.0.1:1", False),
        ("endpoint=localhost:1|tags=1", "endpoint=localhost:1", True),
        ("endpoint=localhost:1|tags=1", "endpoint=localhost:1|tags=1", True),
        ("endpoint=localhost:1|tags=1", "endpoint=localhost:1|tags=2", False),
        ("endpoint=localhost:0", "endpoint=localhost:0", False),
    ],
)
def test_endpoints_are_shared_by_canonical_form(channels, one, other, matches):
    first, second = (channels.resolve(f"aeron:udp?{params}") for params in (one, other))

    assert is_canonical_match(first, second) is matches


def test_a_tag_alone_makes_no_endpoint_to_send_from(channels):
    with pytest.raises(ControlProtocolError, match="when original: channel=aeron:udp\\?tags=9"):
        check_is_original(channels.resolve("aeron:udp?tags=9"))


@pytest.mark.parametrize(
    "params", ["endpoint=localhost:1", "control=localhost:1", "control-mode=manual"]
)
def test_an_address_or_manual_mode_makes_an_endpoint(channels, params):
    channel = channels.resolve(f"aeron:udp?tags=9|{params}")
    check_is_original(channel)

    assert channel.tag == 9


@pytest.mark.parametrize(
    ("check", "params", "reason"),
    [
        (check_send_endpoint, "channel-snd-ts-offset=8", "channel-snd-ts-offset=8 existingChannel"),
        (check_receive_endpoint, "channel-rcv-ts-offset=reserved", "channel-rcv-ts-offset=-8 ex"),
        (check_send_endpoint, "so-sndbuf=64k", "so-sndbuf=65536 .* value of OS default: existing"),
        (check_receive_endpoint, "so-rcvbuf=1m", "so-rcvbuf=1048576 .* value of 131072: existing"),
    ],
)
def test_options_that_differ_from_the_endpoints_are_refused(channels, check, params, reason):
    with pytest.raises(ControlProtocolError, match=reason) as refused:
        check(channels.resolve(f"{FIRST}|{params}"), existing(channels, FIRST))

    assert refused.value.code.name == "INVALID_CHANNEL"


def test_options_of_the_other_side_and_equal_buffers_are_taken(channels):
    endpoint = existing(channels, FIRST, sndbuf=65536)
    channel = channels.resolve(f"{FIRST}|channel-rcv-ts-offset=8|so-sndbuf=64k|so-rcvbuf=128k")
    check_send_endpoint(channel, endpoint)

    with pytest.raises(ControlProtocolError, match="channel-rcv-ts-offset=8"):
        check_receive_endpoint(channel, endpoint)


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ("reliable=false", "reliable=false existingChannel"),
        ("rejoin=false", "rejoin=false existingChannel"),
        ("control-mode=response", "isResponse=true existingChannel"),
    ],
)
def test_subscriptions_of_one_stream_agree(channels, params, reason):
    settings = driver_settings(Properties())
    first, second = channels.resolve(FIRST), channels.resolve(f"{FIRST}|{params}")
    of_first = network_subscription_params(first, settings)
    check_subscription(first, of_first, first, of_first)

    with pytest.raises(ControlProtocolError, match=f"existing subscription: {reason}"):
        check_subscription(second, network_subscription_params(second, settings), first, of_first)


@pytest.mark.parametrize("key", ["mtu", "rcv-wnd", "so-rcvbuf", "so-sndbuf"])
@pytest.mark.parametrize("check", [check_send_destination, check_receive_destination])
def test_destinations_have_no_options_of_streams_or_sockets(check, key):
    with pytest.raises(ControlProtocolError, match=f"must not contain the key: {key} channel="):
        check(ChannelUri.parse(f"aeron:udp?endpoint=localhost:1|{key}=1408"))


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        ("aeron-spy:aeron:udp?endpoint=localhost:1", "Aeron spies are invalid as send dest"),
        ("aeron:udp?endpoint=localhost:0", "endpoint has port=0 for send destination"),
        ("aeron:udp?endpoint=localhost:1|control-mode=response", "may not specify control-mode"),
        ("aeron:udp?endpoint=localhost:1|response-correlation-id=5", "response-correlation-id"),
        ("aeron:ipc", "only supports UDP media"),
        ("aeron:udp", "needs an endpoint"),
        ("aeron:udp?control=localhost:1", "needs an endpoint"),
    ],
)
def test_a_send_destination_that_cannot_be_is_refused(uri, reason):
    with pytest.raises((ControlProtocolError, ChannelUriError), match=reason) as refused:
        check_send_destination(ChannelUri.parse(uri))
        send_destination_endpoint(ChannelUri.parse(uri))

    assert answer_to(refused.value)[0].name == "INVALID_CHANNEL"


def test_a_send_destination_may_have_a_host_that_is_unknown():
    uri = ChannelUri.parse("aeron:udp?endpoint=nowhere:1|term-length=64k|alias=x")

    check_send_destination(uri)
    assert send_destination_endpoint(uri) == "nowhere:1"


@pytest.mark.parametrize(
    "channel",
    [
        "aeron:udp?endpoint=localhost:0",
        "aeron-spy:aeron:udp?endpoint=localhost:1|mtu=4k",
        "aeron:ipc?mtu=4k",
        "aeron:udp?control=localhost:1",
    ],
)
def test_receive_destinations_may_be_of_any_kind(channel):
    assert check_receive_destination(ChannelUri.parse(channel)) is None
