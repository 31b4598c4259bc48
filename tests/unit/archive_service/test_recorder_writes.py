"""How blocks get to disk: how long they are, in which order, and how durable."""

from __future__ import annotations

import pytest

from aerolog.archive import protocol as ap
from aerolog.testing.filesystem import FakeFile, FakeFileSystem

TERM = 256 * 1024
LARGE = f"aeron:ipc?term-length={TERM}"
SEGMENT_0 = "/archive/0-0.rec"


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[tuple]:
    """What was done to segments and to the archive's folder, in order."""
    found: list[tuple] = []
    write, sync, sync_dir = FakeFile.write, FakeFile.sync, FakeFileSystem.sync_dir

    def noted_write(file: FakeFile, data: bytes, offset: int) -> int:
        if file.path.endswith(".rec"):
            found.append(("write", offset, len(data)))
        return write(file, data, offset)

    def noted_sync(file: FakeFile, level: int) -> int:
        if file.path.endswith(".rec"):
            found.append(("sync", level))
        return sync(file, level)

    def noted_folder(disk: FakeFileSystem, path: str) -> None:
        if path == "/archive":
            found.append(("folder",))
        sync_dir(disk, path)

    monkeypatch.setattr(FakeFile, "write", noted_write)
    monkeypatch.setattr(FakeFile, "sync", noted_sync)
    monkeypatch.setattr(FakeFileSystem, "sync_dir", noted_folder)
    return found


def burst(rig, publication, count: int) -> None:
    """Offer messages of a thousand bytes as they fit, and let all of them be recorded."""
    for _ in range(count):
        rig.wait(lambda: publication.offer(bytes(1000)) > 0, "room for a message")
    rig.wait(
        lambda: rig.archive._conductor.recordings.position(0) == publication.position,
        "the messages to be recorded",
    )


def large_recording(rig):
    """A publication with large terms that is being recorded."""
    rig.start(1, LARGE)
    publication = rig.aeron.add_exclusive_publication(LARGE, 1)
    rig.wait(lambda: rig.archive._conductor.recordings.sessions, "the recording")
    rig.wait(lambda: rig.disk.exists(SEGMENT_0), "its segment")
    rig.wait(lambda: publication.position_limit > 0, "room for messages")
    return publication


@pytest.mark.parametrize(
    ("file_level", "catalog_level", "block", "folder"),
    [
        (0, 0, [], False),
        (0, 2, [], False),
        (1, 1, [("sync", 1)], True),
        (1, 2, [("sync", 1)], True),
        (2, 2, [("sync", 2)], True),
    ],
)
def test_each_block_and_each_new_segment_is_synced_as_its_level_says(
    make_rig, done, file_level: int, catalog_level: int, block: list, folder: bool
) -> None:
    rig = make_rig(file_sync_level=file_level, catalog_file_sync_level=catalog_level)
    rig.connect()
    done.clear()
    rig.start(1)
    publication = rig.publish(1)
    rig.wait(lambda: rig.disk.exists(SEGMENT_0), "the segment")
    assert (("folder",) in done) is folder
    done.clear()
    burst(rig, publication, 2)
    (written,) = [each for each in done if each[0] == "write"]
    assert done == [written, *block]
    assert written == ("write", 0, 2 * 1056)
    done.clear()
    for _ in range(3):
        burst(rig, publication, 20)
    # The term's last frame is padding: a header.
    burst(rig, publication, 1)
    assert ("write", 62 * 1056, 32) in done
    assert (("folder",) in done) is folder
    assert done.count(("sync", file_level)) == sum(1 for each in done if each[0] == "write") * len(
        block
    )


@pytest.mark.parametrize(
    ("io_length", "longest"), [("64k", 65536 // 1056 * 1056), ("1m", 124 * 1056)]
)
def test_blocks_are_no_longer_than_the_io_length(make_rig, done, io_length: str, longest) -> None:
    rig = make_rig(file_io_max_length=io_length, segment_file_length=TERM)
    rig.connect()
    publication = large_recording(rig)
    done.clear()
    burst(rig, publication, 124)
    lengths = [each[2] for each in done if each[0] == "write"]
    assert max(lengths) == longest
    assert sum(lengths) == publication.position


@pytest.mark.parametrize(("asked", "most"), [(2112, 2112), (0, 65536)])
def test_replays_read_no_more_at_once_than_asked_for(make_rig, asked: int, most: int) -> None:
    rig = make_rig(file_io_max_length="64k", segment_file_length=TERM)
    rig.connect()
    publication = large_recording(rig)
    burst(rig, publication, 120)
    position = publication.position
    subscription = rig.aeron.add_subscription("aeron:ipc", 50)
    rig.ask(
        ap.ReplayRequest,
        recording_id=0,
        position=0,
        length=position,
        file_io_max_length=asked,
        replay_stream_id=50,
        replay_channel="aeron:ipc",
    )
    (session,) = rig.archive._conductor.replays.sessions.values()
    steps = [session.reader.replay_position]
    while rig.archive._conductor.replays.sessions:
        rig.turn()
        rig.aeron.do_work()
        steps.append(session.reader.replay_position - sum(steps))
        subscription.poll_messages(1000)
    assert sum(steps) == position
    assert max(steps) == most // 1056 * 1056
    subscription.close()
