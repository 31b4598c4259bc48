"""Offsets of a stream: never in the middle of a message, never twice, never silently less."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from aerolog.archive.format.catalog_file import CatalogFile
from aerolog.archive.format.layout import MAX_I64
from aerolog.archive.protocol.enums import RecordingState
from aerolog.catalog.spark.errors import DataLostError
from aerolog.catalog.spark.offsets import Offset, Progress, from_spark, to_spark
from aerolog.catalog.spark.options import parse_options
from aerolog.catalog.spark.partitions import split_ranges
from aerolog.catalog.spark.range_rows import RowSource
from aerolog.catalog.spark.stream_progress import Limits, OffsetReader
from aerolog.testing.recordings import RecordingBuilder
from aerolog.transport.errors import ConfigurationError, RecordingDamagedError

if TYPE_CHECKING:
    from pathlib import Path

TERM = 64 * 1024


class Growing:
    """A recording that nobody stopped, in a folder, whose file grows."""

    def __init__(self, folder: Path, **options: int) -> None:
        self.folder = folder
        self.builder = RecordingBuilder(segment_length=TERM, **options)
        self.recording_id = self.builder.write(folder, stopped=False)

    def add(self, *payloads: bytes) -> None:
        for payload in payloads:
            self.builder.add(payload)
        self.show(len(self.builder.data))

    def show(self, length: int) -> None:
        """Let so many bytes be on the disk."""
        for base in range(0, length, TERM):
            data = bytes(self.builder.data[base : min(base + TERM, length)])
            path = self.folder / f"{self.recording_id}-{base}.rec"
            path.write_bytes(data.ljust(TERM, b"\0"))

    def stop(self) -> None:
        with CatalogFile.open(self.folder) as catalog:
            catalog.recording_stopped(self.recording_id, self.builder.position, 1)


@pytest.fixture
def growing(tmp_path: Path) -> Growing:
    return Growing(tmp_path)


def follower(folder: Path, **options: str) -> OffsetReader:
    return OffsetReader(parse_options({"archive": str(folder), **options}))


def read(follow: OffsetReader, start: Offset, end: Offset) -> list[bytes]:
    """What a micro-batch gives."""
    parts = split_ranges(follow.options, follow.ranges(start, end))
    return [
        payload
        for ranges in parts
        for batch in RowSource(follow.options).batches(ranges)
        for payload in batch.column("payload").to_pylist()
    ]


def test_each_batch_gives_what_came_since(growing: Growing) -> None:
    follow = follower(growing.folder)
    growing.add(b"a", b"b")
    first = follow.latest({}, Limits())
    assert read(follow, {}, first) == [b"a", b"b"]
    assert follow.latest(first, Limits()) == first
    growing.add(b"c")
    second = follow.latest(first, Limits())
    assert read(follow, first, second) == [b"c"]
    assert read(follow, {}, second) == [b"a", b"b", b"c"]


def test_a_message_that_is_half_recorded_waits_for_its_end(growing: Growing) -> None:
    follow = follower(growing.folder)
    growing.add(b"a")
    whole = len(growing.builder.data)
    growing.builder.add(b"y" * 5000)
    growing.show(whole + 1408)  # its first fragment
    first = follow.latest({}, Limits())
    assert read(follow, {}, first) == [b"a"]
    growing.show(len(growing.builder.data))
    second = follow.latest(first, Limits())
    assert read(follow, first, second) == [b"y" * 5000]


def test_a_half_message_at_the_begin_of_a_term_waits_too(growing: Growing) -> None:
    follow = follower(growing.folder)
    growing.add(b"a")
    growing.builder.pad()
    whole = len(growing.builder.data)
    growing.builder.add(b"y" * 5000)
    growing.show(whole + 1408)
    first = follow.latest({}, Limits())
    assert read(follow, {}, first) == [b"a"]
    growing.show(len(growing.builder.data))
    assert read(follow, first, follow.latest(first, Limits())) == [b"y" * 5000]


@pytest.mark.parametrize("limits", [Limits(rows=7), Limits(bytes=2000), Limits(7, 2000)])
def test_limited_batches_give_every_message_once(growing: Growing, limits: Limits) -> None:
    follow = follower(growing.folder)
    sent = [b"%d" % index * (index % 90) for index in range(100)]
    growing.add(*sent)
    other = Growing(growing.folder, stream_id=11)
    other.add(*sent)
    at: Offset = {}
    given: list[bytes] = []
    for _ in range(200):
        end = follow.latest(at, limits)
        if end == at:
            break
        batch = read(follow, at, end)
        assert len(batch) >= 1
        assert len(batch) <= limits.rows
        given += batch
        at = end
    assert sorted(given) == sorted(sent + sent)


def test_a_message_longer_than_the_limit_gets_through(growing: Growing) -> None:
    follow = follower(growing.folder)
    growing.add(b"z" * 20_000, b"b")
    end = follow.latest({}, Limits(bytes=100))
    assert read(follow, {}, end) == [b"z" * 20_000]


def test_recordings_that_come_later_are_followed_from_their_start(growing: Growing) -> None:
    follow = follower(growing.folder)
    growing.add(b"a")
    first = follow.latest({}, Limits())
    Growing(growing.folder, stream_id=11).add(b"other")
    second = follow.latest(first, Limits())
    assert read(follow, first, second) == [b"other"]


def test_a_target_is_not_passed_whatever_comes(growing: Growing) -> None:
    follow = follower(growing.folder)
    growing.add(b"a", b"b")
    target = follow.latest({}, Limits())
    growing.add(b"c")
    Growing(growing.folder, stream_id=11).add(b"other")
    first = follow.latest({}, Limits(rows=1), target)
    second = follow.latest(first, Limits(rows=1), target)
    assert read(follow, {}, second) == [b"a", b"b"]
    assert follow.latest(second, Limits(rows=1), target) == second


def test_offsets_survive_the_checkpoint(growing: Growing) -> None:
    growing.add(b"a")
    offset = follower(growing.folder).latest({}, Limits())
    assert from_spark(to_spark(offset)) == offset
    assert to_spark(offset) == {
        str(growing.folder): {"0": {"start": 0, "position": 64, "ended": False}}
    }


@pytest.mark.parametrize("foreign", [{"0": 7}, {"a": {"x": {}}}, {"a": {"1": {"start": None}}}])
def test_a_foreign_checkpoint_is_refused(foreign: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError, match="checkpoint's offset is not one of recordings"):
        from_spark(foreign)


def purge(growing: Growing, position: int) -> None:
    with CatalogFile.open(growing.folder) as catalog:
        catalog.update_start_position(growing.recording_id, position)
    for base in range(0, position, TERM):
        (growing.folder / f"{growing.recording_id}-{base}.rec").unlink()


def test_what_was_read_may_be_purged(growing: Growing) -> None:
    follow = follower(growing.folder)
    growing.add(*[b"x" * 1000] * 70)
    first = follow.latest({}, Limits())
    growing.add(b"more")
    purge(growing, TERM)
    assert read(follow, first, follow.latest(first, Limits())) == [b"more"]


def test_what_is_purged_before_it_was_read_fails_the_stream(growing: Growing) -> None:
    follow = follower(growing.folder)
    growing.add(*[b"x" * 1000] * 70)
    first = follow.latest({}, Limits(rows=3))
    end = follow.latest(first, Limits())
    purge(growing, TERM)
    for action in (lambda: follow.latest(first, Limits()), lambda: follow.ranges(first, end)):
        with pytest.raises(DataLostError, match=rf"recording 0 from position \d+ to {TERM}"):
            action()
    lenient = follower(growing.folder, failOnDataLoss="false")
    assert len(read(lenient, first, lenient.latest(first, Limits()))) == 70 - TERM // 1056
    assert lenient.ranges(first, end)[0].from_position == TERM


def test_a_recording_that_is_gone_fails_unless_all_of_it_was_read(growing: Growing) -> None:
    follow = follower(growing.folder)
    growing.add(b"a", b"b")
    part = follow.latest({}, Limits(rows=1))
    growing.stop()
    whole = follow.latest(part, Limits())
    assert whole[str(growing.folder), 0] == Progress(0, 128, ended=True)
    with CatalogFile.open(growing.folder) as catalog:
        catalog.change_state(0, RecordingState.INVALID)
    assert follow.latest(whole, Limits()) == whole
    with pytest.raises(DataLostError, match="recording 0 from position 64"):
        follow.latest(part, Limits())
    with pytest.raises(DataLostError, match="the recording is gone"):
        follow.ranges(part, whole)
    lenient = follower(growing.folder, failOnDataLoss="false")
    assert lenient.latest(part, Limits()) == part
    assert lenient.ranges(part, whole) == []


def test_a_truncated_recording_fails_the_stream(growing: Growing) -> None:
    follow = follower(growing.folder)
    growing.add(b"a", b"b")
    growing.stop()
    whole = follow.latest({}, Limits())
    with CatalogFile.open(growing.folder) as catalog:
        catalog.update_stop_position(0, 64)
    with pytest.raises(DataLostError, match="truncated to position 64"):
        follow.latest(whole, Limits())
    lenient = follower(growing.folder, failOnDataLoss="false")
    assert lenient.latest(whole, Limits())[str(growing.folder), 0].position == 128


def test_limits_are_open_by_default() -> None:
    assert Limits().is_open
    assert not Limits(rows=MAX_I64 - 1).is_open


def test_damage_is_an_error_or_is_passed_by(growing: Growing) -> None:
    growing.add(*[b"x" * 1000] * 5)
    growing.builder.data[1056:1060] = (7).to_bytes(4, "little")
    growing.add(*[b"x" * 1000] * 100)
    growing.stop()
    with pytest.raises(RecordingDamagedError, match="position 1056 of recording 0"):
        follower(growing.folder).latest({}, Limits(rows=50))
    follow = follower(growing.folder, skipDamage="true")
    end = follow.latest({}, Limits(rows=50))
    assert end[str(growing.folder), 0].position == growing.builder.position
    assert len(read(follow, {}, end)) == 1 + 105 - 62
