"""What recorder and replayer are set to: checksums, limits, storage, sync, bytes on disk."""

from __future__ import annotations

import re
import shutil
import threading
import time
from typing import TYPE_CHECKING

import peer
import pytest
from waits import wait_until

from aerolog.archive.client import AeronArchive
from aerolog.archive.protocol.counter_types import ArchiveCounterType
from aerolog.archive.service import Archive
from aerolog.transport.client import Aeron

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.interop

CHANNEL = "aeron:ipc?term-length=64k"
STREAM = 1001
COUNT, LENGTH = 300, 300
FRAME = 352
JAVA_NAMES = {"CRC-32": "org.agrona.checksum.Crc32", "CRC-32C": "org.agrona.checksum.Crc32c"}
BOTH = pytest.mark.parametrize("implementation", ["ours", "reference"])
EACH_CHECKSUM = pytest.mark.parametrize("checksum", list(JAVA_NAMES))


def recorded_folder(
    implementation: str,
    start_server,
    java_client,
    bench_of,
    folder: Path,
    properties: dict[str, str] | None = None,
) -> int:
    """A folder with recording 0, stopped; its stop position."""
    server = start_server(
        implementation, "archiving-driver", archive_dir=folder, properties=properties or {}
    )
    bench = bench_of(server, java_client(server.aeron_dir))
    _, position = bench.recorded(COUNT, LENGTH)
    bench.archive.close()
    assert server.process.stop() == 0
    return position


def error_of_replay(server, java_client, bench_of) -> str:
    """What a client is told when a replay of recording 0 breaks off."""
    bench = bench_of(server, java_client(server.aeron_dir))
    replay = bench.replay(0, 0, -1)
    text = wait_until(
        lambda: next((s["message"] for s in bench.archive.signals() if "message" in s), None),
        "the error",
    )
    replay.close()
    bench.archive.close()
    return text


@pytest.mark.error_log("CRC checksum mismatch")
@BOTH
@EACH_CHECKSUM
def test_damage_is_told_when_it_is_replayed(
    start_server, java_client, bench_of, tmp_path, implementation: str, checksum: str
) -> None:
    """Recorded by one archive; both replay what is sound and say the same of what is not."""
    folder = tmp_path / "archive"
    names = {
        "aeron.archive.record.checksum": JAVA_NAMES[checksum],
        "aeron.archive.replay.checksum": JAVA_NAMES[checksum],
    }
    recorded_folder(implementation, start_server, java_client, bench_of, folder, names)
    assert "(recordingId=0) OK" in peer.archive_tool(folder, "verify", "-a", "-checksum", checksum)
    with (folder / "0-0.rec").open("r+b") as file:
        file.seek(7 * FRAME + 32 + 100)
        byte = file.read(1)[0]
        file.seek(7 * FRAME + 32 + 100)
        file.write(bytes([byte ^ 0x10]))
    told = {}
    for reader in ("ours", "reference"):
        copy = tmp_path / reader
        shutil.copytree(folder, copy)
        server = start_server(reader, "archiving-driver", archive_dir=copy, properties=names)
        text = error_of_replay(server, java_client, bench_of)
        assert server.process.stop() == 0
        told[reader] = re.sub(r"replaySessionId=-?\d+", "replaySessionId=", text)
    assert f"CRC checksum mismatch at position={7 * FRAME} (" in told["reference"]
    assert told["ours"] == told["reference"]
    verified = peer.archive_tool(folder, "verify", "-a", "-checksum", checksum, check=False)
    assert "ERR: checksum failed" in verified


@EACH_CHECKSUM
def test_checksums_that_the_archive_tool_wrote_are_those_of_our_replays(
    start_server, java_client, bench_of, tmp_path, checksum: str
) -> None:
    folder = tmp_path / "archive"
    position = recorded_folder("ours", start_server, java_client, bench_of, folder)
    peer.archive_tool(folder, "checksum", JAVA_NAMES[checksum], "-a")
    server = start_server(
        "ours",
        "archiving-driver",
        archive_dir=folder,
        properties={"aeron.archive.replay.checksum": JAVA_NAMES[checksum]},
    )
    bench = bench_of(server, java_client(server.aeron_dir))
    assert bench.replay(0, 0, -1).poll_numbered(COUNT, LENGTH)["position"] == position
    bench.archive.close()


@BOTH
def test_a_recording_without_checksums_fails_where_they_are_wanted(
    start_server, java_client, bench_of, tmp_path, implementation: str
) -> None:
    folder = tmp_path / "archive"
    recorded_folder("reference", start_server, java_client, bench_of, folder)
    server = start_server(
        implementation,
        "archiving-driver",
        archive_dir=folder,
        properties={"aeron.archive.replay.checksum": JAVA_NAMES["CRC-32"]},
    )
    assert "CRC checksum mismatch at position=0 (" in error_of_replay(server, java_client, bench_of)


@BOTH
@pytest.mark.parametrize("level", ["0", "1", "2"])
def test_every_sync_level_records_and_replays(
    start_server, java_client, bench_of, tmp_path, implementation: str, level: str
) -> None:
    server = start_server(
        implementation,
        "archiving-driver",
        archive_dir=tmp_path / "archive",
        properties={
            "aeron.archive.file.sync.level": level,
            "aeron.archive.catalog.file.sync.level": level,
            "aeron.archive.threading.mode": "DEDICATED",
            # A disk that is written to by others may take long to sync.
            "aeron.client.liveness.timeout": "60s",
            "aeron.publication.unblock.timeout": "61s",
        },
    )
    bench = bench_of(server, java_client(server.aeron_dir))
    recording_id, position = bench.recorded(COUNT, LENGTH)
    assert bench.replay(recording_id, 0, -1).poll_numbered(COUNT, LENGTH)["position"] == position
    bench.archive.close()
    assert server.process.stop() == 0
    assert "(recordingId=0) OK" in peer.archive_tool(tmp_path / "archive", "verify", "-a")


@BOTH
def test_a_replay_lingers_as_long_as_the_drivers_publications(
    start_server, java_client, bench_of, implementation: str
) -> None:
    server = start_server(
        implementation,
        "archiving-driver",
        properties={
            "aeron.publication.linger.timeout": "1234ms",
            "aeron.archive.connect.timeout": "500ms",
        },
    )
    bench = bench_of(server, java_client(server.aeron_dir))
    recording_id, position = bench.recorded(COUNT, LENGTH)
    bench.archive.startReplay(recording_id, 0, position, "aeron:ipc", STREAM + 3)
    text = wait_until(bench.archive.pollForErrorResponse, "the end of a replay without a reader")
    assert "|linger=1234ms, replayStreamId=" in text


@BOTH
def test_no_more_recordings_and_replays_than_allowed(
    start_server, java_client, bench_of, implementation: str
) -> None:
    server = start_server(
        implementation,
        "archiving-driver",
        properties={
            "aeron.archive.max.concurrent.recordings": "1",
            "aeron.archive.max.concurrent.replays": "1",
        },
    )
    bench = bench_of(server, java_client(server.aeron_dir))
    recording_id, _ = bench.recorded(COUNT, LENGTH)
    bench.record()
    publication = bench.publish()
    bench.recording_id(2)
    with pytest.raises(peer.JavaError, match="max concurrent recordings reached 1") as refused:
        bench.record(stream_id=STREAM + 1)
    assert refused.value.code == 8
    publication.close()
    replay = bench.replay(recording_id, 0, -1)
    wait_until(lambda: bench.counter_value(ArchiveCounterType.REPLAY_SESSIONS) == 1, "the replay")
    with pytest.raises(peer.JavaError, match="max concurrent replays reached 1") as refused:
        bench.replay(recording_id, 0, -1, STREAM + 2)
    assert refused.value.code == 7
    replay.close()
    bench.wait_replays_ended()


@BOTH
def test_nothing_is_recorded_when_storage_is_low(
    start_server, java_client, bench_of, implementation: str
) -> None:
    threshold = 1 << 60
    server = start_server(
        implementation,
        "archiving-driver",
        properties={"aeron.archive.low.storage.space.threshold": str(threshold)},
    )
    bench = bench_of(server, java_client(server.aeron_dir))
    pattern = rf"low storage threshold={threshold} <= usableSpace=\d+"
    with pytest.raises(peer.JavaError, match=pattern) as refused:
        bench.record()
    assert refused.value.code == 11
    assert bench.recordings() == []


@pytest.mark.parametrize("length", [100, 1000, 1376])
def test_the_same_stream_gives_the_same_bytes_on_disk(
    start_server, java_client, tmp_path, aeron_dir, length: int
) -> None:
    """Both archives record one publication; padding is a header before a hole in both."""
    start_server("reference", "driver", aeron_dir=aeron_dir)
    folders = {"ours": tmp_path / "ours", "reference": tmp_path / "reference"}
    streams = {"ours": "210", "reference": "211"}
    for implementation, folder in folders.items():
        start_server(
            implementation,
            "archive",
            aeron_dir=aeron_dir,
            archive_dir=folder,
            properties={
                "aeron.archive.local.control.stream.id": streams[implementation],
                "aeron.archive.recording.events.enabled": "false",
                "aeron.archive.segment.file.length": "64k",
            },
        )
    publication = java_client(str(aeron_dir)).add_exclusive_publication(CHANNEL, STREAM)
    with Aeron(str(aeron_dir)) as aeron:
        archives = [
            AeronArchive(aeron, request_stream_id=int(stream), response_stream_id=2000 + index)
            for index, stream in enumerate(streams.values())
        ]
        for archive in archives:
            archive.start_recording(CHANNEL, STREAM)
        for archive in archives:
            _wait(lambda a=archive: a.list_recording(0), "the recording")
        position = publication.offer_numbered(1000, length)["position"]
        for archive in archives:
            _wait(
                lambda a=archive: a.recording_position(0) == position,
                "everything recorded",
            )
        for archive in archives:
            archive.stop_recording(CHANNEL, STREAM)
            _wait(lambda a=archive: a.stop_position(0) == position, "the recording's end")
            archive.close()
    publication.close()
    names = sorted(path.name for path in folders["reference"].glob("*.rec"))
    assert len(names) == position // 65536 + 1
    assert sorted(path.name for path in folders["ours"].glob("*.rec")) == names
    for name in names:
        ours, theirs = folders["ours"] / name, folders["reference"] / name
        assert ours.read_bytes() == theirs.read_bytes(), name


def _wait(condition, what: str) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.002)


def test_a_reference_client_is_served_by_an_archive_that_its_owner_turns(
    start_server, java_client, bench_of, tmp_path, aeron_dir
) -> None:
    """INVOKER: no thread of the archive's own."""
    server = start_server("reference", "driver", aeron_dir=aeron_dir)
    stop = threading.Event()
    with Archive(
        tmp_path / "archive",
        str(aeron_dir),
        threading_mode="INVOKER",
        control_channel_enabled=False,
        segment_file_length="128k",
    ) as archive:

        def turn() -> None:
            while not stop.is_set():
                if archive.do_work() == 0:
                    stop.wait(0.0005)

        names = {thread.name for thread in threading.enumerate()}
        assert not any(name.startswith("archive-") for name in names)
        turning = threading.Thread(target=turn)
        turning.start()
        try:
            bench = bench_of(server, java_client(server.aeron_dir))
            recording_id, position = bench.recorded(2000, LENGTH)
            replay = bench.replay(recording_id, 0, -1)
            assert replay.poll_numbered(2000, LENGTH)["position"] == position
            bench.archive.close()
        finally:
            stop.set()
            turning.join()
    assert "(recordingId=0) OK" in peer.archive_tool(tmp_path / "archive", "verify", "-a")
