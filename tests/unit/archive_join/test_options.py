"""What a persistent subscription is told is checked before anything begins."""

import pytest

from aerolog.archive.client import FROM_LIVE, FROM_START
from aerolog.archive.client.replay.archive_replay import ReplayChannel
from aerolog.archive.client.replay.persistent_options import PersistentSubscriptionOptions
from aerolog.transport.errors import AerologError, ConfigurationError

UDP = {
    "request_channel": "aeron:udp?endpoint=archive:8010",
    "response_channel": "aeron:udp?endpoint=here:0",
}


def options(**changes):
    values = {"recording_id": 3, "live_channel": "aeron:ipc", "live_stream_id": 10}
    return PersistentSubscriptionOptions.of(**{**values, **changes})


def kind_of(channel):
    if channel.is_response_mode:
        return "RESPONSE_CHANNEL"
    return "DYNAMIC_PORT" if channel.has_wildcard_port else "SESSION_SPECIFIC"


def test_it_begins_live_unless_told_otherwise():
    assert options().start_position == FROM_LIVE
    assert options(start_position=FROM_START).start_position == FROM_START
    assert options(start_position=64).start_position == 64


@pytest.mark.parametrize(
    ("changes", "kind", "channel"),
    [
        ({}, "SESSION_SPECIFIC", "aeron:ipc?rejoin=false"),
        (UDP, "DYNAMIC_PORT", "aeron:udp?endpoint=here:0|rejoin=false"),
        (
            UDP | {"replay_channel": "aeron:udp?endpoint=here:4000"},
            "SESSION_SPECIFIC",
            "aeron:udp?endpoint=here:4000|rejoin=false",
        ),
        (
            UDP | {"replay_channel": "aeron:udp?control-mode=response|control=here:4000"},
            "RESPONSE_CHANNEL",
            "aeron:udp?control-mode=response|control=here:4000|rejoin=false",
        ),
        (
            {"replay_channel": "aeron:ipc?control-mode=response"},
            "RESPONSE_CHANNEL",
            "aeron:ipc?control-mode=response|rejoin=false",
        ),
    ],
    ids=["ipc", "port", "endpoint", "response", "ipc response"],
)
def test_replay_channels_are_of_three_kinds(changes, kind, channel):
    made = options(**changes)
    assert kind_of(ReplayChannel(made.replay_channel)) == kind
    assert set(str(made.replay_channel).split("?")[1].split("|")) == set(
        channel.split("?")[1].split("|")
    )


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"recording_id": -1}, "recording id is not negative: -1"),
        ({"start_position": -3}, "not -3"),
        ({"start_position": 33}, "not 33"),
        ({"live_channel": "ipc"}, "ipc"),
        ({"replay_channel": "aeron:nothing"}, "nothing"),
        ({"replay_channel": "aeron-spy:aeron:udp?endpoint=here:1"}, "replay to a spy"),
        (
            {"replay_channel": "aeron:udp?control-mode=response|control=here:1"},
            "medium of the control channel",
        ),
        ({"request_channel": "aeron:udp?endpoint=archive:8010"}, "response_channel"),
        ({"no_such_option": 1}, "no_such_option"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else None,
)
def test_what_cannot_be_used_is_refused(changes, what):
    with pytest.raises(AerologError, match=what) as caught:
        options(**changes)
    assert isinstance(caught.value, ConfigurationError | ValueError)
