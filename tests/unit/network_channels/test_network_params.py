"""What UDP channels ask of a driver, and the refusals that the corpus has no row for."""

import pytest

from aerolog.transport.config.definition import Infer
from aerolog.transport.config.sources import Properties
from aerolog.transport.driver.channels.channel_params import PublicationLookups, TaggedSession
from aerolog.transport.driver.channels.network_params import (
    check_mtu_fits,
    check_response_publication,
    check_window_fits,
    flow_control_group_tag,
    multicast_ttl,
    network_publication_params,
    network_subscription_params,
    rcvbuf_length,
    receiver_group_tag,
    sndbuf_length,
)
from aerolog.transport.driver.conductor.command_error import answer_to
from aerolog.transport.driver.properties import driver_settings
from aerolog.transport.errors import ConfigurationError, ControlProtocolError

UDP = "aeron:udp?endpoint=localhost:1"
GROUP = "aeron:udp?endpoint=224.1.1.1:5"
S = 1_000_000_000


def settings(**keywords):
    return driver_settings(Properties(), keywords)


def publication(channels, uri, tagged=None, **keywords):
    lookups = PublicationLookups(lambda tag, uri: None, lambda tag: tagged, lambda: 7)
    return network_publication_params(channels.resolve(uri), 1001, settings(**keywords), lookups)


def subscription(channels, uri, **keywords):
    return network_subscription_params(channels.resolve(uri), settings(**keywords))


def test_a_publication_takes_the_drivers_network_defaults(channels):
    params = publication(
        channels,
        UDP,
        term_buffer_length="128k",
        mtu_length=2048,
        ipc_mtu_length=4096,
        publication_term_window_length="32k",
        max_resend=1000,
    )

    assert (params.term_length, params.mtu_length, params.window_length) == (
        128 * 1024,
        2048,
        32 * 1024,
    )
    assert (params.session_id, params.has_session_id, params.max_resend) == (7, False, 256)


def test_a_session_is_copied_from_a_tagged_publication(channels):
    params = publication(channels, UDP + "|session-id=tag:9", TaggedSession(-3, 4096, 65536))

    assert (params.session_id, params.mtu_length, params.term_length) == (-3, 4096, 65536)


def test_a_prototype_of_a_response_publication_has_the_shortest_log(channels):
    params = publication(
        channels,
        "aeron:udp?control=localhost:1|control-mode=response"
        "|response-correlation-id=prototype|mtu=16k|term-length=1m",
    )

    assert (params.term_length, params.mtu_length, params.window_length) == (65536, 8192, 32768)


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        ("aeron:udp?endpoint=localhost:0", "endpoint has port=0 for publication"),
        ("aeron:udp?endpoint=localhost:0|control-mode=response", "endpoint has port=0"),
        ("aeron:udp?endpoint=224.1.1.1:0", "endpoint has port=0 for publication"),
        ("aeron:udp?control=localhost:1", "'control' parameter requires that either 'endpoint'"),
    ],
)
def test_a_publication_that_goes_nowhere_is_refused(channels, uri, reason):
    with pytest.raises(ControlProtocolError, match=reason) as refused:
        publication(channels, uri)

    assert refused.value.code.name == "GENERIC_ERROR"


@pytest.mark.parametrize("mode", ["manual", "dynamic"])
def test_multi_destination_publications_need_no_port(channels, mode):
    uri = f"aeron:udp?endpoint=localhost:0|control=localhost:0|control-mode={mode}"

    assert publication(channels, uri).session_id == 7


def test_a_response_publication_names_what_it_answers(channels):
    channel = channels.resolve("aeron:udp?control=localhost:1|control-mode=response")
    with pytest.raises(ControlProtocolError, match="no response-correlation-id set"):
        check_response_publication(channel, publication(channels, channel.original))

    answering = channels.resolve(channel.original + "|response-correlation-id=5")
    params = publication(channels, answering.original)
    check_response_publication(answering, params)
    assert params.response_correlation_id == 5


def test_a_subscription_takes_the_drivers_defaults(channels):
    params = subscription(channels, UDP, untethered_linger_timeout=3)

    assert params.receiver_window_length == 128 * 1024
    assert params.group is Infer.INFER
    assert (
        params.untethered_window_limit_timeout_ns,
        params.untethered_linger_timeout_ns,
        params.untethered_resting_timeout_ns,
    ) == (5 * S, 3 * S, 10 * S)
    assert params.session_id is None
    assert params.is_reliable


@pytest.mark.parametrize(
    ("value", "expected"),
    [("infer", Infer.INFER), ("true", Infer.TRUE), ("false", Infer.FALSE), ("x", Infer.FALSE)],
)
def test_group_is_inferred_or_forced(channels, value, expected):
    params = subscription(channels, f"{UDP}|group={value}", receiver_group_consideration=True)

    assert params.group is expected


def test_a_window_is_at_most_half_a_term(channels):
    params = subscription(channels, UDP + "|rcv-wnd=1m", term_buffer_length="128k")

    assert params.receiver_window_length == 64 * 1024


@pytest.mark.parametrize(
    ("uri", "code", "reason"),
    [
        ("aeron:udp?control=localhost:0|control-mode=dynamic", 11, "control has port=0"),
        (UDP + "|media-rcv-ts-offset=0|channel-rcv-ts-offset=4", 1, "overlap"),
        (UDP + "|session-id=x", 11, "not a signed 32-bit decimal number"),
        (UDP + "|untethered-resting-timeout=x", 11, "should end with"),
        (UDP + "|init-term-id=1|term-id=0|term-offset=0", 11, "difference greater than"),
    ],
)
def test_a_subscription_that_cannot_be_is_refused(channels, uri, code, reason):
    with pytest.raises((ControlProtocolError, ConfigurationError), match=reason) as refused:
        subscription(channels, uri)

    assert answer_to(refused.value)[0] == code


def test_a_spy_opens_no_socket_and_may_name_what_a_socket_could_not(channels):
    uri = "aeron-spy:aeron:udp?control=localhost:0|control-mode=dynamic|media-rcv-ts-offset=0"

    assert subscription(channels, uri).receiver_window_length == 128 * 1024


def test_socket_buffers_are_the_channels_or_the_drivers(channels):
    plain, given = channels.resolve(UDP), channels.resolve(UDP + "|so-sndbuf=8k|so-rcvbuf=4k")
    found = settings(socket_so_sndbuf="1m", socket_so_rcvbuf="2m")

    assert (sndbuf_length(plain, found), rcvbuf_length(plain, found)) == (1 << 20, 2 << 20)
    assert (sndbuf_length(given, found), rcvbuf_length(given, found)) == (8192, 4096)


def test_datagrams_and_windows_fit_the_buffers_of_their_sockets(channels):
    channel = channels.resolve(UDP)
    check_mtu_fits(channel, 1408, 0, 1408)
    check_window_fits(channel, 4096, 4096, 0)

    with pytest.raises(ControlProtocolError, match="mtu=1408 so-sndbuf=1407 channel=aeron:udp"):
        check_mtu_fits(channel, 1408, 0, 1407)
    with pytest.raises(ControlProtocolError, match="rcv-wnd=4096 so-rcvbuf=4095 channel=aeron"):
        check_window_fits(channel, 4096, 4095, 1 << 20)


@pytest.mark.parametrize(("text", "configured", "ttl"), [("", 9, 9), ("|ttl=0", 9, 0)])
def test_the_ttl_is_the_channels_or_the_drivers(channels, text, configured, ttl):
    found = settings(socket_multicast_ttl=configured)

    assert multicast_ttl(channels.resolve(GROUP + text), found) == ttl


def test_a_ttl_that_sockets_do_not_have_is_refused(channels):
    for text, configured in (("|ttl=256", 0), ("|ttl=-1", 0), ("", 256)):
        with pytest.raises(ControlProtocolError, match="Invalid TTL/hop value"):
            multicast_ttl(channels.resolve(GROUP + text), settings(socket_multicast_ttl=configured))


def test_group_tags_have_former_forms(channels):
    channel = channels.resolve(UDP)
    former = settings(
        flow_control_sm_application_specific_feedback="0200000000000000",
        preferred_multicast_flow_control_asf="FEFFFFFFFFFFFFFF",
    )

    assert receiver_group_tag(channel, settings()) is None
    assert receiver_group_tag(channel, former) == 2
    assert receiver_group_tag(channel, settings(receiver_group_tag=0)) == 0
    assert receiver_group_tag(channels.resolve(UDP + "|gtag=-9"), former) == -9
    assert flow_control_group_tag(settings()) == -1
    assert flow_control_group_tag(former) == -2
    assert flow_control_group_tag(settings(flow_control_group_tag=4)) == 4


@pytest.mark.parametrize("text", ["00", "00" * 9])
def test_a_former_group_tag_is_eight_bytes(channels, text):
    with pytest.raises(ConfigurationError, match="a group tag is 8 bytes"):
        receiver_group_tag(
            channels.resolve(UDP), settings(flow_control_sm_application_specific_feedback=text)
        )
