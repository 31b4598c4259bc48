"""``verify --repair``, whatever the damage: what was published and is sound is there afterwards."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest
from crash_ledger import Log
from preservation import content_of, missing

from aerolog.archive.format.archive_folder import ArchiveFolder
from aerolog.archive.format.checksum import checksum_for
from aerolog.archive.verification.damage_survey import survey
from aerolog.archive.verification.recording_verification import verify_opened
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


def composed(folder: Path, random: Random) -> dict[int, bytes]:
    """A recording with fragmented messages that may be extended, purged and end with a term."""
    checksum = random.choice((None, "CRC-32C"))
    log = Log(
        segment_length=random.choice((TERM, SEGMENT)),
        start_position=random.choice((0, 4096, 3 * TERM)),
        stream_id=7,
        checksum=checksum_for(checksum) if checksum else None,
    )
    lengths = random.choice(((1000,), (1, 40, 200), (3000, 9000), (1, 1376, 20_000)))
    end = log.start_position + random.choice((TERM, 3 * TERM, 5 * TERM)) - random.choice((0, 9000))
    extended = random.choice((end, (log.start_position + end) // 2))
    while log.position < end:
        if log.position >= extended:
            log.session_id = 99
        log.add(len(log.messages).to_bytes(4, "little") + random.randbytes(random.choice(lengths)))
    log.write(folder)
    return dict(zip(log.begins, log.messages, strict=True))


def spoil(folder: Path, random: Random) -> None:
    """Damage a segment at one of its ends, at a term's border, in a header or anywhere."""
    path = random.choice(sorted(folder.glob("0-*.rec")))
    data = path.read_bytes().rstrip(b"\0")
    border = random.randrange(1, 3) * TERM
    anywhere = random.randrange(max(len(data), 1))
    ends = (0, max(len(data) - 40, 0), max(len(data) - 3000, 0))
    at = random.choice((*ends, border - 100, border, anywhere, anywhere // 32 * 32))
    length = min(random.choice((1, 4, 32, 500, 5000, TERM)), path.stat().st_size - at)
    if length <= 0 or random.random() < 0.1:
        path.unlink()
        return
    with path.open("r+b") as file:
        file.seek(at)
        file.write(random.choice((bytes(length), random.randbytes(length), b"\xff" * length)))


@pytest.mark.parametrize("way", ["pad", "copy", "mark"])
@pytest.mark.parametrize("seed", range(10))
def test_damage_at_borders_and_in_fragments_costs_nothing_else(tmp_path, seed, way) -> None:
    random = Random(seed)
    messages = composed(tmp_path, random)
    assert content_of(tmp_path).recordings[0] == messages
    for _ in range(random.choice((1, 1, 2, 4))):
        if list(tmp_path.glob("0-*.rec")):
            spoil(tmp_path, random)
    before = content_of(tmp_path).recordings[0]
    with ArchiveFolder(tmp_path) as folder:
        survived = survey(folder.recording(0), verify_opened(folder.recording(0)))
    damage = [(gap.from_position, gap.until_position) for gap in survived.gaps]
    sound = {
        at: data
        for at, data in messages.items()
        # A wrong checksum is damage, which only the verifier sees; the plan names it.
        if before.get(at) == data and not any(a < at + len(data) + 32 and at < b for a, b in damage)
    }
    for begin, until in damage:  # nothing else is damage
        lost = [at for at in messages if begin <= at and at + len(messages[at]) + 32 <= until]
        assert not [at for at in lost if before.get(at) == messages[at]] or survived.doubtful
    main(["verify", "0", "--archive-dir", str(tmp_path), "--repair", "--yes", "--by", way])
    now = content_of(tmp_path)
    assert missing({0: sound}, now, moved={0: 1}) == []
    if way == "mark" and 0 not in now.recordings:
        return
    readable = now.recordings[1 if 1 in now.recordings else 0]
    assert {at: readable.get(at) for at in sound} == sound


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
