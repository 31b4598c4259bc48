"""``verify --repair``, whatever the damage: what was published and is sound is there afterwards."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest
from preservation import content_of, missing

from aerolog.archive.format.checksum import checksum_for
from aerolog.testing.recordings import RecordingBuilder
from aerolog.tools.main import main

if TYPE_CHECKING:
    from pathlib import Path

TERM = 65536
FRAME = 1056
SEGMENT = 2 * TERM


@pytest.fixture(params=[None, "CRC-32C"], ids=["plain", "checksums"])
def published(tmp_path: Path, request) -> dict[int, dict[int, bytes]]:
    """A recording of five terms in three segments, with messages that are all different."""
    builder = RecordingBuilder(
        segment_length=SEGMENT, checksum=checksum_for(request.param) if request.param else None
    )
    messages = {}
    for number in range(300):
        payload = number.to_bytes(4, "little") + bytes([number % 251 + 1]) * 1020
        end = builder.add(payload)
        messages[end - FRAME] = payload
    builder.write(tmp_path)
    return {0: messages}


def zeros(folder: Path, at: int, length: int) -> None:
    overwrite(folder, at, bytes(length))


def overwrite(folder: Path, at: int, data: bytes) -> None:
    with (folder / f"0-{at // SEGMENT * SEGMENT}.rec").open("r+b") as file:
        file.seek(at % SEGMENT)
        file.write(data)


DAMAGES = {
    "zeros in the first segment": lambda folder: zeros(folder, 20 * FRAME, 10_000),
    "zeros in the last segment, sound terms behind": lambda folder: zeros(
        folder, 2 * SEGMENT - TERM - 9000, 5000
    ),
    "zeros up to the end": lambda folder: zeros(folder, 2 * SEGMENT + 10 * FRAME, TERM),
    "the first frame": lambda folder: zeros(folder, 0, 32),
    "one byte of a message": lambda folder: overwrite(folder, 70 * FRAME + 3000, b"!"),
    "a type": lambda folder: overwrite(folder, SEGMENT + 5 * FRAME + 6, b"\x09"),
    "a length": lambda folder: overwrite(folder, SEGMENT + 7 * FRAME, b"\xff\xff\xff\x7f"),
    "a missing first segment": lambda folder: (folder / "0-0.rec").unlink(),
    "a missing middle segment": lambda folder: (folder / f"0-{SEGMENT}.rec").unlink(),
    "a missing last segment": lambda folder: (folder / f"0-{2 * SEGMENT}.rec").unlink(),
}


@pytest.mark.parametrize("way", ["pad", "copy", "mark"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_no_message_is_lost_that_could_be_read(tmp_path, published, damage, way) -> None:
    DAMAGES[damage](tmp_path)
    before = content_of(tmp_path).recordings[0]
    sound = {0: {at: data for at, data in published[0].items() if before.get(at) == data}}
    assert 0 < len(sound[0]) < 300 or damage == "zeros up to the end"
    main(["verify", "0", "--archive-dir", str(tmp_path), "--repair", "--yes", "--by", way])
    now = content_of(tmp_path)
    assert missing(sound, now, moved={0: 1}) == []
    if way == "mark" and 0 not in now.recordings:
        return
    readable = now.recordings[1 if 1 in now.recordings else 0]
    assert {at: readable.get(at) for at in sound[0]} == sound[0]


@pytest.mark.parametrize("seed", range(12))
def test_several_damages_cost_nothing_else(tmp_path, published, seed) -> None:
    random = Random(seed)
    for _ in range(random.randint(1, 5)):
        at = random.randrange(300 * FRAME - 200)
        at = min(at, at // SEGMENT * SEGMENT + SEGMENT - 3000)
        overwrite(tmp_path, at, random.randbytes(random.choice((1, 40, 3000))))
    before = content_of(tmp_path).recordings[0]
    sound = {0: {at: data for at, data in published[0].items() if before.get(at) == data}}
    main(["verify", "0", "--archive-dir", str(tmp_path), "--repair", "--yes"])
    readable = content_of(tmp_path).recordings[0]
    assert {at: readable.get(at) for at in sound[0]} == sound[0]
