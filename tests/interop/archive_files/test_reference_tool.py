"""The reference's ArchiveTool on folders of ours: it agrees with what we wrote and recover."""

from __future__ import annotations

import re
import shutil
from random import Random
from typing import TYPE_CHECKING

import peer
import pytest

from aerolog.archive.format.archive_folder import ArchiveFolder, ScanTotals
from aerolog.archive.format.catalog_file import CatalogFile
from aerolog.archive.format.catalog_map import CatalogReader
from aerolog.archive.format.checksum import checksum_for
from aerolog.testing.recordings import RecordingBuilder

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.interop, pytest.mark.usefixtures("reference")]

ALWAYS_YES = "y\n" * 500_000  # every prompt swallows what its reader can take
CHECKSUMS = ("CRC-32", "CRC-32C")


def filled(builder: RecordingBuilder, seed: int, count: int = 150) -> RecordingBuilder:
    random = Random(seed)
    for _ in range(count):
        builder.add(random.randbytes(random.choice([0, 1, 500, 1376, 1377, 5000])))
    return builder


def test_verify_finds_our_catalog_and_segments_sound(tmp_path: Path) -> None:
    for seed, start_position in enumerate((0, 64, 4096, 69632)):
        for segment_length in (64 * 1024, 256 * 1024):
            builder = RecordingBuilder(start_position=start_position, segment_length=segment_length)
            filled(builder, seed).write(tmp_path)
    said = peer.archive_tool(tmp_path, "verify", "-a")
    assert [f"(recordingId={i}) OK" for i in range(8)] == said.split("\n")[:8]
    assert "ERR" not in said


@pytest.mark.parametrize("name", CHECKSUMS)
def test_verify_finds_our_checksums_right(tmp_path: Path, name: str) -> None:
    for seed in range(3):
        builder = RecordingBuilder(checksum=checksum_for(name), segment_length=128 * 1024)
        filled(builder, seed).write(tmp_path)
    said = peer.archive_tool(tmp_path, "verify", "-a", "-checksum", name)
    assert said.count(") OK") == 3, said
    assert "ERR" not in said


@pytest.mark.parametrize("name", CHECKSUMS)
def test_checksums_that_the_tool_computes_are_recognised(tmp_path: Path, name: str) -> None:
    filled(RecordingBuilder(session_id=99), 5).write(tmp_path)
    with ArchiveFolder(tmp_path) as folder:
        before = list(folder.recording(0).messages())
    peer.archive_tool(tmp_path, "checksum", name, "-a")
    totals = ScanTotals(0)
    with ArchiveFolder(tmp_path) as folder:
        assert list(folder.recording(0).messages(totals=totals)) == before
    assert totals.checksum_mismatches == 0


def test_compacting_keeps_what_we_read(tmp_path: Path) -> None:
    for seed in range(4):
        filled(RecordingBuilder(stream_id=seed), seed, 20).write(tmp_path)
    peer.archive_tool(tmp_path, "mark-invalid", "1")
    peer.archive_tool(tmp_path, "compact", stdin=ALWAYS_YES)
    with CatalogReader.open(tmp_path) as catalog:
        assert [entry.descriptor.recording_id for entry in catalog.entries()] == [0, 2, 3]
        assert catalog.next_recording_id == 4
    with CatalogFile.open(tmp_path) as catalog:
        assert catalog.add_recording(RecordingBuilder().descriptor()) == 4
    described = peer.archive_tool(tmp_path, "describe", "4")
    assert "recordingId=4|" in described


def damage_last_frame(path: Path, begin: int, end: int, random: Random) -> None:
    """Zero a part of a segment's last frame, often by pages as a crash would."""
    content = bytearray(path.read_bytes())
    pages = [at for at in range(begin // 4096 * 4096, end, 4096) if at > begin]
    first = random.choice([*pages, begin + 32, random.randrange(begin + 32, end)])
    last = random.choice([end, end, random.randrange(first, end) + 1, first])
    content[first:last] = bytes(max(last - first, 0))
    if random.random() < 0.3 and end - 1 > begin + 32:
        content[random.randrange(begin + 32, end)] = 7
    path.write_bytes(content)


def test_damaged_tails_are_recovered_to_the_position_that_the_tool_gives(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    ours.mkdir()
    random = Random(20261121)
    for _ in range(120):
        builder = RecordingBuilder(
            start_position=random.choice([0, 64, 96, 4096, 8160]), mtu_length=16 * 1024
        )
        for _ in range(random.randrange(1, 4)):
            builder.add(random.randbytes(random.randrange(0, 3000)))
        begin = builder.position
        builder.add(random.randbytes(random.randrange(1, 14_000)))
        recording_id = builder.write(ours, stopped=False)
        damage_last_frame(ours / f"{recording_id}-0.rec", begin, builder.position, random)
    shutil.copytree(ours, theirs)
    said = peer.archive_tool(theirs, "verify", stdin=ALWAYS_YES, timeout=120)
    questions = len(re.findall("straddles a page boundary", said))
    with CatalogFile.open(ours) as catalog:
        recovered = {r.recording_id: r.stop for r in catalog.refresh(1)}
    with CatalogReader.open(theirs) as catalog:
        expected = {i: catalog.descriptor(i).stop_position for i in catalog.ids()}
    assert len(expected) == 120
    assert {i: stop.position for i, stop in recovered.items()} == expected
    assert sum(stop.unverified is not None for stop in recovered.values()) == questions > 5
