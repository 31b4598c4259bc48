"""Commands on archives' folders whose files are damaged: each says what is wrong, none faults."""

from __future__ import annotations

import io
import random
import shutil
from typing import TYPE_CHECKING

import pytest
from fuzzed_commands import check_end, damaged, said
from golden_data import copy_archive

if TYPE_CHECKING:
    from pathlib import Path

ROUNDS = 3
IN_FOLDER = [
    ("recordings", "compact", "--yes"),
    ("recordings", "delete-orphaned", "--yes"),
    ("recordings", "checksum", "CRC-32", "--all", "--yes"),
    ("recordings", "upgrade", "--yes"),
    ("recordings", "mark-invalid", "1", "--yes"),
    ("verify", "--repair", "--yes"),
    ("recordings", "list"),
    ("recordings", "list", "--json"),
    ("recordings", "describe", "1"),
    ("recordings", "times", "1"),
    ("catalog", "sync", "--fingerprints"),
    ("catalog", "rebuild"),
    ("catalog", "tag", "1", "--set", "x=y"),
    ("catalog", "sql", "SELECT * FROM frames", "--json"),
    ("export", "--all"),
    ("export", "--all", "--decoder", "json", "--partition-by", "recording_id"),
    ("retention", "plan", "--everything", "--max-age", "1s"),
    ("retention", "apply", "--everything", "--max-count", "1", "--yes"),
    ("retention", "status"),
    ("retention", "hold", "1", "2", "--reason", "audit"),
    ("verify", "--json", "--note"),
    ("verify", "--repair", "--yes"),
    ("errors",),
    ("doctor", "--deep", "--interval", "0", "--aeron-dir", "/nonexistent"),
]
OF_TOOL = [
    ("describe-all",), ("describe", "1", "--json"), ("dump", "10"), ("errors",), ("pid",),
    ("verify", "-a"), ("checksum", "org.agrona.checksum.Crc32", "-a"), ("compact",),
    ("delete-orphaned-segments",), ("migrate",), ("mark-invalid", "1"),
]  # fmt: skip


def round_of(seed: str, archive: Path, home: Path) -> tuple[random.Random, Path, list[str]]:
    """A damaged folder, and the names of the files that are."""
    rng = random.Random(seed)
    shutil.rmtree(home, ignore_errors=True)
    folder = home / "archive"
    if rng.randrange(3):
        shutil.copytree(archive, folder)
    else:
        home.mkdir()
        copy_archive(folder)
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix != ".db"]
    chosen = rng.sample(files, rng.choice([1, 1, 2]))
    for path in chosen:
        path.write_bytes(damaged(rng, path.read_bytes()))
    if not rng.randrange(20):
        chosen[0].unlink()
        chosen[0].mkdir()
    return rng, folder, [path.name for path in chosen]


@pytest.mark.parametrize("command", IN_FOLDER, ids=" ".join)
def test_commands_in_a_folder(archive: Path, tmp_path: Path, command: tuple[str, ...]) -> None:
    for number in range(ROUNDS):
        seed = f"{command} {number}"
        _, folder, names = round_of(seed, archive, tmp_path / "home")
        to = ("--to", tmp_path / "home" / "out") if command[0] == "export" else ()
        check_end(*said(*command, *to, "--archive-dir", folder), (seed, names))


@pytest.mark.parametrize("command", OF_TOOL, ids=" ".join)
def test_the_archive_tool(
    archive: Path, tmp_path: Path, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(ROUNDS):
        monkeypatch.setattr("sys.stdin", io.StringIO("y\n" * 100))
        seed = f"{command} {number}"
        _, folder, names = round_of(seed, archive, tmp_path / "home")
        check_end(*said("archive-tool", folder, *command), (seed, names))


def test_files_are_explained(archive: Path, tmp_path: Path) -> None:
    for number in range(5 * ROUNDS):
        rng, folder, names = round_of(f"explain {number}", archive, tmp_path / "home")
        file = rng.choice([path for path in folder.rglob("*") if path.is_file()])
        check_end(*said("explain", file, "--limit", "0"), (number, file, names))
        check_end(*said("errors", "--file", file), (number, file, names))
