"""Merges under loss and harm: each message once and in order, or a failure with a reason."""

import pytest

from aerolog.archive.client import ReplayMerge
from aerolog.transport.errors import (
    AeronTimeoutError,
    ArchiveError,
    JoinErrorReason,
    NotConnectedError,
    ReplayMergeError,
    ResourceClosedError,
)

STREAM_ID = 7
FAILURES = (
    ReplayMergeError,
    ArchiveError,
    AeronTimeoutError,
    NotConnectedError,
    ResourceClosedError,
)
LOSSES = (0.0, 0.05, 0.1, 0.2)


@pytest.fixture
def merge(make_world):
    """``merge(seed, ...)`` is a world and a merge in it, whose messages are checked."""

    def make(seed, *, loss=0.0, count=1500, **changes):
        world = make_world(seed, "udp", loss=loss, count=count)
        world.run(lambda: world.sent > count // 3)
        client = world.home.connect()
        archive = world.home.connect_archive(
            client,
            request_channel=world.control,
            response_channel=f"aeron:udp?endpoint={world.home.network.ipv4}:0",
        )
        arguments = {
            "replay_channel": "aeron:udp",
            "replay_destination": f"aeron:udp?endpoint={world.home.network.ipv4}:0",
            "live_destination": world.live_channel,
            "recording_id": world.recording_id,
            "start_position": 0,
            "progress_timeout": 5.0,
            **changes,
        }
        subscription = client.add_subscription("aeron:udp?control-mode=manual", STREAM_ID)
        return world, ReplayMerge(subscription, archive, **arguments)

    return make


@pytest.mark.parametrize("seed", range(8))
def test_what_is_merged_comes_once_and_in_order(merge, seed):
    assert play(merge, seed) == 1500


def play(merge, seed):
    """Merge under loss; how many messages came."""
    world, joining = merge(seed, loss=LOSSES[seed % len(LOSSES)])
    world.read_with(joining.poll_messages)
    world.run(lambda: joining.is_merged)
    world.finish()
    world.run(lambda: joining.image.active_transport_count == 1)
    joining.close()
    return world.received


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 400))
def test_many_merges(merge, seed):
    assert play(merge, seed) == 1500


def failure_of(world, joining):
    """What a merge fails of."""
    world.read_with(joining.poll_messages)
    with pytest.raises(
        (ReplayMergeError, ArchiveError, AeronTimeoutError, ResourceClosedError)
    ) as e:
        world.run(lambda: joining.is_merged)
    assert joining.has_failed
    assert joining.failure is e.value
    joining.close()
    return e.value


@pytest.mark.parametrize("seed", range(4))
def test_an_archive_that_dies_ends_a_merge_that_needs_it(merge, seed):
    world, joining = merge(seed)
    world.disconnect_live()

    def is_catching_up():
        joining.do_work()
        return joining.state.name == "CATCHUP"

    world.run(is_catching_up)
    world.source.kill_archive()
    assert failure_of(world, joining)


def test_a_live_stream_that_does_not_come_ends_it(merge):
    world, joining = merge(1, live_destination="aeron:udp?endpoint=10.0.0.2:5000")
    assert isinstance(failure_of(world, joining), AeronTimeoutError)
    assert world.received == world.count


def test_an_unknown_recording_ends_it(merge):
    error = failure_of(*merge(2, recording_id=77))
    assert error.reason is JoinErrorReason.RECORDING_NOT_FOUND
