"""The options of a cluster's client are checked before anything is sent."""

from __future__ import annotations

import pytest

from aerolog.archive.credentials import StaticCredentials
from aerolog.cluster.client import ClusterClientOptions
from aerolog.cluster.client.options import parse_endpoints
from aerolog.transport.config.sources import Properties
from aerolog.transport.errors import ConfigurationError

CHANNELS = {"ingress_channel": "aeron:udp", "egress_channel": "aeron:udp?endpoint=here:0"}


def test_endpoints_are_a_text_or_a_mapping() -> None:
    for given in ("0=a:1,2=[::1]:5", {0: "a:1", 2: "[::1]:5"}):
        options = ClusterClientOptions.of(**CHANNELS, ingress_endpoints=given)
        assert options.endpoints() == {0: "a:1", 2: "[::1]:5"}
    assert ClusterClientOptions.of(**CHANNELS).endpoints() == {}


@pytest.mark.parametrize("text", ["a:1", "=a:1", "x=a:1", "0=", "0=a:1,,1"])
def test_what_is_no_list_of_endpoints_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="is not ID=HOST:PORT"):
        parse_endpoints(text)


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
    ],
)
def test_options_that_cannot_be_used_are_refused(options: dict[str, object], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        ClusterClientOptions.of(**{**CHANNELS, **options})


def test_credentials_answer_or_say_that_they_cannot() -> None:
    plain = ClusterClientOptions.of(**CHANNELS, credentials=b"me")
    assert plain.encoded_credentials() == b"me"
    with pytest.raises(ConfigurationError, match="pass on_challenge"):
        plain.answer_challenge(b"?")
    asked = ClusterClientOptions.of(**CHANNELS, on_challenge=lambda challenge: challenge * 2)
    assert asked.answer_challenge(b"?") == b"??"
    supplied = ClusterClientOptions.of(**CHANNELS, credentials=StaticCredentials(b"me", b"yes"))
    assert (supplied.encoded_credentials(), supplied.answer_challenge(b"?")) == (b"me", b"yes")
