"""What an archive sees of each kind of join: the reference's requests, in the reference's order."""

from __future__ import annotations

from itertools import groupby

import pytest

from aerolog.archive import protocol as ap
from aerolog.archive.client import ReplayMerge
from aerolog.archive.service.conductor.requests import RequestHandlers

STREAM_ID = 7
NOTED = (
    ap.ListRecordingRequest,
    ap.MaxRecordedPositionRequest,
    ap.ReplayRequest,
    ap.StopReplayRequest,
)


@pytest.fixture
def requests(monkeypatch):
    """The requests that the archive has handled, without repetitions."""
    seen = []
    handle = RequestHandlers.handle

    def note(handlers, control, request):
        if isinstance(request, NOTED):
            seen.append(type(request))
        return handle(handlers, control, request)

    monkeypatch.setattr(RequestHandlers, "handle", note)
    return lambda: [kind for kind, _ in groupby(seen)]


@pytest.mark.parametrize("medium", ["udp", "ipc", "spy"])
def test_a_persistent_subscription_asks_how_far_the_recording_is_during_the_replay(
    make_world, requests, medium
):
    world = make_world(1, medium, count=600)
    world.run(lambda: world.sent > 200)
    stream = world.follow()
    world.read_with(stream.poll_messages)
    world.finish()
    world.run(lambda: stream.is_live)
    world.run(lambda: ap.StopReplayRequest in requests())
    stream.close()
    assert requests() == [
        ap.ListRecordingRequest,
        ap.ReplayRequest,
        ap.MaxRecordedPositionRequest,
        ap.StopReplayRequest,
    ]


def test_a_merge_asks_how_far_the_recording_is_before_the_replay_and_during_it(
    make_world, requests
):
    world = make_world(1, "udp", count=600)
    world.run(lambda: world.sent > 200)
    client = world.home.connect()
    here = f"aeron:udp?endpoint={world.home.network.ipv4}:0"
    merge = ReplayMerge(
        client.add_subscription("aeron:udp?control-mode=manual", STREAM_ID),
        world.home.connect_archive(client, request_channel=world.control, response_channel=here),
        replay_channel="aeron:udp",
        replay_destination=here,
        live_destination=world.live_channel,
        recording_id=world.recording_id,
        start_position=0,
    )
    states = [merge.state]

    def poll(limit):
        messages = merge.poll_messages(limit)
        states.append(merge.state)
        return messages

    world.read_with(poll)
    world.finish()
    world.run(lambda: ap.StopReplayRequest in requests())
    merge.close()
    assert requests() == [
        ap.ListRecordingRequest,
        ap.MaxRecordedPositionRequest,
        ap.ReplayRequest,
        ap.MaxRecordedPositionRequest,
        ap.StopReplayRequest,
    ]
    entered = [state.name for state, _ in groupby(states)]
    assert entered[0] == "RESOLVE_REPLAY_PORT"
    assert list(dict.fromkeys(entered[1:])) == [
        "GET_RECORDING_POSITION",
        "REPLAY",
        "CATCHUP",
        "ATTEMPT_LIVE_JOIN",
        "MERGED",
    ]
