"""The reference's tools on our folder, and our counters beside the reference's."""

from __future__ import annotations

import re

import peer
import pytest
from waits import wait_until

from aerolog.archive.protocol.counter_types import ArchiveCounterType

pytestmark = pytest.mark.interop

CHANNEL = "aeron:ipc?term-length=64k"


@pytest.mark.parametrize("make", ["reference", "ours"])
def test_the_archive_tool_describes_dumps_and_verifies_the_folder(
    start_server, java_client, bench_of, make: str
) -> None:
    server = start_server(make, "archiving-driver")
    bench = bench_of(server, java_client(server.aeron_dir))
    recording_id, stop = bench.recorded(3000, 200)
    folder = bench.server.archive_dir
    described = peer.archive_tool(folder, "describe")
    header = re.search(r"\[MarkFileHeader\].*", described)
    assert header is not None
    assert "version=196864" in header.group()
    assert "localControlChannel='aeron:ipc?term-length=64k'" in header.group()
    (line,) = [x for x in described.splitlines() if f"|recordingId={recording_id}|" in x]
    assert f"|startPosition=0|stopPosition={stop}|" in line
    assert f"|streamId={bench.stream_id}|strippedChannel='aeron:ipc'|" in line
    assert f"originalChannel='{CHANNEL}'|sourceIdentity='aeron:ipc'" in line
    dumped = peer.archive_tool(folder, "dump", "1000000")
    assert f"Recording {recording_id}\n" in dumped
    verified = peer.archive_tool(folder, "verify", str(recording_id), "-a")
    assert f"(recordingId={recording_id}) OK" in verified
    assert "ERR" not in verified


@pytest.mark.error_log("Aeron URIs must start with")
def test_the_error_log_is_read_by_the_archive_tool(bench) -> None:
    with pytest.raises(peer.JavaError):
        bench.archive.startRecording("nonsense", bench.stream_id, "LOCAL")
    text = "Aeron URIs must start with 'aeron:', found: nonsense"
    wait_until(
        lambda: text in peer.archive_tool(bench.server.archive_dir, "errors"),
        "the error in the log",
    )


def test_the_counters_of_a_recording_are_the_references(bench) -> None:
    archive_id = bench.archive.archiveId()
    bench.record("aeron:ipc?alias=counted|term-length=64k")
    publication = bench.publish("aeron:ipc?alias=counted|term-length=64k")
    position = publication.offer_numbered(10, 100)["position"]
    recording_id = bench.recording_id()
    bench.wait_recorded(recording_id, position)
    session_id = publication.sessionId()
    (counter,) = [
        c
        for c in bench.counters()
        if c.type_id == ArchiveCounterType.RECORDING_POSITION
        and int.from_bytes(c.key[:8], "little") == recording_id
    ]
    assert counter.label == (
        f"rec-pos: {recording_id} {session_id} {bench.stream_id} aeron:ipc?alias=counted"
        f" - archiveId={archive_id}"
    )
    expected = (
        recording_id.to_bytes(8, "little")
        + session_id.to_bytes(4, "little", signed=True)
        + (9).to_bytes(4, "little")
        + b"aeron:ipc"
        + archive_id.to_bytes(8, "little")
    )
    assert counter.key[: len(expected)] == expected
    assert not any(counter.key[len(expected) :])
    assert counter.value == position
    assert bench.counter_value(ArchiveCounterType.RECORDING_SESSIONS) >= 1
    bench.archive.stopRecording("aeron:ipc?alias=counted", bench.stream_id)
    bench.wait_stopped(recording_id)
    wait_until(
        lambda: (
            not any(
                c.type_id == ArchiveCounterType.RECORDING_POSITION
                and int.from_bytes(c.key[:8], "little") == recording_id
                for c in bench.counters()
            )
        ),
        "the position counter to be freed",
    )
    publication.close()


def test_the_counters_of_the_archive_are_the_references(bench) -> None:
    archive_id = bench.archive.archiveId()
    suffix = f" - archiveId={archive_id}"
    A = ArchiveCounterType  # noqa: N806 - the lines below would be too long
    labels = {
        c.type_id: c.label
        for c in bench.counters()
        if ArchiveCounterType.CONTROL_SESSIONS <= c.type_id <= ArchiveCounterType.REPLAY_SESSIONS
        and c.label.endswith(suffix)
    }
    assert labels == {
        A.CONTROL_SESSIONS: f"Archive Control Sessions{suffix}",
        A.MAX_CYCLE_TIME: f"archive-conductor max cycle time in ns: SHARED{suffix}",
        A.CYCLE_TIME_EXCEEDED: (
            "archive-conductor work cycle time exceeded count: threshold=100ms SHARED" + suffix
        ),
        A.MAX_WRITE_TIME: f"archive-recorder max write time in ns{suffix}",
        A.WRITTEN_BYTES: f"archive-recorder total write bytes{suffix}",
        A.WRITE_TIME: f"archive-recorder total write time in ns{suffix}",
        A.MAX_READ_TIME: f"archive-replayer max read time in ns{suffix}",
        A.READ_BYTES: f"archive-replayer total read bytes{suffix}",
        A.READ_TIME: f"archive-replayer total read time in ns{suffix}",
        A.RECORDING_SESSIONS: f"Archive Recording Sessions{suffix}",
        A.REPLAY_SESSIONS: f"Archive Replay Sessions{suffix}",
    }
    (session,) = [
        c
        for c in bench.counters()
        if c.type_id == ArchiveCounterType.CONTROL_SESSION
        and c.value == bench.archive.control_session_id
    ]
    assert re.fullmatch(
        r"control-session: name=\S* version=1\.51\.0 commit=\w+ sourceIdentity=aeron:ipc"
        rf" sessionId=-?\d+{suffix}",
        session.label,
    )
    key = archive_id.to_bytes(8, "little") + session.value.to_bytes(8, "little")
    assert session.key[:16] == key
    assert session.reference_id > 0


def test_the_recorder_counts_bytes_with_padding_as_its_header(bench) -> None:
    before = bench.counter_value(ArchiveCounterType.WRITTEN_BYTES)
    # 409 frames of 160 bytes leave 96 bytes at the end of each term.
    bench.recorded(820, 100)
    expected = before + 820 * 160 + 2 * 32
    wait_until(
        lambda: bench.counter_value(ArchiveCounterType.WRITTEN_BYTES) >= expected,
        "all bytes to be counted",
    )
    assert bench.counter_value(ArchiveCounterType.WRITTEN_BYTES) == expected
