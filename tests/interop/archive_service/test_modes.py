"""Archives with a thread for each agent, with checksums, and with remote source location."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.interop

CHANNEL = "aeron:ipc?term-length=64k"
FOLLOW = -1


@pytest.mark.parametrize("implementation", ["ours", "reference"])
@pytest.mark.parametrize(
    "properties",
    [
        {"aeron.archive.threading.mode": "DEDICATED"},
        {
            "aeron.archive.threading.mode": "DEDICATED",
            "aeron.archive.record.checksum": "org.agrona.checksum.Crc32",
            "aeron.archive.replay.checksum": "org.agrona.checksum.Crc32",
            "aeron.archive.file.io.max.length": "64k",
        },
        {"aeron.threading.mode": "DEDICATED", "aeron.archive.threading.mode": "SHARED"},
    ],
    ids=["dedicated", "dedicated-crc", "dedicated-driver"],
)
def test_a_live_recording_is_followed(
    start_server, java_client, bench_of, implementation: str, properties: dict[str, str]
) -> None:
    server = start_server(implementation, "archiving-driver", properties=properties)
    bench = bench_of(server, java_client(server.aeron_dir))
    bench.archive.startRecording(CHANNEL, 1001, "REMOTE")
    publication = bench.publish()
    recording_id = bench.recording_id()
    replay = bench.replay(recording_id, 0, FOLLOW)
    offering = publication.start_offer_numbered(20_000, 500)
    found = replay.poll_numbered(20_000, 500)
    position = offering.result(60)["position"]
    assert (found["count"], found["position"]) == (20_000, position)
    assert [s for s, _ in bench.signals(1)] == ["START"]
    publication.close()
    assert bench.wait_stopped(recording_id) == position
    assert replay.poll(1, until_eos=True) == []
    bench.wait_replays_ended()


def test_a_client_is_answered_on_a_response_channel(
    archive_server, java_client, stream_id: int
) -> None:
    client = java_client(archive_server.aeron_dir)
    archive = client.archive(
        request_channel="aeron:ipc?term-length=64k",
        response_channel="aeron:ipc?control-mode=response",
    )
    subscription_id = archive.startRecording(CHANNEL, stream_id, "LOCAL")
    assert archive.recordings(recording_id=999_999) == []
    archive.stopRecording(subscription_id)
    archive.close()
