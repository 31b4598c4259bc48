"""What subscriptions may ask of timestamps."""

import pytest

from aerolog.transport.config.sources import Properties
from aerolog.transport.driver.channels.endpoint_match import check_receive_timestamps
from aerolog.transport.driver.channels.media_timestamps import media_receive_timestamp_offset
from aerolog.transport.driver.channels.network_params import network_subscription_params
from aerolog.transport.driver.properties import driver_settings
from aerolog.transport.errors import ChannelUriError, ControlProtocolError
from aerolog.transport.network.resolvers import DefaultNameResolver
from aerolog.transport.network.udp_channel import ChannelResolver

UDP = "aeron:udp?endpoint=127.0.0.1:4000"


def channel(params=""):
    return ChannelResolver(DefaultNameResolver()).resolve(UDP + params)


def settings(*, media):
    return driver_settings(Properties(), {"media_receive_timestamps": media})


@pytest.mark.parametrize("offset", ["0", "reserved", "foo"])
def test_media_timestamps_are_refused_as_by_the_java_driver_when_they_are_switched_off(offset):
    asked = channel(f"|media-rcv-ts-offset={offset}")
    with pytest.raises(ControlProtocolError, match="not supported in the Java driver"):
        network_subscription_params(asked, settings(media=False))


@pytest.mark.parametrize(
    ("text", "offset"),
    [("", -1), ("|media-rcv-ts-offset=8", 8), ("|media-rcv-ts-offset=reserved", -8)],
)
def test_by_default_they_have_an_offset(text, offset):
    asked = channel(text)
    network_subscription_params(asked, driver_settings(Properties()))

    assert media_receive_timestamp_offset(asked) == offset


def test_an_offset_is_a_number_or_reserved():
    with pytest.raises(ChannelUriError, match="must be a valid integer or the 'reserved' keyword"):
        network_subscription_params(channel("|media-rcv-ts-offset=foo"), settings(media=True))


@pytest.mark.parametrize(
    ("media", "other", "overlaps"),
    [
        ("0", "8", False),
        ("8", "0", False),
        ("0", "reserved", False),
        ("0", "7", True),
        ("3", "3", True),
        ("reserved", "reserved", True),
    ],
)
def test_two_timestamps_must_not_overlap(media, other, overlaps):
    asked = channel(f"|media-rcv-ts-offset={media}|channel-rcv-ts-offset={other}")
    if overlaps:
        with pytest.raises(ControlProtocolError, match="overlap"):
            network_subscription_params(asked, settings(media=True))
    else:
        network_subscription_params(asked, settings(media=True))


@pytest.mark.parametrize("key", ["media-rcv-ts-offset", "channel-rcv-ts-offset"])
def test_subscriptions_of_one_endpoint_want_them_at_the_same_place(key):
    existing = channel(f"|{key}=8")
    check_receive_timestamps(channel(f"|{key}=8"), existing)
    for other in (channel(), channel(f"|{key}=16")):
        with pytest.raises(ControlProtocolError, match=f"conflicts with existing.*{key}"):
            check_receive_timestamps(other, existing)
