"""The options of a cluster's client are checked before anything is sent."""

from __future__ import annotations

import re

import pytest

from aerolog.cluster.client import ClusterClientOptions
from aerolog.cluster.client.options import parse_endpoints
from aerolog.transport.config.sources import Properties
from aerolog.transport.credentials import StaticCredentials
from aerolog.transport.errors import ChannelUriError, ConfigurationError

CHANNELS = {"ingress_channel": "aeron:udp", "egress_channel": "aeron:udp?endpoint=here:0"}


def test_endpoints_are_a_text_or_a_mapping() -> None:
    for given in ("0=a:1,2=[::1]:5", {0: "a:1", 2: "[::1]:5"}):
        options = ClusterClientOptions.of(**CHANNELS, ingress_endpoints=given)
        assert options.endpoints() == {0: "a:1", 2: "[::1]:5"}
    assert ClusterClientOptions.of(**CHANNELS).endpoints() == {}


@pytest.mark.parametrize(
    "text",
    [
        "", " ", ",", "a:1", "=a:1", "x=a:1", "0=", "0=a:1,,1", ",0=a:1", "0=a:1,,1=b:1",
        "0 =a:1", "0= a:1", "0=a:1, 1=b:1", "0=a:1\n", "-1=a:1", "+1=a:1", "1_0=a:1", "\u0663=a:1",
        "2147483648=a:1", "9" * 5000 + "=a:1", "0=a:1|term-length=64k",
    ],
)  # fmt: skip
def test_what_is_no_list_of_endpoints_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="is not ID=HOST:PORT, without spaces") as refused:
        ClusterClientOptions.of(**CHANNELS, ingress_endpoints=text)
    assert len(str(refused.value)) < 400
    assert repr(text)[:200] in str(refused.value)


def test_a_comma_may_stand_at_the_end_as_in_the_reference_s() -> None:
    assert parse_endpoints("0=a:1,1=node,") == {0: "a:1", 1: "node"}


@pytest.mark.parametrize(
    ("endpoints", "says"),
    [
        ("0=a:1,0=b:1", "ingress endpoints '0=a:1,0=b:1' name member 0 twice"),
        ("0=a:1,00=b:1", "name member 0 twice"),
        ({}, "'' in ingress endpoints ''"),
        ({0: None}, "ingress_endpoints={0: None} do not map whole numbers to texts HOST:PORT"),
        ({"0": "a:1"}, "ingress_endpoints={'0': 'a:1'} do not map"),
        ({True: "a:1"}, "'True=a:1' in ingress endpoints"),
        ({0: "a:1,1=b:1"}, "ingress_endpoints={0: 'a:1,1=b:1'} do not map"),
        ({0: ""}, "'0=' in ingress endpoints '0='"),
        (["0=a:1"], "a mapping of member ids to endpoints, not ['0=a:1']"),
        (5, "a mapping of member ids to endpoints, not 5"),
    ],
)
def test_endpoints_that_name_nobody_or_one_twice_are_refused(endpoints: object, says: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(says)):
        ClusterClientOptions.of(**CHANNELS, ingress_endpoints=endpoints)


def test_the_reference_s_properties_are_read() -> None:
    properties = Properties.from_environment(
        {
            "AERON_CLUSTER_INGRESS_CHANNEL": "aeron:udp",
            "AERON_CLUSTER_INGRESS_ENDPOINTS": "0=a:1",
            "AERON_CLUSTER_EGRESS_CHANNEL": "aeron:udp?endpoint=b:0",
            "AERON_CLUSTER_MESSAGE_TIMEOUT": "7s",
            "AERON_CLUSTER_CLIENT_NAME": "teller",
        }
    )
    options = ClusterClientOptions.of(properties=properties, ingress_stream_id=201)
    assert options.endpoints() == {0: "a:1"}
    assert (options.message_timeout, options.name) == (7.0, "teller")
    assert (options.ingress_stream_id, options.egress_stream_id) == (201, 102)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"ingress_channel": None}, "needs ingress_channel"),
        ({"egress_channel": None}, "needs egress_channel"),
        ({"ingress_channel": "aeron:ipc", "ingress_endpoints": "0=a:1"}, "over IPC"),
        ({"name": "n" * 101}, "at most 100 characters"),
        ({"message_timeout": 0.0}, "message_timeout"),
        ({"colour": "red"}, "unknown option 'colour'"),
        ({"keepalive_interval": -1}, "keepalive_interval is a number of seconds up to a day"),
        ({"keepalive_interval": float("inf")}, "0 for no signs of life, not inf"),
        ({"keepalive_interval": float("nan")}, "0 for no signs of life, not nan"),
        ({"keepalive_interval": "1s"}, "0 for no signs of life, not '1s'"),
        ({"is_ingress_exclusive": "no"}, "is_ingress_exclusive is True or False, not 'no'"),
        ({"credentials": "secret"}, "with encoded_credentials, not str"),
        ({"on_challenge": b"x"}, "on_challenge is a function, not b'x'"),
        ({"on_new_leader": 5}, "on_new_leader is a function, not 5"),
        ({"on_session_event": []}, r"on_session_event is a function, not \[\]"),
        ({"ingress_channel": 5}, "ingress_channel: 5 is not text"),
        ({"ingress_stream_id": 2**31}, "2147483648 is more than the most, 2147483647"),
    ],
)
def test_options_that_cannot_be_used_are_refused(options: dict[str, object], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        ClusterClientOptions.of(**{**CHANNELS, **options})


@pytest.mark.parametrize("keyword", ["ingress_channel", "egress_channel"])
@pytest.mark.parametrize("channel", [" ", "udp", "aeron:tcp", "aeron:udp?x", " aeron:udp"])
def test_odd_channels_are_refused(keyword: str, channel: str) -> None:
    with pytest.raises(ChannelUriError, match=re.escape(channel.removeprefix("aeron:"))):
        ClusterClientOptions.of(**{**CHANNELS, keyword: channel})


def test_credentials_answer_or_say_that_they_cannot() -> None:
    plain = ClusterClientOptions.of(**CHANNELS, credentials=b"me")
    assert plain.encoded_credentials() == b"me"
    with pytest.raises(ConfigurationError, match="pass on_challenge"):
        plain.answer_challenge(b"?")
    asked = ClusterClientOptions.of(**CHANNELS, on_challenge=lambda challenge: challenge * 2)
    assert asked.answer_challenge(b"?") == b"??"
    supplied = ClusterClientOptions.of(**CHANNELS, credentials=StaticCredentials(b"me", b"yes"))
    assert (supplied.encoded_credentials(), supplied.answer_challenge(b"?")) == (b"me", b"yes")
