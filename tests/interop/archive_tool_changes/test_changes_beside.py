"""``checksum``, ``compact``, ``delete-orphaned-segments`` and ``mark-*`` beside the reference's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import damaged_segments as ds
import pytest
from archive_tool_beside import assert_same
from damaged_archives import cut, put, put_in_entry, without

if TYPE_CHECKING:
    from pathlib import Path

    from damaged_segments import Damage
    from peer.tool_runner import ToolRunner

pytestmark = [pytest.mark.interop, pytest.mark.usefixtures("reference")]

AT, LENGTH = ds.MIDDLE
LAST, _ = ds.LAST

COMMANDS = [
    "checksum CRC-32",
    "checksum CRC-32C -a",
    "checksum CRC-32 3",
    "checksum CRC-32 1 -a",
    "checksum CRC-32 -a 3",
    "checksum CRC-32 3 x",
    "checksum CRC-32 x",
    "checksum CRC-32 10",
    "checksum CRC-32 6",
    "checksum -a CRC-32",
    "checksum foo.Bar",
    "checksum",
    "compact",
    "compact x",
    "delete-orphaned-segments",
    "delete-orphaned-segments 9",
    "delete-orphaned-segments 9 x",
    "delete-orphaned-segments x",
    "delete-orphaned-segments 99",
    "mark-valid 10",
    "mark-valid 0",
    "mark-valid 6",
    "mark-invalid 0",
    "mark-invalid 10",
    "mark-invalid 6",
    "mark-invalid 99",
    "mark-invalid x",
    "mark-invalid",
]

CHECKSUM_DAMAGES: dict[str, Damage] = {
    "negative length": ds.length("0-0.rec", AT, -1280),
    "negative length of padding": ds.length("0-0.rec", AT, -100_000, kind=0),
    "too long": ds.length("0-0.rec", AT, 2_000_000),
    "too long padding": ds.length("0-0.rec", AT, 2_000_000, kind=0),
    "longest": ds.length("0-0.rec", AT, 2**31 - 1),
    "longest padding": ds.length("0-0.rec", AT, 2**31 - 1, kind=0),
    "shorter than a header": ds.length("0-0.rec", AT, 31),
    "cut in a body": ds.truncated("0-0.rec", LAST + 40),
    "cut in a header": ds.truncated("0-0.rec", LAST + 10),
    "cut between frames": ds.truncated("0-0.rec", LAST),
    "empty": ds.truncated("0-0.rec", 0),
    "missing": ds.removed("0-0.rec"),
    "folder": ds.folder_instead("0-0.rec"),
    "link": ds.link_instead("0-0.rec"),
    "no number": ds.added("0-abc.rec"),
    "no position": ds.added("0-.rec"),
    "negative position": ds.added("0--5.rec"),
    "no id": ds.added("foo-1.rec"),
    "bad term length": put_in_entry(0, "i", 96, 1000),
    "bad segment length": put_in_entry(0, "i", 92, 1000),
    "mtu of 33": put_in_entry(0, "i", 100, 33),
    "mtu of -1": put_in_entry(0, "i", 100, -1),
}

CATALOG_DAMAGES: dict[str, Damage] = {
    "missing": without("archive.catalog"),
    "short": cut("archive.catalog", 20),
    "empty": cut("archive.catalog", 0),
    "cut off": cut("archive.catalog", 600),
    "next id too small": put("archive.catalog", "q", 8, 5),
    "version 2": put("archive.catalog", "i", 0, 2 << 16),
    "id twice": put_in_entry(1, "q", 48, 0),
    "state 7": put_in_entry(0, "i", 4, 7),
    "entry of a negative length": put_in_entry(3, "i", 0, -96),
}

NAME_DAMAGES: dict[str, Damage] = {
    "no id": ds.added("foo-1.rec"),
    "odd names": ds.added("1-zz.rec", "1--5.rec", "1-.rec", "77-0.rec", "x.rec", "6-0.rec"),
    "behind the stop": ds.added("0-65536.rec", "0-131072.rec", "13-131072.rec"),
    "empty folder": lambda folder: (folder / "0-131072.rec").mkdir(),
    "folder": lambda folder: (folder / "0-131072.rec" / "x").mkdir(parents=True),
    "folder of a deleted one": lambda folder: (folder / "6-0.rec" / "x").mkdir(parents=True),
    "left over": ds.added("archive.catalog.compact"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_do_the_same_to_the_golden_folder(
    command: str, runner: ToolRunner, folder: Path
) -> None:
    if command not in {"checksum", "mark-invalid", "compact x"}:
        assert_same(runner, folder, command.split(), stdin="y\n")
        return
    done = runner.archive_tool(folder, *command.split())
    assert (done.code, done.err) == (255, "ERR: Invalid command\n")


@pytest.mark.parametrize("command", ["compact", "delete-orphaned-segments"])
@pytest.mark.parametrize("answer", ["n", "no", "x", " y", "YES", "", None])
def test_answers_mean_the_same(
    answer: str | None, command: str, runner: ToolRunner, folder: Path
) -> None:
    stdin = "" if answer is None else f"{answer}\n"
    assert_same(runner, folder, [command], stdin=stdin)


@pytest.mark.parametrize("arguments", ["CRC-32", "CRC-32C -a", "CRC-32 0", "CRC-32C 0 -a"])
@pytest.mark.parametrize("damage", CHECKSUM_DAMAGES)
def test_checksums_go_as_far_and_say_the_same(
    damage: str, arguments: str, runner: ToolRunner, folder: Path
) -> None:
    command = ["checksum", *arguments.split()]
    assert_same(runner, folder, command, damage=CHECKSUM_DAMAGES[damage])


@pytest.mark.parametrize(
    "command",
    [
        "compact",
        "delete-orphaned-segments",
        "delete-orphaned-segments 99",
        "mark-invalid 0",
        "checksum CRC-32",
        "checksum CRC-32 0",
        "verify 0",
    ],
)
@pytest.mark.parametrize("damage", CATALOG_DAMAGES)
def test_damaged_catalogs_are_refused_alike(
    damage: str, command: str, runner: ToolRunner, folder: Path
) -> None:
    assert_same(runner, folder, command.split(), damage=CATALOG_DAMAGES[damage], stdin="y\n")


@pytest.mark.parametrize("command", ["compact", "delete-orphaned-segments"])
@pytest.mark.parametrize("damage", NAME_DAMAGES)
def test_the_same_files_are_deleted(
    damage: str, command: str, runner: ToolRunner, folder: Path
) -> None:
    assert_same(runner, folder, [command], damage=NAME_DAMAGES[damage], stdin="y\n")


def test_commands_after_one_another_end_in_the_same_folder(
    runner: ToolRunner, folder: Path
) -> None:
    for command in (
        "mark-invalid 3",
        "compact",
        "delete-orphaned-segments",
        "checksum CRC-32C -a",
        "verify -a -checksum CRC-32C",
    ):
        done = assert_same(runner, folder, command.split(), stdin="y\n")
        assert done.code == 0
        copy = folder.with_name("copy")
        copy.rename(folder.with_name("next"))
        for path in folder.iterdir():
            path.unlink()
        for path in folder.with_name("next").iterdir():
            path.rename(folder / path.name)
        folder.with_name("next").rmdir()
