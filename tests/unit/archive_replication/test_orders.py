"""Requests to replicate as orders, and the channels that come of them."""

from __future__ import annotations

import pytest

from aerolog.archive import protocol as ap
from aerolog.archive.service.replication.replication_order import ReplicationOrder
from aerolog.transport.errors import ArchiveError, ChannelUriError

DEFAULT = "aeron:udp?endpoint=host:0|interface=10.0.0.1|alias=ours"
NOBODY = {"control_session_id": 1, "correlation_id": 2}
OLDEST = {
    **NOBODY,
    "src_recording_id": 3,
    "dst_recording_id": -1,
    "src_control_stream_id": 10,
    "src_control_channel": "aeron:udp?endpoint=source:8010",
    "live_destination": "",
}
TAGGED = {**OLDEST, "channel_tag_id": -1, "subscription_tag_id": -1}
NEWEST = {**TAGGED, "stop_position": -1}


def order(**changes) -> ReplicationOrder:
    return ReplicationOrder.of(ap.ReplicateRequest2(**NEWEST | changes), DEFAULT)


def parts(channel: str) -> tuple[str, set[str]]:
    media, _, parameters = channel.partition("?")
    return media, set(parameters.split("|"))


@pytest.mark.parametrize(
    "request_message",
    [
        ap.ReplicateRequest(**OLDEST),
        ap.TaggedReplicateRequest(**TAGGED),
        ap.ReplicateRequest2(**NEWEST),
    ],
    ids=lambda r: type(r).__name__,
)
def test_the_three_requests_ask_for_the_same(request_message) -> None:
    assert ReplicationOrder.of(request_message, DEFAULT) == order()


def test_a_plain_replay_comes_to_its_session() -> None:
    wanted = order()
    assert wanted.session_id_of(42) == 42
    assert parts(wanted.recording_channel(42, 900)) == (
        "aeron:udp",
        {
            "endpoint=host:0",
            "interface=10.0.0.1",
            "alias=ours",
            "rejoin=false",
            "session-id=42",
        },
    )
    assert parts(wanted.replay_channel(42, "10.0.0.1:4567", 5)) == (
        "aeron:udp",
        {"endpoint=host:4567", "interface=10.0.0.1", "alias=ours", "session-id=42"},
    )


def test_a_session_id_of_the_request_is_that_of_the_replay() -> None:
    assert order(replication_session_id=-7).session_id_of(42) == -7


@pytest.mark.parametrize(
    ("tags", "expected"),
    [((5, 6), "tags=5,6"), ((5, -1), "tags=5,900"), ((-1, 6), "tags=900,6")],
)
def test_tags_make_a_subscription_with_destinations(tags, expected) -> None:
    wanted = order(channel_tag_id=tags[0], subscription_tag_id=tags[1])
    assert wanted.has_destinations
    assert parts(wanted.recording_channel(42, 900))[1] == {
        "interface=10.0.0.1",
        "alias=ours",
        "rejoin=false",
        "session-id=42",
        "control-mode=manual",
        expected,
    }
    assert parts(wanted.replay_destination()) == (
        "aeron:udp",
        {"endpoint=host:0", "interface=10.0.0.1"},
    )


def test_a_live_join_keeps_the_session_of_the_stream() -> None:
    wanted = order(live_destination="aeron:udp?endpoint=group:1", replication_session_id=-7)
    assert wanted.session_id_of(42) == 42
    assert wanted.has_destinations
    assert "tags=900,900" in parts(wanted.recording_channel(42, 900))[1]
    assert {"linger=0", "eos=false"} < parts(wanted.replay_channel(42, "h:1", 5))[1]


def test_a_replay_over_a_response_channel_has_no_session_id() -> None:
    wanted = order(replication_channel="aeron:udp?control-mode=response|control=source:9")
    assert wanted.is_over_response
    assert "session-id" not in wanted.recording_channel(42, 900)
    assert parts(wanted.replay_channel(42, "", 5))[1] == {
        "control-mode=response",
        "control=source:9",
        "response-correlation-id=5",
    }


def test_somebody_has_to_say_where_to_replay_to() -> None:
    with pytest.raises(ArchiveError, match=r"aeron\.archive\.replication\.channel"):
        ReplicationOrder.of(ap.ReplicateRequest(**OLDEST), None)
    with pytest.raises(ChannelUriError):
        order(replication_channel="garbage")
