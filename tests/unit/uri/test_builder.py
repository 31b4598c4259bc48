"""Channels from keyword arguments: order, shortest forms, and what is refused (spec client 20)."""

from datetime import timedelta
from typing import Any

import pytest

from aerolog.transport.errors import ChannelUriError
from aerolog.transport.uri import PARAMETERS, ChannelUri, Kind


def test_the_order_and_the_forms_are_fixed() -> None:
    uri = ChannelUri.udp(
        max_resend=3,
        untethered_linger_timeout=1.5,
        nak_delay="1500ns",
        rcv_wnd=1000,
        so_rcvbuf="2m",
        linger=5.0,
        session_id=5,
        term_length=65536,
        mtu=1408,
        endpoint="h:1",
        tags=(1, 2),
    )

    assert str(uri) == (
        "aeron:udp?tags=1,2|endpoint=h:1|mtu=1408|term-length=64k|session-id=5|linger=5s|"
        "so-rcvbuf=2m|rcv-wnd=1000|nak-delay=1500ns|untethered-linger-timeout=1500ms|max-resend=3"
    )


def test_every_parameter_has_a_keyword_and_its_place() -> None:
    example = {
        Kind.TEXT: "x",
        Kind.CONTROL_MODE: "dynamic",
        Kind.MTU: 64,
        Kind.TERM_LENGTH: "64k",
        Kind.SIZE: 10,
        Kind.DURATION: 1,
        Kind.BOOLEAN: True,
        Kind.INT32: 1,
        Kind.INT64: 1,
        Kind.TERM_OFFSET: 32,
        Kind.SESSION_ID: 1,
        Kind.TTL: 1,
        Kind.TIMESTAMP_OFFSET: 8,
        Kind.RESPONSE_CORRELATION_ID: -1,
    }
    given = {p.key.replace("-", "_"): example[p.kind] for p in PARAMETERS}

    uri = ChannelUri.udp(**given)

    assert list(uri) == [p.key for p in PARAMETERS]
    assert uri == uri.build()


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"linger": 0}, "linger=0ns"),
        ({"linger": timedelta(milliseconds=3)}, "linger=3ms"),
        ({"linger": 0.000_007}, "linger=7us"),
        ({"linger": "7000"}, "linger=7us"),
        ({"sparse": True}, "sparse=true"),
        ({"sparse": "TRUE"}, "sparse=true"),
        ({"sparse": "yes"}, "sparse=false"),
        ({"tags": "7"}, "tags=7"),
        ({"tags": [7]}, "tags=7"),
        ({"tags": 7}, "tags=7"),
        ({"session_id": "tag:5"}, "session-id=tag:5"),
        ({"term_length": "1048576"}, "term-length=1m"),
        ({"pub_wnd": 3 << 10}, "pub-wnd=3k"),
        ({"publication_window": "2k"}, "pub-wnd=2k"),
        ({"stream_id": "+7"}, "stream-id=7"),
        ({"flow_control": "tagged,g:5/3,t:2s"}, "fc=tagged,g:5/3,t:2s"),
        ({"channel_rcv_ts_offset": "reserved"}, "channel-rcv-ts-offset=reserved"),
        ({"response_correlation_id": "prototype"}, "response-correlation-id=prototype"),
        ({"alias": None, "mtu": 32}, "mtu=32"),
    ],
)
def test_values_are_written_in_their_shortest_form(given: dict[str, Any], text: str) -> None:
    assert str(ChannelUri.ipc(**given)) == f"aeron:ipc?{text}"


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"mtu": 31}, "MTU not in range 32-65504: 31"),
        ({"mtu": 100}, "MTU not a multiple of FRAME_ALIGNMENT: mtu=100"),
        ({"mtu": "3g"}, "mtu 3221225472 > 2147483647"),
        ({"mtu": "1x"}, "mtu: 1x should end with: k, m, or g."),
        ({"term_length": "2g"}, "term length more than max length of 1073741824: value=2147483648"),
        ({"term_offset": -32}, "term offset not in range 0-1g: -32"),
        ({"ttl": 256}, "TTL not in range 0-255: 256"),
        ({"ttl": "x"}, "'ttl' must be a value integer"),
        ({"control_mode": "auto"}, "invalid control mode: auto"),
        ({"so_sndbuf": -1}, "`so-sndbuf` value cannot be negative: -1"),
        ({"pub_wnd": "3g"}, "value exceeds maximum permitted: value=3221225472"),
        ({"stream_id": "abc"}, "stream-id must be a number"),
        ({"init_term_id": "zz"}, "'initial-term-id' must be a valid integer"),
        ({"gtag": 1 << 63}, "'gtag' must be a valid long value"),
        ({"linger": "10h"}, "linger: 10h should end with: s, ms, us, or ns."),
        (
            {"response_correlation_id": -2},
            (
                "responseCorrelationId must be a number greater than or equal to -1, "
                "or the value 'prototype' found: -2"
            ),
        ),
        (
            {"init_term_id": 5},
            (
                "either all or none of the parameters ['initialTermId', 'termId', 'termOffset'] "
                "must be provided"
            ),
        ),
        (
            {"init_term_id": 5, "term_id": 4, "term_offset": 0},
            "difference greater than 2^31 - 1: termId=4 - initialTermId=5",
        ),
    ],
)
def test_the_references_builder_errors(given: dict[str, Any], text: str) -> None:
    with pytest.raises(ChannelUriError) as refused:
        ChannelUri.ipc(**given)

    assert refused.value.reference_message == text


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"linger": -1.0}, "linger"),
        ({"linger": float("nan")}, "linger"),
        ({"linger": True}, "linger"),
        ({"linger": [1]}, "linger"),
        ({"mtu": 64.0}, "mtu"),
        ({"mtu": True}, "mtu"),
        ({"sparse": 1}, "sparse"),
        ({"alias": "a|b"}, "alias"),
        ({"tags": (1, 2, 3)}, "tags"),
        ({"tags": (1 << 63,)}, "tags"),
        ({"tags": ("a",)}, "tags"),
        ({"session_id": "tag:x"}, "session-id"),
        ({"no_such": 1}, "no_such"),
    ],
)
def test_values_of_another_kind_are_refused_by_name(given: dict[str, Any], named: str) -> None:
    with pytest.raises(ChannelUriError, match=named):
        ChannelUri.ipc(**given)


def test_a_network_channel_needs_somewhere_to_go() -> None:
    with pytest.raises(ChannelUriError, match="either 'endpoint' or 'control'"):
        ChannelUri.udp(mtu=1408)
    assert str(ChannelUri.udp(control_mode="manual")) == "aeron:udp?control-mode=manual"


@pytest.mark.parametrize(
    ("channel", "text"),
    [
        ("aeron:udp?tags=1", "either 'endpoint' or 'control' must be specified for UDP."),
        ("aeron:ipc?term-id=1", "either all or none of the parameters"),
        ("aeron:tcp?a=1", "invalid media: tcp"),
        (
            "aeron:ipc?init-term-id=1|term-id=1|term-offset=131072|term-length=64k",
            "termOffset=131072 > termLength=65536",
        ),
    ],
)
def test_validate_checks_what_belongs_together(channel: str, text: str) -> None:
    with pytest.raises(ChannelUriError) as refused:
        ChannelUri.parse(channel).validate()

    assert str(refused.value).startswith(text)


def test_a_valid_channel_validates_to_itself() -> None:
    uri = ChannelUri.udp("h:1").with_position(64, 1, "64k")

    assert uri.validate() is uri


def test_replacing_by_keyword_removes_with_none() -> None:
    uri = ChannelUri.parse("aeron:ipc?alias=a|mtu=1408").replace(mtu=None, linger=1)

    assert dict(uri) == {"alias": "a", "linger": "1s"}
