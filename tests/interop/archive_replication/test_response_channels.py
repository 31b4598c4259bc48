"""Copies for which the source needs to reach nobody: all comes back over response channels."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.interop

HOST = "127.0.0.1"


def response_channel(pair) -> str:
    return f"aeron:udp?control-mode=response|control={HOST}:{pair.free_port()}"


def test_the_source_answers_over_a_response_channel(pair) -> None:
    recording = pair.source.record(pair.stream_id, 100)
    replication = pair.replicate(recording, src_response_channel=response_channel(pair))
    check(pair, recording, replication)


def test_the_source_replays_over_a_response_channel(pair) -> None:
    recording = pair.source.record(pair.stream_id, 100)
    replication = pair.replicate(
        recording,
        src_response_channel=response_channel(pair),
        replication_channel=response_channel(pair),
    )
    check(pair, recording, replication)


def test_a_copy_goes_on_over_a_response_channel(pair) -> None:
    recording = pair.source.record(pair.stream_id, 100)
    channels = {
        "src_response_channel": response_channel(pair),
        "replication_channel": response_channel(pair),
    }
    first = pair.replicate(recording, stop_position=50_000, **channels)
    first.wait_end()
    (begun,) = first.signals("REPLICATE")
    middle = pair.destination.archive.stop_position(begun.recording_id)
    assert 50_000 <= middle < recording.stop
    channels = {
        "src_response_channel": response_channel(pair),
        "replication_channel": response_channel(pair),
    }
    second = pair.replicate(recording, dst_recording_id=begun.recording_id, **channels)
    assert [line.split()[0] for line in second.wait_end()] == [
        "OK",
        "EXTEND",
        "SYNC",
        "REPLICATE_END",
        "STOP",
    ]
    pair.check_copied(recording, begun.recording_id)


def check(pair, recording, replication) -> None:
    assert replication.wait_end() == [
        "REPLICATE recording=destination subscription=none position=0",
        "OK subscription",
        "EXTEND recording=destination subscription=subscription position=0",
        f"SYNC recording=destination subscription=subscription position={recording.stop}",
        "REPLICATE_END recording=destination subscription=none position=-1",
        f"STOP recording=destination subscription=subscription position={recording.stop}",
    ]
    (begun,) = replication.signals("REPLICATE")
    pair.check_copied(recording, begun.recording_id)
