"""Damages drawn at random, and commands: both tools say the same and leave the same folder."""

from __future__ import annotations

import os
import struct
from random import Random
from typing import TYPE_CHECKING

import pytest
from archive_tool_beside import ALWAYS, assert_same
from damaged_archives import entry_offsets
from damaged_segments import frames

if TYPE_CHECKING:
    from pathlib import Path

    from peer.tool_runner import ToolRunner

pytestmark = [pytest.mark.interop, pytest.mark.usefixtures("reference")]

ROUNDS = 400 if os.environ.get("AEROLOG_LONG") else 60
FIRST_FRAMES = {"7-65536.rec": 4096}
FIELDS = {
    "q": {72: (0, 32, 64, 4096, 65536, 131072, -32, 5), 80: (-1, 0, 32, 65536, 200000, 5, 2**40)},
    "i": {4: (0, 1, 2, 3, -1), 8: (0, 5), 92: (65536, 1000, 0, -5), 96: (65536, 1 << 20, 1000, 0)},
}


def put(path: Path, at: int, form: str, value: int) -> None:
    data = bytearray(path.read_bytes())
    struct.pack_into(f"<{form}", data, at, value)
    path.write_bytes(data)


def damage_frame(random: Random, path: Path, *, lengths: bool) -> None:
    found = frames(path, FIRST_FRAMES.get(path.name, 0))
    if not found:
        return
    at, length = random.choice([*found[-3:], random.choice(found), found[0]])
    size = path.stat().st_size
    match random.randrange(0 if lengths else 2, 8):
        case 0 | 1:
            values = (-5, -1280, 0, 1, 31, 33, length + 32, length + 1, 5000, size - at, size)
            put(path, at, "i", random.choice(values))
        case 2:
            put(path, at + random.choice([8, 12, 16, 20]), "i", random.randrange(-100, 70000))
        case 3:
            put(path, at + 6, "H", random.choice([0, 1, 2, 5]))
        case 4:
            put(path, at + 32 + random.randrange(max(length - 32, 1)), "B", random.randrange(256))
        case 5:
            os.truncate(path, at + random.randrange(32, max(length, 33) + 1))
            os.truncate(path, size)
        case 6:
            data = bytearray(path.read_bytes())
            begin = at + 8 + random.randrange(length)
            end = min(begin + random.randrange(1, 5000), size)
            data[begin:end] = bytes(end - begin)
            path.write_bytes(data)
        case _:
            os.truncate(path, random.choice([at, at + 32, at + (length & ~3), 0, 4096]))


def damage_entry(random: Random, folder: Path) -> None:
    path = folder / "archive.catalog"
    form = random.choice("qi")
    at, values = random.choice(list(FIELDS[form].items()))
    put(path, random.choice(entry_offsets(path.read_bytes())) + at, form, random.choice(values))


def damage_name(random: Random, folder: Path, path: Path) -> None:
    recording = random.randrange(16)
    base = random.choice([0, 32, 65536, 131072, 262144])
    names = (f"{recording}-{base}.rec", f"{recording}-abc.rec", f"{recording}--5.rec", "77-0.rec")
    match random.randrange(3):
        case 0:
            path.unlink()
        case 1:
            path.rename(path.with_name(f"{path.name.partition('-')[0]}-{base}.rec"))
        case _:
            (folder / random.choice(names)).write_bytes(bytes(random.choice([0, 1000, 65536])))


def damaged(random: Random, folder: Path, *, lengths: bool) -> str | None:
    """Damage a folder; gives the recording whose frames were damaged.

    Of a frame beyond the end of its file the reference looks at what its buffer holds of the
    recording before it: it is asked for that recording alone then. And it ends with a fault of the
    process where it computes the checksum of a frame that is longer than its buffer: ``lengths``
    leaves them alone.
    """
    names = sorted(path.name for path in folder.glob("*.rec"))
    one = random.choice(names)
    match random.randrange(4):
        case 0 | 1:
            damage_frame(random, folder / one, lengths=lengths)
            return one.partition("-")[0]
        case 2:
            damage_entry(random, folder)
        case _:
            damage_name(random, folder, folder / one)
    return None


def command(random: Random, recording: str | None, *, checksum: bool) -> list[str]:
    chosen = recording or str(random.randrange(15))
    crc = ["-checksum", "CRC-32"] if checksum else []
    one = [["verify", chosen], ["verify", chosen, "-a"], ["verify", chosen, *crc]]
    one += [["verify", chosen, "-a", *crc], ["checksum", "CRC-32C", chosen, "-a"]]
    every = [["verify"], ["verify", "-a"], ["verify", "-a", *crc], ["checksum", "CRC-32"]]
    every += [["compact"], ["delete-orphaned-segments"], ["mark-invalid", chosen]]
    return random.choice(one if recording is not None else one + every)


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_whatever_is_damaged(seed: int, runner: ToolRunner, folder: Path) -> None:
    random = Random(seed)
    checksum = random.random() < 0.4
    recording = damaged(random, folder, lengths=not checksum)
    arguments = command(random, recording, checksum=checksum)
    assert_same(runner, folder, arguments, stdin=ALWAYS[random.choice("yn")])
