"""``verify --classic`` beside the reference's, on sound folders and on damaged ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import damaged_segments as ds
import peer
import pytest
from archive_tool_beside import ALWAYS, assert_same, run_ours
from damaged_archives import cut, put, put_in_entry, without

if TYPE_CHECKING:
    from pathlib import Path

    from damaged_segments import Damage
    from peer.tool_runner import ToolRunner

pytestmark = [pytest.mark.interop, pytest.mark.usefixtures("reference")]

AT, LENGTH = ds.MIDDLE
LAST, LAST_LENGTH = ds.LAST
FIELD = {"start": 72, "stop": 80, "initial": 88, "segment": 92, "term": 96, "mtu": 100, "id": 48}

ARGUMENTS = [
    "",
    "-a",
    "3",
    "+3",
    "3 -a",
    "3 foo",
    "-checksum CRC-32",
    "-a -checksum CRC-32",
    "11 -checksum CRC-32",
    "11 -a -checksum CRC-32",
    "11 -a -checksum CRC-32C",
    "11 -checksum io.aeron.archive.checksum.Crc32",
    "12 -a -checksum org.agrona.checksum.Crc32",
    "3 x CRC-32",
    "6",
    "99",
    "-1",
    "x",
    "-checksum",
    "-checksum CRC-32 -a",
    "-a CRC-32",
    "-a -a -a",
    "3 -checksum foo.Bar",
    "99 -checksum crc-32",
]

DAMAGES: dict[str, Damage] = {
    "negative frame length": ds.length("0-0.rec", AT, -1280),
    "little negative frame length": ds.length("0-0.rec", AT, -5),
    "frame length less than a header": ds.length("0-0.rec", AT, 5),
    "last frame shorter than a header": ds.length("0-0.rec", LAST, 31),
    "frame length zero": ds.length("0-0.rec", AT, 0),
    "frame beyond the segment": ds.length("0-0.rec", AT, 70_000),
    "frame beyond the reference's buffer": ds.length("0-0.rec", AT, 2_000_000),
    "frame as long as the reference's buffer": ds.length("0-0.rec", AT, (1 << 20) + 32),
    "longest frame length": ds.length("0-0.rec", AT, 2**31 - 1),
    "longest aligned frame length": ds.length("0-0.rec", AT, 2**31 - 32),
    "wrong term offset": ds.length("0-0.rec", AT + 8, 64),
    "wrong stream id": ds.length("0-0.rec", AT + 16, 64),
    "wrong term id": ds.length("0-0.rec", AT + 20, 64),
    "unknown frame type": ds.length("0-0.rec", AT, LENGTH, kind=5),
    "damaged payload": ds.write("11-0.rec", 40, b"x"),
    "cut inside the last body": ds.truncated("0-0.rec", LAST + 40),
    "cut inside the last header": ds.truncated("0-0.rec", LAST + 10),
    "cut inside a length": ds.truncated("0-0.rec", LAST + 2),
    "cut inside a header": ds.truncated("0-0.rec", AT + 10),
    "cut between frames": ds.truncated("0-0.rec", LAST),
    "cut at the end of data": ds.truncated("0-0.rec", 12032),
    "empty segment": ds.truncated("0-0.rec", 0),
    "longer segment": ds.truncated("0-0.rec", 65536 * 2),
    "last frame without its second page": ds.zeros_from("14-0.rec", 8192),
    "first page of the last frame without its end": ds.zeros_from("14-0.rec", 8000),
    "folder for a segment": ds.folder_instead("0-0.rec"),
    "link for a segment": ds.link_instead("0-0.rec"),
    "folder for a first segment": ds.folder_instead("1-0.rec"),
    "link for a first segment": ds.link_instead("1-0.rec"),
    "no segments": ds.removed("1-0.rec", "1-65536.rec", "1-131072.rec"),
    "no last segment, stopped": ds.removed("1-131072.rec"),
    "no last segment, active": ds.removed("13-65536.rec"),
    "no first segment": ds.removed("1-0.rec"),
    "position that is no number": ds.added("13-abc.rec"),
    "no position": ds.added("0-.rec"),
    "negative position": ds.added("0--5.rec"),
    "signed position": ds.added("0-+5.rec"),
    "position beyond 64 bits": ds.added("0-99999999999999999999.rec"),
    "two positions": ds.added("0-1-2.rec"),
    "odd position": ds.added("0-5.rec"),
    "zeros before the position": ds.renamed("0-0.rec", "0-007.rec"),
    "highest position": ds.renamed("0-0.rec", "0-9223372036854775807.rec"),
    "high position": ds.renamed("0-0.rec", f"0-{2**62}.rec"),
    "zeros before the id": ds.added("00-65536.rec"),
    "id that is no number": ds.added("foo-1.rec"),
    "id beyond 64 bits": ds.added("9999999999999999999999-0.rec"),
    "names of no segment": ds.added("x.rec", "-1.rec", "0-7.rec.del", "0-7.REC", "77-0.rec"),
    "negative start": put_in_entry(0, "q", FIELD["start"], -64),
    "odd start": put_in_entry(0, "q", FIELD["start"], 5),
    "start behind the stop": put_in_entry(0, "q", FIELD["start"], 65536),
    "odd stop": put_in_entry(0, "q", FIELD["stop"], 12033),
    "stop set back": put_in_entry(0, "q", FIELD["stop"], 32),
    "stop beyond": put_in_entry(0, "q", FIELD["stop"], 2**40),
    "no stop": put_in_entry(0, "q", FIELD["stop"], -1),
    "wrong initial term id": put_in_entry(0, "i", FIELD["initial"], 7),
    "term of 1000": put_in_entry(0, "i", FIELD["term"], 1000),
    "term of 0": put_in_entry(0, "i", FIELD["term"], 0),
    "negative term": put_in_entry(0, "i", FIELD["term"], -65536),
    "segment of 1000": put_in_entry(0, "i", FIELD["segment"], 1000),
    "segment just beyond the stop": put_in_entry(0, "i", FIELD["segment"], 12033),
    "negative segment": put_in_entry(0, "i", FIELD["segment"], -65536),
    "state 7": put_in_entry(0, "i", 4, 7),
    "valid without segments": put_in_entry(6, "i", 4, 1),
    "id twice": put_in_entry(1, "q", FIELD["id"], 0),
    "entry of 40 bytes": put_in_entry(14, "i", 0, 40),
    "entry of the greatest length": put_in_entry(3, "i", 0, 2**31 - 1),
    "entry of a negative length": put_in_entry(3, "i", 0, -40),
    "next id too small": put("archive.catalog", "q", 8, 5),
    "version 2": put("archive.catalog", "i", 0, 2 << 16),
    "no alignment": put("archive.catalog", "i", 16, 0),
    "odd alignment": put("archive.catalog", "i", 16, 5),
    "catalog cut in an entry": cut("archive.catalog", 600),
    "catalog cut in its header": cut("archive.catalog", 20),
    "empty catalog": cut("archive.catalog", 0),
    "no catalog": without("archive.catalog"),
}


@pytest.mark.parametrize("arguments", ARGUMENTS)
def test_arguments_mean_what_they_mean_to_the_reference(
    arguments: str, runner: ToolRunner, folder: Path
) -> None:
    assert_same(runner, folder, ["verify", *arguments.split()], stdin=ALWAYS["n"])


@pytest.mark.parametrize("arguments", [["", "-a"], ["3", "-checksum", " "], ["-checksum", ""]])
def test_blank_arguments_are_refused_alike(
    arguments: list[str], runner: ToolRunner, folder: Path
) -> None:
    assert assert_same(runner, folder, ["verify", *arguments]).code == 1


@pytest.mark.parametrize("damage", DAMAGES)
def test_damages_are_found_alike_and_leave_the_same_folder(
    damage: str, runner: ToolRunner, folder: Path
) -> None:
    assert_same(runner, folder, ["verify", "-a"], damage=DAMAGES[damage], stdin=ALWAYS["n"])


@pytest.mark.parametrize("answer", ["y", "n"])
@pytest.mark.parametrize("arguments", ["", "14", "14 -a"])
def test_a_last_frame_in_doubt_is_asked_about_and_cut_or_kept(
    answer: str, arguments: str, runner: ToolRunner, folder: Path
) -> None:
    done = assert_same(
        runner,
        folder,
        ["verify", *arguments.split()],
        damage=ds.zeros_from("14-0.rec", 8192),
        stdin=ALWAYS[answer],
    )
    assert "straddles a page boundary" in done.out
    assert len(done.files["14-0.rec"]) == 65536


@pytest.mark.parametrize("name", ["./copy", "../archive-of-others/../copy"])
def test_a_relative_folder_is_named_as_it_is_given(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ds.zeros_from("14-0.rec", 8192)(folder)
    ds.length("3-0.rec", 8, 77)(folder)
    folder.rename(folder.with_name("copy"))
    folder.with_name("archive-of-others").mkdir()
    where = folder.parent if not name.startswith("..") else folder.with_name("archive-of-others")
    monkeypatch.chdir(where)
    # A process of its own: the working directory is the process's.
    theirs = peer.archive_tool(name, "verify", "-a", stdin=ALWAYS["n"], check=False)
    ours = run_ours(name, "verify", "-a", stdin=ALWAYS["n"])
    assert ours.out == theirs


def test_a_question_without_an_answer_is_a_fault_of_that_recording(
    runner: ToolRunner, folder: Path
) -> None:
    done = assert_same(
        runner, folder, ["verify", "14"], damage=ds.zeros_from("14-0.rec", 8192), stdin=""
    )
    assert "(recordingId=14) ERR: No line found\n" in done.out
    assert done.code == 255


def test_what_the_golden_folder_needs_is_put_right(runner: ToolRunner, folder: Path) -> None:
    done = assert_same(runner, folder, ["verify"], stdin="")
    assert done.code == 0
    assert done.out.splitlines()[6] == "(recordingId=6) skipping: DELETED"
    again = assert_same(runner, folder, ["verify", "-a"], stdin="")
    assert (again.code, again.out) == (0, done.out)
