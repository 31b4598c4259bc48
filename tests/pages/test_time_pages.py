"""What stands on the pages about time, retention and verification runs and says so."""

from __future__ import annotations

import re
import shlex
import shutil
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pyarrow as pa
import pytest
from page_samples import ROOT
from shared_memory import memory_path

from aerolog.archive.client import MergedReplay
from aerolog.archive.retention.policy_file import parse_policies
from aerolog.archive.service import ArchivingMediaDriver
from aerolog.testing.recordings import RecordingBuilder, write_time_index
from aerolog.tools.main import main

PAGES = ROOT / "docs" / "archive"
T0 = 1_700_000_000_000_000_000
#: Between two messages.
STEP = 100_000_000


def blocks(page: str, kind: str) -> list[str]:
    """The blocks of a kind on a page."""
    text = (PAGES / f"{page}.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{kind}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Eight recordings of ten messages in a second, in a folder by both names of the pages."""
    made = tmp_path / "archive"
    made.mkdir()
    for recording_id in range(8):
        builder, entries = RecordingBuilder(), [(T0, 0)]
        for number in range(10):
            builder.add(b"%d-%d" % (recording_id, number))
            entries.append((T0 + (number + 1) * STEP, builder.position))
        assert builder.write(made) == recording_id
        write_time_index(made, recording_id, entries)
    (tmp_path / "aeron-archive").symlink_to(made)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AERON_ARCHIVE_DIR", raising=False)
    return made


def said_by(program: str, **names: object) -> str:
    """What a program prints that finds some names."""
    out = StringIO()
    with redirect_stdout(out):
        exec(program, dict(names))
    return out.getvalue()


def test_replay_by_time(folder: Path) -> None:
    (program,) = blocks("replay-by-time", "python")
    said = said_by(program, archive=folder, start=T0 + 2 * STEP, end=T0 + 4 * STEP)
    assert re.findall(r"b'(7-\d)'", said) == ["7-2", "7-3"]


def test_merged_replay(folder: Path) -> None:
    program, arrow = blocks("merged-replay", "python")
    said = said_by(program, archive=folder, start=T0 + 2 * STEP, end=T0 + 4 * STEP)
    assert re.findall(r" (\d) b'(\d-\d)'", said) == [
        ("3", "3-2"), ("1", "1-2"), ("2", "2-2"), ("3", "3-3"), ("1", "1-3"), ("2", "2-3"),
    ]  # fmt: skip
    with MergedReplay(folder, [3, 1]) as merged:
        (batch,) = merged.batches()
        shown = said_by(f"{arrow}\nprint(payloads.to_pylist()[:2])", pa=pa, batch=batch)
    assert shown == "[b'3-0', b'1-0']\n"


@pytest.mark.usefixtures("folder")
def test_verification() -> None:
    (program,) = blocks("verification", "python")
    *others, last = program.strip().splitlines()
    assert said_by("\n".join([*others, f"print({last.partition('  #')[0]})"])) == "[]\n"


def test_time_index(folder: Path) -> None:
    (program,) = blocks("time-index", "python")
    program = program.replace("2026, 11, 20, 10, 0", "2023, 11, 14, 22, 13, 20, 200_000")
    program = program.replace("2026, 11, 20, 10, 5", "2023, 11, 14, 22, 13, 20, 400_000")
    program = program.replace("            ...", "            print(message.data)")
    aeron_dir = memory_path("time-index")
    try:
        with ArchivingMediaDriver(aeron_dir, folder):
            said = said_by(program.replace("/dev/shm/aeron", str(aeron_dir)))
    finally:
        shutil.rmtree(aeron_dir, ignore_errors=True)
    assert said == "b'7-2'\nb'7-3'\n"


def test_the_program_of_retention() -> None:
    (program,), (output,) = blocks("retention", "python"), blocks("retention", "text")
    assert said_by(program) == output


def test_the_commands_of_retention(folder: Path) -> None:
    (policies,) = blocks("retention", "toml")
    assert [one.name for one in parse_policies(policies)] == ["orders", "audit", "disk"]
    Path("retention.toml").write_text(policies, encoding="utf-8")
    assert main(["catalog", "sync", "--archive-dir", str(folder)]) == 0
    (commands,) = blocks("retention", "sh")
    for line in commands.splitlines():
        # What would go depends on the room of this disk; and a date passes.
        shown = line.replace("--every 1m", "--dry-run").replace("2027-01-01", "2199-01-01")
        program, *arguments = shlex.split(shown)
        assert program == "aerolog"
        assert main(arguments) == 0, line
    assert len(list(folder.glob("*.rec"))) == 8
