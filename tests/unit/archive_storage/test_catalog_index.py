"""The native index against a plain list."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from aerolog.archive.format.catalog_file import CatalogFile, CatalogReader
from aerolog.archive.format.descriptor import RecordingDescriptor
from aerolog.archive.format.layout import ENTRY_HEADER_LENGTH
from aerolog.archive.protocol.enums import RecordingState

if TYPE_CHECKING:
    from pathlib import Path

CHANNELS = ("aeron:ipc", "aeron:ipc?alias=one", "aeron:udp?endpoint=localhost:1", "")


def descriptor(session_id: int, stream_id: int, channel: str) -> RecordingDescriptor:
    return RecordingDescriptor(
        recording_id=0,
        start_timestamp=1,
        stop_timestamp=2,
        start_position=0,
        stop_position=0,
        initial_term_id=0,
        segment_file_length=64 * 1024,
        term_buffer_length=64 * 1024,
        mtu_length=1408,
        session_id=session_id,
        stream_id=stream_id,
        stripped_channel=channel,
        original_channel=channel,
        source_identity="aeron:ipc",
    )


def expected_last(
    known: dict[int, RecordingDescriptor], low: int, session: int, stream: int, part: str
) -> int:
    return max(
        (
            i
            for i, d in known.items()
            if i >= low
            and (d.session_id, d.stream_id) == (session, stream)
            and part in d.original_channel
        ),
        default=-1,
    )


@pytest.mark.parametrize("seed", range(5))
def test_the_index_agrees_with_a_plain_list(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    known: dict[int, RecordingDescriptor] = {}
    with CatalogFile.open(tmp_path) as catalog:
        for _ in range(300):
            choice = rng.random()
            if choice < 0.6 or not known:
                made = descriptor(rng.randrange(3), rng.randrange(3), rng.choice(CHANNELS))
                known[catalog.add_recording(made)] = made
            elif choice < 0.75:
                gone = rng.choice(list(known))
                catalog.change_state(
                    gone, rng.choice((RecordingState.INVALID, RecordingState.DELETED))
                )
                del known[gone]
            elif choice < 0.9:
                changed = rng.choice(list(known))
                channel = rng.choice(CHANNELS) + "|" + "x" * rng.randrange(300)
                known[changed] = known[changed].with_changes(original_channel=channel)
                catalog.replace_recording(known[changed].with_changes(recording_id=changed))
            else:
                extended = rng.choice(list(known))
                known[extended] = known[extended].with_changes(session_id=rng.randrange(3))
                catalog.extend_recording(extended, 1, 2, known[extended].session_id)
        with CatalogReader.open(tmp_path) as reader:
            for view in (catalog, reader):
                check(view, known, rng)


def check(catalog, known: dict[int, RecordingDescriptor], rng: random.Random) -> None:
    assert catalog.ids() == sorted(known)
    assert len(catalog) == len(known)
    for i, wanted in known.items():
        assert i in catalog
        assert catalog.descriptor(i).original_channel == wanted.original_channel
    for _ in range(50):
        low, limit = rng.randrange(-5, 310), rng.randrange(1, 400)
        session, stream, part = (
            rng.randrange(3),
            rng.randrange(3),
            rng.choice(("ipc", "one", "", "?")),
        )
        assert catalog.find_last(low, session, stream, part.encode()) == expected_last(
            known, low, session, stream, part
        )
        wanted = [i for i in sorted(known) if i >= low]
        looked_at = wanted[:limit]
        is_end = len(wanted) <= limit
        if not is_end:
            next_id = wanted[limit]
        elif len(looked_at) > 1:
            next_id = looked_at[-1] + 1
        else:
            next_id = low + len(looked_at)
        assert catalog.matching(low, limit) == (looked_at, next_id, is_end)
        found = [
            i
            for i in looked_at
            if known[i].stream_id == stream and part in known[i].original_channel
        ]
        assert catalog.matching(low, limit, stream, part.encode()) == (found, next_id, is_end)


@pytest.mark.parametrize("length", [-1, 2**31 - 1, 100_000, 600])
def test_a_channel_longer_than_its_entry_matches_nothing(tmp_path: Path, length: int) -> None:
    with CatalogFile.open(tmp_path, capacity=1024) as catalog:
        catalog.add_recording(descriptor(1, 2, "aeron:ipc"))
        catalog.add_recording(descriptor(1, 2, "aeron:ipc?alias=z"))
        at = catalog.entry(0).offset + ENTRY_HEADER_LENGTH + 80
        for place in (at, at + 4 + len("aeron:ipc")):
            view = catalog._view(place, place + 4)
            stored = bytes(view)
            view[:] = length.to_bytes(4, "little", signed=True)
            assert catalog.find_last(0, 1, 2, b"no such channel") == -1
            assert catalog.matching(0, 10, 2, b"alias=z")[0] == [1]
            view[:] = stored


@pytest.mark.parametrize("recording_id", [-1, -(2**63), 2**63 - 1, 2**63, 2**200])
def test_ids_that_no_recording_can_have_are_not_found(tmp_path: Path, recording_id: int) -> None:
    with CatalogFile.open(tmp_path) as catalog:
        catalog.add_recording(descriptor(1, 2, "aeron:ipc"))
        assert recording_id not in catalog


def test_an_id_below_the_last_one_is_refused(tmp_path: Path) -> None:
    with CatalogFile.open(tmp_path) as catalog:
        catalog.add_recording(descriptor(1, 2, "aeron:ipc"))
        with pytest.raises(ValueError, match="recording id 0 is not above 0"):
            catalog._entries.add(0, 64, 1, 2)


def test_a_walk_gives_its_pages_back_and_finds_them_again(tmp_path: Path) -> None:
    long = "aeron:ipc?alias=" + "x" * 3000
    with CatalogFile.open(tmp_path) as catalog:
        for index in range(12_000):  # more than two of the walk's steps of 16 MiB
            catalog.add_recording(descriptor(index, 7, long))
        assert catalog.end_offset > 36 << 20
    with CatalogFile.open(tmp_path) as catalog:
        assert len(catalog) == 12_000
        assert catalog.refresh(1) == []
        assert all(catalog.descriptor(i).session_id == i for i in range(0, 12_000, 997))
        assert catalog.find_last(0, 3, 7, b"x" * 3000) == 3


def test_an_entry_that_outgrows_the_file_makes_it_longer(tmp_path: Path) -> None:
    long = "aeron:ipc?alias=" + "x" * 4000
    with CatalogFile.open(tmp_path, capacity=1024) as catalog:
        for index in range(3):
            catalog.add_recording(descriptor(index, 7, "aeron:ipc"))
        with CatalogReader.open(tmp_path) as reader:
            changed = catalog.descriptor(1).with_changes(original_channel=long)
            catalog.replace_recording(changed)
            assert catalog.capacity > 4000
            for view in (catalog, reader):
                assert [view.descriptor(i).session_id for i in range(3)] == [0, 1, 2]
                assert view.descriptor(1).original_channel == long
        assert catalog.add_recording(descriptor(3, 7, "aeron:ipc")) == 3
    with CatalogFile.open(tmp_path) as catalog:
        assert [d.session_id for d in catalog.descriptors()] == [0, 1, 2, 3]
