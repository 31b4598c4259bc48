"""Segment files made ahead and without the interpreter: whole, alone under their name, no waste."""

from __future__ import annotations

import os
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest
from waits import wait_until

from aerolog.archive.client import AeronArchive
from aerolog.archive.service import ArchivingMediaDriver
from aerolog.archive.service.recorder.segment_files import SegmentFiles
from aerolog.transport.client import Aeron

SEGMENT = 1 << 20
SECOND = 1_000_000_000
DEADLINE_S = 60.0
CHANNEL = "aeron:ipc?term-length=64k"


def room_of(path: Path) -> int:
    """Bytes that a file takes on disk."""
    return path.stat().st_blocks * 512


@pytest.fixture
def maker(tmp_path):
    with ExitStack() as made:

        def make(**options) -> SegmentFiles:
            settings = {
                "length": SEGMENT,
                "preallocate": False,
                "sync_folder": False,
                "space_to_leave": 0,
                "ahead": True,
                **options,
            }
            return made.enter_context(SegmentFiles(str(tmp_path), **settings))

        yield make


def created(maker: SegmentFiles, base: int = 0, length: int = SEGMENT) -> bool:
    """Make a segment of recording 7; whether it has its room."""
    fd, has_room = maker.create(7, base, length)
    os.close(fd)
    return has_room


def test_a_segment_made_when_it_is_needed_is_sparse(maker, tmp_path) -> None:
    assert not created(maker(), 3 * SEGMENT)
    path = tmp_path / f"7-{3 * SEGMENT}.rec"
    assert path.stat().st_size == SEGMENT
    assert room_of(path) == 0
    assert path.stat().st_mode & 0o777 == 0o666 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_a_segment_that_is_there_is_left_alone(maker, tmp_path) -> None:
    (tmp_path / "7-0.rec").write_bytes(b"recorded")
    files = maker()
    with pytest.raises(FileExistsError):
        files.create(7, 0, SEGMENT)
    files.ask()
    assert files.turn(1) == 1
    with pytest.raises(FileExistsError):
        files.create(7, 0, SEGMENT)
    assert (tmp_path / "7-0.rec").read_bytes() == b"recorded"


def test_files_are_made_ahead_only_when_somebody_asks_and_are_nobodys(maker, tmp_path) -> None:
    files = maker()
    assert [files.turn(now) for now in (1, 2)] == [0, 0]
    files.ask()
    turns = 0
    while files.turn(3):
        turns += 1
    assert turns == files.ready == 32
    assert list(tmp_path.iterdir()) == []
    assert created(files)
    assert [path.name for path in tmp_path.iterdir()] == ["7-0.rec"]
    assert room_of(tmp_path / "7-0.rec") >= SEGMENT
    assert (tmp_path / "7-0.rec").read_bytes() == bytes(SEGMENT)
    assert files.ready == 31
    assert files.turn(4) == 1


def test_large_segments_are_two_ahead(maker) -> None:
    files = maker(length=64 << 20)
    files.ask()
    while files.turn(1):
        pass
    assert files.ready == 2


def test_segments_of_another_length_are_made_when_needed(maker, tmp_path) -> None:
    files = maker()
    files.ask()
    files.turn(1)
    assert not created(files, length=2 * SEGMENT)
    assert (tmp_path / "7-0.rec").stat().st_size == 2 * SEGMENT
    assert files.ready == 1


def test_what_nobody_needed_for_a_while_is_given_back(maker, tmp_path) -> None:
    files = maker()
    files.ask()
    while files.turn(SECOND):
        pass
    assert files.turn(2 * SECOND) == 0
    assert files.ready == 32
    files.turn(3 * SECOND + 1)
    assert files.ready == 0
    assert files.turn(4 * SECOND) == 0
    assert not created(files)
    assert files.turn(5 * SECOND) == 1


def test_nothing_is_made_ahead_on_a_disk_that_is_nearly_full(maker, tmp_path) -> None:
    status = os.statvfs(tmp_path)
    files = maker(space_to_leave=status.f_bavail * status.f_frsize * 2)
    files.ask()
    assert files.turn(1) == 0
    assert files.ready == 0


def test_a_small_disk_is_left_to_what_is_recorded(maker, tmp_path) -> None:
    status = os.statvfs(tmp_path)
    length = 1 << (status.f_bavail * status.f_frsize // 16).bit_length()
    files = maker(length=length)
    files.ask()
    assert files.turn(1) == 0
    assert files.ready == 0


def test_without_a_thread_nothing_is_made_ahead(maker) -> None:
    files = maker(ahead=False)
    files.ask()
    assert files.turn(1) == 0
    assert not created(files)


def test_preallocated_segments_have_their_room_whoever_makes_them(maker, tmp_path) -> None:
    files = maker(ahead=False, preallocate=True)
    assert created(files)
    assert room_of(tmp_path / "7-0.rec") >= SEGMENT


def test_a_closed_maker_can_be_closed_again(maker) -> None:
    files = maker()
    files.ask()
    files.turn(1)
    files.close()
    assert files.ready == 0
    files.close()
    with pytest.raises(OSError, match=r"7-0\.rec"):
        files.create(7, 0, SEGMENT)


def test_the_thread_that_makes_segments_lets_others_go_first(maker) -> None:
    files = maker()
    seen = []

    def run() -> None:
        files.on_start()
        seen.append(os.getpriority(os.PRIO_PROCESS, 0))

    before = os.getpriority(os.PRIO_PROCESS, 0)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [min(before + 5, 19)]
    assert os.getpriority(os.PRIO_PROCESS, 0) == before


# ---- in an archive ------------------------------------------------------------------------------


@pytest.fixture
def recorded(tmp_path):
    """Records messages with an archive of some settings; the archive's folder, what was sent."""

    def record(count: int, **options):
        messages = [i.to_bytes(4, "little") * 256 for i in range(count)]
        folder = tmp_path / "archive"
        with (
            ArchivingMediaDriver(
                tmp_path / "aeron",
                folder,
                driver_options={"threading_mode": "SHARED", "dir_delete_on_start": True},
                archive_options={
                    "control_channel_enabled": False,
                    "segment_file_length": SEGMENT,
                    **options,
                },
            ) as both,
            Aeron(both.aeron_dir) as aeron,
            AeronArchive(aeron) as archive,
            aeron.add_exclusive_publication(CHANNEL, 1) as publication,
        ):
            archive.start_recording(f"aeron:ipc?session-id={publication.session_id}", 1)
            publication.wait_connected(DEADLINE_S, writable=True)
            for message in messages:
                wait_until(lambda m=message: publication.offer(m) > 0, "room")
            counter = wait_until(lambda: archive.recording_position_counter(0), "the recording")
            wait_until(lambda: counter.value == publication.position, "everything recorded")
            position = publication.position
            archive.stop_recording(f"aeron:ipc?session-id={publication.session_id}", 1)
            wait_until(lambda: archive.stop_position(0) == position, "the recording's end")
            replayed = _replayed(archive, position, count)
            open_files = _open_files(folder)
        assert replayed == messages
        return folder, position, open_files

    return record


def _replayed(archive, position: int, count: int) -> list[bytes]:
    replayed: list[bytes] = []
    with archive.replay(0, 0, position, channel="aeron:ipc", stream_id=2) as subscription:
        wait_until(
            lambda: (
                replayed.extend(m.data for m in subscription.poll_messages(1000))
                or len(replayed) >= count
            ),
            "the replay",
        )
    return replayed


def _open_files(folder: Path) -> list[str]:
    """Segments of a folder that this process has open and that have a name."""
    found = []
    for entry in Path("/proc/self/fd").iterdir():
        try:
            target = str(entry.readlink())
        except FileNotFoundError:
            continue
        if target.startswith(str(folder)) and target.endswith(".rec"):
            found.append(target)
    return found


@pytest.mark.parametrize("mode", ["DEDICATED", "SHARED"])
def test_recordings_go_on_in_the_next_segment_and_leave_no_room_behind(recorded, mode) -> None:
    folder, position, open_files = recorded(6000, threading_mode=mode)
    names = {path.name for path in folder.glob("*.rec")}
    assert names == {f"0-{base}.rec" for base in range(0, position + 1, SEGMENT)}
    assert {path.stat().st_size for path in folder.glob("*.rec")} == {SEGMENT}
    last = folder / f"0-{position // SEGMENT * SEGMENT}.rec"
    assert room_of(last) <= position % SEGMENT + 8192
    assert not [path for path in open_files if path.endswith(".rec")]


@pytest.mark.parametrize("mode", ["DEDICATED", "SHARED"])
def test_preallocated_segments_keep_their_room(recorded, mode) -> None:
    folder, position, _ = recorded(3000, threading_mode=mode, segment_file_preallocate=True)
    assert position > 2 * SEGMENT
    assert all(room_of(path) >= SEGMENT for path in folder.glob("*.rec"))


def test_the_thread_that_makes_segments_ends_with_the_archive(recorded) -> None:
    recorded(1500, threading_mode="DEDICATED")
    assert not [t.name for t in threading.enumerate() if "segments" in t.name]


@pytest.mark.parametrize(("preallocate", "taken"), [(False, 0), (True, 65536)])
def test_an_empty_recording_takes_the_room_of_its_segment_if_that_is_wanted(
    make_rig, preallocate: bool, taken: int
) -> None:
    rig = make_rig(segment_file_preallocate=preallocate)
    rig.connect()
    rig.start(1)
    rig.publish(1)
    rig.wait(lambda: rig.disk.exists("/archive/0-0.rec"), "the segment")
    assert rig.disk.size("/archive/0-0.rec") == 65536
    assert _taken(rig.disk, "/archive/0-0.rec") == taken


def _taken(disk, path: str) -> int:
    before = disk.used_bytes
    disk.remove(path)
    return before - disk.used_bytes
