"""A file that a second process cuts while a command reads it.

Every command ends with sound output, or with an error that names the file: never by a signal, never
as a fault of ours, and never with rows that nobody recorded.
"""

from __future__ import annotations

import difflib
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cut_meanwhile import runs
from pyarrow import parquet
from shared_memory import memory_folder

from aerolog.testing.recordings import RecordingBuilder, write_time_index
from aerolog.tools.command_line.exit_codes import EXIT_FAULT
from aerolog.transport.client import Aeron
from aerolog.transport.driver import MediaDriver

if TYPE_CHECKING:
    from cut_meanwhile import Run

SEGMENT, CATALOG = "archive/0-65536.rec", "archive/archive.catalog"
TIMES = "archive/aerolog/times/0.time"
CNC = "aeron/cnc.dat"
HERE = ["--archive-dir", "HOME/archive"]
DATABASE = ["--catalog", "sqlite:///HOME/catalog.db"]
LOOK = ["--aeron-dir", "HOME/aeron"]
COMMANDS: dict[str, tuple[list[str], tuple[str, ...]]] = {
    "list": (["recordings", "list", "--json", *HERE], (CATALOG, SEGMENT)),
    "describe": (["recordings", "describe", "0", "--json", *HERE], (CATALOG, SEGMENT)),
    "time index": (["recordings", "times", "0", "--json", *HERE], (CATALOG, TIMES)),
    "scan": (["verify", "--json", *HERE], (CATALOG, SEGMENT)),
    "doctor": (
        ["doctor", "--deep", "--interval", "0", "--json", *HERE, *LOOK],
        (CATALOG, SEGMENT, TIMES, CNC),
    ),
    "export": (["export", "--all", "--to", "HOME/out", *HERE], (CATALOG, SEGMENT, TIMES)),
    "catalog sync": (["catalog", "sync", *HERE, *DATABASE], (CATALOG, SEGMENT, TIMES)),
    "stat": (["stat", "--json", *LOOK], (CNC,)),
    "classic stat": (["stat", "--classic", "watch=false", *LOOK], (CNC,)),
    "archive tool's describe": (["archive-tool", "HOME/archive", "describe", "--json"], (CATALOG,)),
    "archive tool's describe-all": (["archive-tool", "HOME/archive", "describe-all"], (CATALOG,)),
    "archive tool's dump": (["archive-tool", "HOME/archive", "dump"], (CATALOG, SEGMENT)),
    "explain": (["explain", "HOME/archive/0-65536.rec"], (SEGMENT,)),
}
# Seconds that an export took, times of day and ages, and how much of the disk is free.
_TIMES = re.compile(
    r"""\d+\.\d{3}(?=\n)|\d\d:\d\d:\d\d|(?<=life\ )\S+(?=\ s\ ago)|(?<=heartbeat\ age\ )\S+
    |(?<=heartbeat_age_ms":\ )\d+|(?<="age_ms":\ )\d+|(?<="time_ms":\ )\d+|(?<="taken_ms":\ )\d+
    |(?<="free":\ )\d+|(?<="percent":\ )\d+""",
    re.VERBOSE,
)
CASES = [(name, file) for name, (_, files) in COMMANDS.items() for file in files]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an archive's folder, with a time index, and a driver's directory."""
    made = tmp_path_factory.mktemp("home")
    archive = made / "archive"
    archive.mkdir()
    for index in range(24):
        builder = RecordingBuilder(stream_id=100 + index)
        count = 150 if index == 0 else 3
        times = [
            (1_700_000_000_000_000_000 + 1000 * n, builder.add(b"%08d" % n * 125))
            for n in range(count)
        ]
        recording_id = builder.write(archive)
        if index == 0:
            write_time_index(archive, recording_id, times)
    with (
        memory_folder() as at,
        MediaDriver(at / "aeron"),
        Aeron(at / "aeron") as aeron,
        aeron.add_subscription("aeron:ipc", 7),
    ):
        shutil.copytree(at / "aeron", made / "aeron")
    return made


@pytest.mark.parametrize(("name", "file"), CASES)
def test_a_cut_is_told_or_does_no_harm(name: str, file: str, home: Path, tmp_path: Path) -> None:
    whole, *others = runs(COMMANDS[name][0], home, file, tmp_path)
    sound = [run for run in (whole, *others) if run.cut in {"never", "before"}]
    problems = [
        f"cut at {run.cut} to {run.left} bytes: {problem}: exit {run.code}\n"
        f"{difference(run, sound)}  err: {run.err[-1500:]}"
        for run in others
        if (problem := problem_of(run, file, sound))
    ]
    assert not problems, "\n".join(problems)


def problem_of(run: Run, file: str, sound: list[Run]) -> str | None:
    """What is wrong with the end of a run, None when nothing is.

    Args:
        run: the run.
        file: the file that was cut.
        sound: the undisturbed run, and those whose file was cut before they began.
    """
    if run.code < 0 or run.code == EXIT_FAULT or "Traceback" in run.err:
        return "it did not end as a command does"
    ends = {(one.code, steady(one.out)) for one in sound}
    if (run.code, steady(run.out)) not in ends and Path(file).name not in run.out + run.err:
        return "it neither printed what is sound nor named the file"
    wrong = rows_of(run.folder) - set().union(*(rows_of(one.folder) for one in sound))
    return f"{len(wrong)} rows that nobody recorded" if wrong else None


def steady(out: str) -> str:
    """What a command printed, without what the time of day changes."""
    return _TIMES.sub("TIME", out)


def difference(run: Run, sound: list[Run]) -> str:
    """The lines in which a run differs from the sound one that is nearest."""
    differences = [
        "".join(
            difflib.unified_diff(
                steady(one.out).splitlines(keepends=True),
                steady(run.out).splitlines(keepends=True),
                n=0,
            )
        )
        for one in sound
    ]
    return min(differences, key=len)[:1500]


def rows_of(folder: Path) -> set[tuple[object, ...]]:
    """All rows that were exported, with the names of their files."""
    return {
        (path.name, *row.values())
        for path in (folder / "out").rglob("*.parquet")
        for row in parquet.read_table(path).to_pylist()
    }
