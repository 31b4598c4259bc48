"""A catalog that follows a reference archive says what the archive's listing says."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from peer.process import ServerProcess
from peer.streams import free_port

from aerolog.archive.client import AeronArchive
from aerolog.catalog.index import RecordingCatalog, sync_folder
from aerolog.catalog.index.labels import label, resolve
from aerolog.catalog.index.recording_details import details
from aerolog.catalog.index.search import FoundRecording, Search, search
from aerolog.transport.client import Aeron

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from peer.servers import Server

pytestmark = pytest.mark.interop
TERMINATED = 143

WAIT_S = 60.0
TERM_LENGTH = 64 * 1024
SEGMENT_LENGTH = 2 * TERM_LENGTH
CHANNEL = "aeron:ipc?term-length=64k"
FRAME = 1024
PAYLOAD = bytes(FRAME - 32)


def wait_until(condition: Callable[[], Any], what: Callable[[], str]) -> Any:
    deadline = time.monotonic() + WAIT_S
    while not (answer := condition()):
        assert time.monotonic() < deadline, what()
        time.sleep(0.02)
    return answer


class Followed:
    """An archive, a client of it, and a process that keeps a catalog of it."""

    def __init__(self, server: Server, url: str, start: Callable[..., Server]) -> None:
        self.server = server
        self.url = url
        self._start = start
        self.follower = self._follow()
        self.catalog = RecordingCatalog.open(url)
        self._connect()

    def _connect(self) -> None:
        self.aeron = Aeron(self.server.aeron_dir)
        self.archive = AeronArchive(self.aeron, request_channel="aeron:ipc")

    def _follow(self) -> ServerProcess:
        command = [sys.executable, "-m", "aerolog.tools.main", "catalog", "sync", "--follow"]
        command += ["--archive-dir", str(self.server.archive_dir), "--catalog", self.url]
        command += ["--look-every", "0.2", "--json"]
        process = ServerProcess("follower", command, stop_by_signal=True)
        first = json.loads(process.next_line())
        assert first["place"] == str(self.server.archive_dir.resolve())
        return process

    def restart_follower(self, between: Callable[[], object]) -> None:
        """Kill the follower, do something, and let another one follow."""
        self.follower.kill()
        between()
        self.follower = self._follow()

    def restart_archive(self) -> None:
        """Stop the archive with its driver, and start both again."""
        self.archive.close()
        self.aeron.close()
        spec = self.server.spec
        assert self.server.process.stop() == 0
        self.server = self._start(
            self.server.implementation,
            spec.kind,
            aeron_dir=spec.aeron_dir,
            archive_dir=spec.archive_dir,
            properties=spec.properties,
        )
        self._connect()

    def close(self) -> None:
        self.catalog.close()
        self.archive.close()
        self.aeron.close()
        if self.follower.running:
            assert self.follower.terminate() == TERMINATED

    def listed(self) -> dict[int, tuple[Any, ...]]:
        """What the archive's listing says, by recording id."""
        found = {}
        for one in self.archive.recordings():
            end = self.archive.recording_position(one.recording_id) if one.is_active else None
            # One that has stopped since it was listed has no position: the next look tells.
            end = end if end is not None else one.stop_position
            found[one.recording_id] = (
                one.stream_id,
                one.session_id,
                one.start_position,
                None if one.is_active else one.stop_position,
                one.start_timestamp,
                None if one.is_active else one.stop_timestamp,
                one.stripped_channel,
                one.original_channel,
                "active" if one.is_active else "stopped",
                end - one.start_position,
            )
        return found

    def in_sql(self) -> dict[int, tuple[Any, ...]]:
        """The same, of the catalog."""
        found = search(self.catalog, Search(order="id"))
        return {one.recording_id: row(one) for one in found if one.state in {"active", "stopped"}}

    def check(self, what: str) -> None:
        """Wait until the catalog says what the listing says."""
        wait_until(
            lambda: self.in_sql() == self.listed(),
            lambda: f"{what}: {self.in_sql()} is not {self.listed()}\n{self.follower.log()}",
        )
        assert self.follower.running, self.follower.log()

    def segments(self, recording_id: int) -> dict[int, str]:
        shown = details(self.catalog, resolve(self.catalog, recording_id))
        return {one["base_position"]: one["state"] for one in shown["segments"]}

    def check_segments(self, recording_id: int, what: str) -> None:
        """Wait until the catalog has the files that the folder has."""

        def files() -> set[int]:
            paths = self.server.archive_dir.glob(f"{recording_id}-*.rec")
            return {int(path.stem.partition("-")[2]) for path in paths}

        wait_until(
            lambda: set(self.segments(recording_id)) == files(),
            lambda: f"{what}: {self.segments(recording_id)} is not {files()}",
        )

    def record(self, stream_id: int, count: int) -> int:
        """A stopped recording of messages, through our client; its id."""
        with self.archive.add_recorded_exclusive_publication(CHANNEL, stream_id) as publication:
            self.offer(publication, count)
            position = publication.position
            (recording_id,) = wait_until(
                lambda: [one.recording_id for one in self.archive.recordings(stream_id=stream_id)],
                lambda: "the recording",
            )
            self.wait_recorded(recording_id, position)
        self.archive.stop_recording_by_identity(recording_id)
        self.wait_stopped(recording_id, position)
        return int(recording_id)

    def offer(self, publication: Any, count: int) -> None:
        for _ in range(count):
            wait_until(lambda: publication.offer(PAYLOAD) > 0, lambda: "room for a message")

    def wait_recorded(self, recording_id: int, position: int) -> None:
        wait_until(
            lambda: self.archive.recording_position(recording_id) == position,
            lambda: f"recording {recording_id} at {position}",
        )

    def wait_stopped(self, recording_id: int, position: int) -> None:
        wait_until(
            lambda: self.archive.stop_position(recording_id) == position,
            lambda: f"recording {recording_id} stopped at {position}",
        )


def row(found: FoundRecording) -> tuple[Any, ...]:
    return (
        found.stream_id,
        found.session_id,
        found.start_position,
        found.stop_position,
        found.start_time_ms,
        found.stop_time_ms,
        found.channel,
        found.original_channel,
        str(found.state),
        found.size_bytes,
    )


@pytest.fixture(params=["events", "no events"])
def followed(
    request: pytest.FixtureRequest, start_server: Callable[..., Server], tmp_path: Path
) -> Iterator[Followed]:
    """A reference archive that tells of its recordings, or does not."""
    port = free_port()
    server = start_server(
        "reference",
        "archiving-driver",
        properties={
            "aeron.archive.recording.events.enabled": str(request.param == "events").lower(),
            "aeron.archive.control.channel": f"aeron:udp?endpoint=localhost:{port}",
            "aeron.archive.control.channel.enabled": "true",
            "aeron.dir.delete.on.start": "true",
        },
    )
    found = Followed(server, f"sqlite:///{tmp_path}/catalog.db", start_server)
    found.control = f"aeron:udp?endpoint=localhost:{port}"  # type: ignore[attr-defined]
    yield found
    found.close()


def test_the_catalog_is_as_the_listing_while_clients_change_an_archive(
    followed: Any, java_client: Callable[..., Any]
) -> None:
    archive = followed.archive

    # The reference's client records, and is still at it.
    java = java_client(followed.server.aeron_dir)
    java_archive = java.archive()
    java_archive.startRecording(CHANNEL, 1001, "LOCAL")
    with java.add_publication(CHANNEL, 1001) as publication:
        publication.offer_numbered(500, 64)
        followed.check("the reference's client records")
        assert [row[8] for row in followed.in_sql().values()] == ["active"]
        publication.offer_numbered(500, 64, first=500)
        followed.check("it goes on")
    java_archive.stopRecording(CHANNEL, 1001)
    followed.check("it stops")

    # Ours records over several segments, which are then taken away from both ends.
    cut = followed.record(1002, 5 * SEGMENT_LENGTH // FRAME)
    followed.check("our client records")
    followed.check_segments(cut, "five segments")
    archive.truncate_recording(cut, 4 * SEGMENT_LENGTH)
    followed.check("it is truncated")
    followed.check_segments(cut, "it is truncated")
    java_archive.purgeSegments(cut, SEGMENT_LENGTH)
    followed.check("segments are purged")
    followed.check_segments(cut, "segments are purged")
    archive.detach_segments(cut, 2 * SEGMENT_LENGTH)
    followed.check("a segment is detached")
    wait_until(
        lambda: followed.segments(cut).get(SEGMENT_LENGTH) == "detached",
        lambda: f"no detached segment: {followed.segments(cut)}",
    )
    archive.delete_detached_segments(cut)
    followed.check_segments(cut, "it is deleted")

    # It goes on where it was cut, under another channel.
    (entry,) = archive.recordings(stream_id=1002)
    position = entry.stop_position
    term_id = entry.initial_term_id + position // TERM_LENGTH
    wrapped = (term_id + 2**31) % 2**32 - 2**31
    again = (
        f"{CHANNEL}|init-term-id={entry.initial_term_id}|term-id={wrapped}"
        f"|term-offset={position % TERM_LENGTH}|mtu={entry.mtu_length}"
    )
    archive.extend_recording(cut, CHANNEL, 1002)
    with followed.aeron.add_exclusive_publication(again, 1002) as publication:
        wait_until(lambda: publication.is_connected, lambda: "the recorder to listen")
        followed.offer(publication, 10)
        followed.wait_recorded(cut, publication.position)
        followed.check("it is extended")
    followed.wait_stopped(cut, position + 10 * FRAME)
    archive.stop_recording(CHANNEL, 1002)
    archive.update_channel(cut, "aeron:ipc?alias=a-much-longer-name-than-the-one-it-had-before")
    followed.check("its channel is changed")

    # What nobody followed is there when somebody does again.
    followed.restart_follower(lambda: followed.record(1003, 100))
    followed.check("a recording was made while nobody followed")
    assert len(followed.listed()) == 3

    # A copy, made by the archive of its own.
    archive.replicate(cut, followed.control, 10)
    wait_until(lambda: len(followed.listed()) == 4, lambda: "the copy")
    followed.check("a recording is replicated")
    wait_until(
        lambda: all(one[8] == "stopped" for one in followed.listed().values()),
        lambda: f"the copy is complete: {followed.listed()}",
    )
    followed.check("the copy is complete")

    # Purged recordings keep their rows, and say that they are.
    label(followed.catalog, followed.server.archive_dir, [cut], tags={"kept": "yes"})
    archive.purge_recording(0)
    java_archive.purgeRecording(cut)
    followed.check("recordings are purged")
    gone = search(followed.catalog, Search(recording_ids=[0, cut], order="id"))
    assert [(one.state, dict(one.tags)) for one in gone] == [
        ("deleted", {}),
        ("deleted", {"kept": "yes"}),
    ]

    # The archive stops and starts under its follower.
    java.close()
    followed.restart_archive()
    followed.record(1004, 10)
    followed.check("the archive was started again")
    assert len(followed.listed()) == 3

    before = search(followed.catalog, Search(order="id"))
    with RecordingCatalog.open("sqlite://") as fresh:
        sync_folder(fresh, followed.server.archive_dir)
        assert [replace(one, tags={}) for one in search(fresh, Search(order="id"))] == [
            replace(one, tags={}) for one in before
        ]
