"""A folder that one archive recorded, opened, replayed and extended by the other."""

from __future__ import annotations

import struct

import peer
import pytest

from aerolog.testing.recordings import RecordingBuilder

pytestmark = pytest.mark.interop

CHANNEL = "aeron:ipc?term-length=64k"
STREAM = 1001
COUNT, LENGTH = 2000, 300

BOTH = pytest.mark.parametrize(
    ("first", "second"), [("ours", "reference"), ("reference", "ours"), ("ours", "ours")]
)


def record(server, java_client, bench_of, channel: str, count: int, first: int = 0) -> int:
    """Record numbered messages to the end of the stream; the last position."""
    bench = bench_of(server, java_client(server.aeron_dir))
    bench.record(channel)
    publication = bench.publish(channel)
    position = publication.offer_numbered(count, LENGTH, first=first)["position"]
    bench.wait_recorded(0, position)
    bench.archive.stopRecording(channel, STREAM)
    bench.wait_stopped(0)
    publication.close()
    bench.archive.close()
    return position


@BOTH
@pytest.mark.parametrize("checksum", [None, "CRC-32C"])
def test_what_one_recorded_the_other_replays_and_extends(
    start_server, java_client, bench_of, tmp_path, first: str, second: str, checksum: str | None
) -> None:
    folder = tmp_path / "archive"
    properties = {
        "aeron.archive.record.checksum": "org.agrona.checksum.Crc32c",
        "aeron.archive.replay.checksum": "org.agrona.checksum.Crc32c",
    }
    if checksum is None:
        properties = {}
    server = start_server(first, "archiving-driver", archive_dir=folder, properties=properties)
    stop = record(server, java_client, bench_of, CHANNEL, COUNT)
    assert server.process.stop() == 0
    server = start_server(second, "archiving-driver", archive_dir=folder, properties=properties)
    bench = bench_of(server, java_client(server.aeron_dir))
    (descriptor,) = bench.archive.recordings(recording_id=0)
    assert descriptor["stopPosition"] == stop
    replay = bench.replay(0, 0, -1)
    assert replay.poll_numbered(COUNT, LENGTH)["position"] == stop
    replay.close()
    initial = descriptor["initialTermId"]
    term_id = (initial + stop // 65536 + 2**31) % 2**32 - 2**31
    channel = f"{CHANNEL}|init-term-id={initial}|term-id={term_id}|term-offset={stop % 65536}"
    bench.archive.extendRecording(0, channel, STREAM, "LOCAL")
    publication = bench.publish(channel)
    end = publication.offer_numbered(COUNT, LENGTH, first=COUNT)["position"]
    bench.wait_recorded(0, end)
    bench.archive.stopRecording(channel, STREAM)
    assert bench.wait_stopped(0) == end
    replay = bench.replay(0, 0, end)
    assert replay.poll_numbered(2 * COUNT, LENGTH)["position"] == end
    bench.archive.close()
    assert server.process.stop() == 0
    arguments = ["verify", "-a"] if checksum is None else ["verify", "-a", "-checksum", checksum]
    assert "(recordingId=0) OK" in peer.archive_tool(folder, *arguments)


def test_the_archive_tool_finds_nothing_wrong_after_a_kill(
    start_server, java_client, bench_of, tmp_path, aeron_dir
) -> None:
    folder = tmp_path / "archive"
    start_server("ours", "driver", aeron_dir=aeron_dir)
    server = start_server("ours", "archive", aeron_dir=aeron_dir, archive_dir=folder)
    bench = bench_of(server, java_client(server.aeron_dir))
    bench.record()
    publication = bench.publish()
    offering = publication.start_offer_numbered(100_000, 700)
    recording_id = bench.recording_id()
    bench.wait_recorded(recording_id, 1_000_000)
    server.process.kill()
    server = start_server("ours", "archive", aeron_dir=aeron_dir, archive_dir=folder)
    bench = bench_of(server, java_client(server.aeron_dir))
    stop = bench.archive.getStopPosition(recording_id)
    assert stop >= 1_000_000
    frame = 736
    per_term = 65536 // frame
    whole = stop // 65536 * per_term + stop % 65536 // frame
    replay = bench.replay(recording_id, 0, stop)
    assert replay.poll_numbered(whole, 700)["count"] == whole
    publication.close()
    bench.archive.close()
    assert server.process.stop() == 0
    verified = peer.archive_tool(folder, "verify", "-a")
    assert f"(recordingId={recording_id}) OK" in verified
    del offering


START = 40  # in an entry, behind its header; the stop position follows


@pytest.mark.parametrize("implementation", ["ours", "reference"])
def test_odd_positions_of_an_entry_keep_no_archive_from_starting(
    start_server, our_archive_client, tmp_path, implementation: str
) -> None:
    folder = tmp_path / "archive"
    folder.mkdir()
    for _ in range(3):
        builder = RecordingBuilder()
        for number in range(100):
            builder.add(b"%d" % number * 100)
        builder.write(folder)
    content = bytearray((folder / "archive.catalog").read_bytes())
    (length,) = struct.unpack_from("<i", content, 32)
    struct.pack_into("<qq", content, 32 + (32 + length) + 32 + START, 33, 4097)
    (folder / "archive.catalog").write_bytes(content)
    server = start_server(implementation, "archiving-driver", archive_dir=folder)
    archive = our_archive_client(server.aeron_dir)
    entries = {one.recording_id: one.start_position for one in archive.recordings()}
    assert entries == {0: 0, 1: 33, 2: 0}
    for sound in (0, 2):
        assert sum(1 for _ in archive.read(sound)) == 100
