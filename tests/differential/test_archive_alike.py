"""The same requests to our archive and to the reference's: all that they say and leave is alike."""

from __future__ import annotations

import shutil
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import pytest
from archive_storage.teller import FRAME, SEGMENT, TERM, Teller
from archive_tool_beside import run_ours, without_frames
from driver_tools import STACK_FRAME, first_lines
from left_files import Parts, Run, assert_alike, assert_same_lines
from peer.servers import ServerSpec, start
from peer.tool_runner import ToolRunner
from random_requests import draw_requests
from random_seeds import seeds
from shared_memory import memory_path

from aerolog.archive import protocol as ap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = [pytest.mark.interop, pytest.mark.usefixtures("reference"), pytest.mark.error_log("")]

PROPERTIES = {"aeron.archive.id": "7", "aeron.archive.max.concurrent.replays": "4"}
#: Files of the archive's folder that the reference does not have (docs/compatibility).
ONLY_OURS = frozenset(("aerolog",))
COMMANDS = (
    ("describe",),
    ("describe", "0"),
    ("describe-all",),
    ("count-entries",),
    ("max-entries",),
    ("pid",),
    ("errors",),
    ("dump", "4096"),
    ("verify", "-a"),
)
#: The reference's dump stops at a purged recording, and ours goes on (spec archive-tool 5).
ABORTED = tuple(
    f'Exception in thread "main" java.lang.IllegalArgumentException: {why}'
    for why in ("invalid term buffer", "length must be positive")
)
#: With what begins what a tool says of the driver's errors.
DRIVER_ERRORS = "Aeron driver error log"


class Left(NamedTuple):
    """What one archive has said and left.

    Attributes:
        lines: what it said.
        files: of its folder.
        tools: what the reference's ArchiveTool says to them, by command.
    """

    lines: list[str]
    files: dict[str, Parts]
    tools: dict[str, list[str]]


@pytest.fixture(scope="module")
def runner(reference: object) -> Iterator[ToolRunner]:
    with ToolRunner() as tools:
        yield tools


def said_and_left(
    implementation: str,
    folder: Path,
    runner: ToolRunner,
    scenario: Callable[[Teller], None],
    properties: dict[str, str],
) -> Left:
    """Play a scenario on an archiving driver of its own, and end it."""
    shutil.rmtree(folder, ignore_errors=True)
    aeron_dir = memory_path()
    run = Run(texts={str(folder): "<folder>", str(aeron_dir): "<directory>"})
    server = start(
        implementation, ServerSpec("archiving-driver", aeron_dir, folder, PROPERTIES | properties)
    )
    try:
        run.pids.add(server.pid)
        teller = Teller(server)
        run.session_id = teller.session_id
        run.texts[f"controlSessionId={teller.session_id}"] = "controlSessionId=SESSION"
        try:
            scenario(teller)
        finally:
            teller.close()
        assert server.process.stop() == 0
        files = run.folder(folder, only_ours=ONLY_OURS)
        return Left(teller.lines, files, dict(tools_say(run, folder, runner)))
    finally:
        server.process.stop()
        shutil.rmtree(aeron_dir, ignore_errors=True)


def tools_say(run: Run, folder: Path, runner: ToolRunner) -> Iterator[tuple[str, list[str]]]:
    """What both tools say to a folder, which must be the same."""
    for command in COMMANDS:
        ran = runner.archive_tool(folder, *command)
        theirs = lines_of(run, f"{ran.out}{without_frames(ran.err)}exit code {ran.code}")
        own = run_ours(folder, *command)
        said = lines_of(run, f"{own.out}{own.err}exit code {own.code}")
        if theirs[-2].startswith(ABORTED):
            theirs = theirs[:-2]
            said = said[: len(theirs)]
        assert_same_lines(said, theirs, f"our tool: {command}")
        yield " ".join(command), theirs


def lines_of(run: Run, said: str) -> list[str]:
    """What a tool prints, without stack frames, which show whose code it is."""
    text, begin, of_driver = run.text(said).partition(DRIVER_ERRORS)
    lines = [line for line in text.splitlines() if not line.startswith(STACK_FRAME)]
    if not begin:
        return lines
    *driver_lines, code = of_driver.splitlines()
    return [*lines, begin, *first_lines(driver_lines), code]


def play(
    tmp_path: Path,
    runner: ToolRunner,
    scenario: Callable[[Teller], None],
    properties: dict[str, str] | None = None,
) -> Left:
    """Play a scenario on both, which must say and leave the same; what that is."""
    folder = tmp_path / "archive"
    theirs = said_and_left("reference", folder, runner, scenario, properties or {})
    ours = said_and_left("ours", folder, runner, scenario, properties or {})
    assert_same_lines(ours.lines, theirs.lines, "answers")
    assert_alike(ours.files, theirs.files)
    for command, said in theirs.tools.items():
        assert_same_lines(ours.tools[command], said, f"the reference's tool: {command}")
    return theirs


def test_a_written_script(tmp_path: Path, runner: ToolRunner) -> None:
    delete = ap.RecordingSignal.DELETE

    def scenario(t: Teller) -> None:
        first = t.recorded(100, 4 * SEGMENT + 3 * FRAME)
        within = t.recorded(101, 2 * SEGMENT, position=TERM + FRAME)
        gone = t.recorded(102, SEGMENT)
        empty = t.recorded(103, 0)
        t.ask(ap.TruncateRecordingRequest, until=delete, recording_id=first, position=3 * SEGMENT)
        extended = t.start(100, position=3 * SEGMENT, extends=first)
        extended.publish(TERM)
        extended.stop()
        t.tell("extended")
        t.ask(ap.PurgeSegmentsRequest, until=delete, recording_id=first, new_start_position=SEGMENT)
        t.ask(ap.DetachSegmentsRequest, recording_id=within, new_start_position=2 * SEGMENT)
        t.ask(ap.AttachSegmentsRequest, recording_id=within)
        t.ask(ap.PurgeRecordingRequest, until=delete, recording_id=gone)
        t.replayed(first, SEGMENT, TERM, 200)
        t.replayed(first, 2 * SEGMENT + FRAME, SEGMENT, 201)
        for recording_id in (first, within, gone, empty, 99, -1):
            t.describe(recording_id)
        t.folder()

    left = play(tmp_path, runner, scenario)
    assert any("signal=6" in line for line in left.lines)
    assert {"archive.catalog", "archive-mark.dat", "0-131072.rec"} <= left.files.keys()


@pytest.mark.parametrize("enabled", ["true", "false"])
def test_settings_that_the_mark_file_has(tmp_path: Path, runner: ToolRunner, enabled: str) -> None:
    properties = {
        "aeron.archive.control.channel": "aeron:udp?endpoint=localhost:0",
        "aeron.archive.control.channel.enabled": enabled,
        "aeron.archive.control.stream.id": "77",
        "aeron.archive.local.control.channel": "aeron:ipc?term-length=128k",
        "aeron.archive.recording.events.channel": "aeron:ipc?alias=events",
        "aeron.archive.recording.events.stream.id": "88",
        "aeron.archive.recording.events.enabled": enabled,
        "aeron.archive.error.buffer.length": "2m",
        "aeron.archive.id": "-5",
        "aeron.archive.catalog.capacity": "2k",
    }
    left = play(tmp_path, runner, lambda teller: teller.recorded(100, FRAME), properties)
    assert "archive-mark.dat" in left.files


@pytest.mark.parametrize("seed", seeds(4, 40))
def test_random_requests(tmp_path: Path, runner: ToolRunner, seed: int) -> None:
    left = play(tmp_path, runner, lambda teller: draw_requests(teller, Random(seed)))
    assert len(left.lines) > 40
