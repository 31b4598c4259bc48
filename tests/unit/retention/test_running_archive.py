"""Runs over an archive that runs, with readers; and the command."""

from __future__ import annotations

import json
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from job_marks import commit
from live_archive import CHANNEL, STREAM_ID, archiving, until
from shared_memory import memory_folder

from aerolog.archive.client import AeronArchive
from aerolog.archive.protocol.extension_query import RecordingReader
from aerolog.archive.retention.archive_access import RefusedError, RunningArchive, StoppedArchive
from aerolog.archive.retention.clock import read_clock
from aerolog.archive.retention.policy_file import parse_policies
from aerolog.archive.retention.run import Retention
from aerolog.catalog.index import RecordingCatalog, sync_folder
from aerolog.tools.main import main
from aerolog.transport.client import Aeron
from aerolog.transport.errors import ActiveArchiveError
from aerolog.transport.memory.filesystem import RealFileSystem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SEGMENT = 64 * 1024
SEGMENTS = 4
MESSAGE = bytes(1024 - 32)
REPLAY_STREAM = 999
POLICY = f"[[policy]]\nstream = {STREAM_ID}\nmax_size = '64k'\n"


@contextmanager
def served(folder: Path) -> Iterator[tuple[Path, Aeron, AeronArchive]]:
    """An archive with one recording of four segments and a bit, which is still active."""
    with (
        memory_folder() as home,
        # Replays wait for subscribers that never come.
        archiving(home / "aeron", folder, "aeron.archive.connect.timeout=1000s") as service,
        Aeron(service.aeron_dir) as aeron,
        AeronArchive(aeron) as archive,
        aeron.add_exclusive_publication(CHANNEL, STREAM_ID) as publication,
    ):
        archive.start_recording(CHANNEL, STREAM_ID)
        publication.wait_connected(30, writable=True)
        for _ in range(SEGMENTS * 64 + 8):
            publication.send(MESSAGE, timeout=30)
        until(lambda: archive.list_recording(0) is not None, "the recording")
        until(lambda: archive.recording_position(0) == publication.position, "all of it")
        yield home / "aeron", aeron, archive


def retention(folder: Path, text: str = POLICY) -> Retention:
    return Retention(
        archive_dir=folder,
        policies=parse_policies(text),
        files=RealFileSystem(),
        read_clock=read_clock,
    )


def bases(folder: Path) -> list[int]:
    names = [path.name for path in folder.glob("0-*.rec")]
    return sorted(int(name.removesuffix(".rec").partition("-")[2]) // SEGMENT for name in names)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "archive"
    shutil.rmtree(tmp_path)


def test_an_archive_lets_go_what_nobody_reads(folder: Path) -> None:
    with served(folder) as (aeron_dir, aeron, archive):
        replay = archive.start_replay(0, CHANNEL, REPLAY_STREAM, position=2 * SEGMENT)
        until(archive.recording_readers, "the replay")
        assert archive.recording_readers() == [RecordingReader(0, "replay", 2 * SEGMENT)]
        door = RunningArchive(archive)
        # The archive itself refuses more than that.
        with pytest.raises(RefusedError) as raised:
            door.purge_segments(0, 3 * SEGMENT)
        assert raised.value.upper_bound == 2 * SEGMENT
        with pytest.raises(RefusedError):
            door.purge_recording(0)
        planned, applied = retention(folder).run(door)
        assert [step.new_start_position for step in planned.steps] == [2 * SEGMENT]
        assert [(one.kind, one.position) for one in planned.kept] == [("replay", 2 * SEGMENT)]
        assert applied is not None
        assert (applied.files, bases(folder)) == (2, [2, 3, 4])
        archive.stop_replay(replay)
        until(lambda: not archive.recording_readers(), "the end of the replay")
        # By the command, which finds the archive by its mark file; it is still being recorded.
        _, applied = retention(folder).run(door)
        assert applied is not None
        assert (applied.files, bases(folder)) == (2, [4])
        assert archive.start_position(0) == 4 * SEGMENT
        assert aeron_dir.exists()
        assert not aeron.closed


def test_a_plan_that_knew_no_replay_is_cut_short_by_the_archive(folder: Path) -> None:
    with served(folder) as (_, _, archive):
        door = RunningArchive(archive)

        def replay_first(_planned: object) -> bool:
            archive.start_replay(0, CHANNEL, REPLAY_STREAM, position=SEGMENT)
            until(archive.recording_readers, "the replay")
            return True

        planned, applied = retention(folder).run(door, replay_first)
        assert [step.new_start_position for step in planned.steps] == [4 * SEGMENT]
        assert applied is not None
        assert [(step.new_start_position, step.files) for step in applied.done] == [(SEGMENT, 1)]
        assert [(one.kind, one.position) for one in applied.kept] == [("replay", SEGMENT)]
        assert bases(folder) == [1, 2, 3, 4]
        archive.stop_all_replays()


def test_the_command_finds_the_archive_of_a_folder(folder: Path, capsys) -> None:
    where = ["--archive-dir", str(folder)]
    policy = ["--stream", str(STREAM_ID), "--max-size", "64k"]

    def run(*arguments: str) -> Any:
        assert main(["retention", *arguments, *where, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    with served(folder) as (_, _, archive):
        borrowed = StoppedArchive.borrow(folder, RealFileSystem())
        with pytest.raises(ActiveArchiveError, match="an archive runs"), borrowed:
            pytest.fail("two owners")
        assert run("hold", "0", "--reason", "x")[0]["recording_id"] == 0
        plan = run("plan", *policy)
        assert plan["steps"] == []
        assert plan["kept"][0]["reason"] == "held: x"
        assert run("release", "0")[0]["reason"] == "x"
        assert run("apply", *policy, "--yes")["files"] == 4
        assert archive.start_position(0) == 4 * SEGMENT
        assert bases(folder) == [4]
        assert run("status")["files"] == 4


def test_what_a_job_has_not_read_of_a_live_recording_stays(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = ["--stream", str(STREAM_ID), "--max-size", "64k"]
    where = ["--archive-dir", str(folder)]

    with (
        served(folder) as (_, aeron, archive),
        RecordingCatalog.open(archive_dir=folder) as catalog,
        aeron.add_exclusive_publication(CHANNEL, STREAM_ID) as other,
    ):
        other.wait_connected(30, writable=True)
        other.send(MESSAGE, timeout=30)
        until(lambda: archive.list_recording(1) is not None, "the other recording")
        until(lambda: archive.recording_position(1) == other.position, "its first message")
        sync_folder(catalog, folder)
        commit(catalog, folder, {one: archive.recording_position(one) for one in (0, 1)})
        for _ in range(SEGMENTS * 64):
            other.send(MESSAGE, timeout=30)
        until(lambda: archive.recording_position(1) == other.position, "all of it")
        # All of both that the catalog knows of is read, and the second one has gone on.
        assert main(["retention", "apply", *policy, *where, "--yes"]) == 0
        assert "recording 1 from 0 on: job nightly has loaded it" in capsys.readouterr().out
        assert [archive.start_position(one) for one in (0, 1)] == [4 * SEGMENT, 0]
        catalog.close()
        (folder / "aerolog-catalog.db").unlink()
        assert main(["retention", "apply", *policy, *where, "--yes"]) == 1
        assert "nothing is deleted" in capsys.readouterr().err
        assert archive.start_position(1) == 0
