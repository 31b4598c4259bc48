"""A replay that does not deliver: waited for, asked for again, named when it is too long."""

from __future__ import annotations

import pickle

import pytest

from aerolog.archive.client.options import ArchiveClientOptions
from aerolog.archive.client.replay.merge import BLOCKED, END, Merge, MergeInput
from aerolog.archive.client.replay.merged_batch import MergedBatch
from aerolog.archive.client.replay.replay_source import (
    REPLAYS_PATIENCE_NS,
    ArchiveSource,
    Patience,
    together,
)
from aerolog.archive.client.replay.time_range import TimedRange
from aerolog.archive.time_index import TimeIndex
from aerolog.testing.recordings import RecordingBuilder
from aerolog.transport.concurrent.clock import ManualClock
from aerolog.transport.errors import (
    ArchiveError,
    ArchiveErrorCode,
    MergeStalledError,
    NotConnectedError,
)

SECOND = 1_000_000_000


class FakeSession:
    """A control session in which nothing happens by itself."""

    def __init__(self) -> None:
        self.disconnected = False
        self.errors: list[ArchiveError] = []

    def pump(self) -> int:
        return 0

    def take_error(self, _: int) -> ArchiveError | None:
        return self.errors.pop() if self.errors else None


class FakeSubscription:
    """Of a replay that never delivers."""

    closed = False

    def close(self) -> None:
        self.closed = True


class FakePending:
    """A request that the archive has."""

    def __init__(self, correlation_id: int) -> None:
        self.correlation_id = correlation_id


class FakeArchive:
    """A conversation with an archive that agrees to replays and never delivers them, or refuses."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.options = ArchiveClientOptions.of(clock=self.clock)
        self.aeron = self
        self.last_correlation_id = 7
        self.session = FakeSession()
        self.refusal: ArchiveError | None = None
        self.asked = 0
        self.subscription = FakeSubscription()

    def usable(self) -> FakeSession:
        return self.session

    def take_error(self, correlation_id: int) -> ArchiveError | None:
        return self.session.take_error(correlation_id)

    def begin(self, _) -> FakePending:
        self.asked += 1
        self.last_correlation_id += 1
        return FakePending(self.last_correlation_id)

    def answer(self, *_):
        yield 0
        if self.refusal is not None:
            raise self.refusal
        return 1

    def add_subscription_async(self, *_, **__) -> FakeSubscription:
        return self.subscription

    def added(self, subscription: FakeSubscription):
        yield 0
        return subscription


class FakeTimes:
    """Times of everything."""

    def __init__(self, index: TimeIndex) -> None:
        self.index = index
        self.covered = 1 << 62

    def advance(self):
        yield 0
        return True

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def archive() -> FakeArchive:
    return FakeArchive()


@pytest.fixture
def share(archive) -> ArchiveSource:
    builder = RecordingBuilder()
    builder.add(b"x")
    index = TimeIndex.from_entries([SECOND], [0], end_position=builder.position)
    part = TimedRange(builder.descriptor(), 0, builder.position, builder.position)
    return ArchiveSource(archive, part, FakeTimes(index), Patience(2 * SECOND, SECOND // 4))


def carried_out(steps):
    while True:
        try:
            next(steps)
        except StopIteration as done:
            return done.value


def test_a_replay_is_waited_for_and_named_when_it_takes_too_long(archive, share):
    assert carried_out(share.go_on(0)) is False
    assert carried_out(share.go_on(2 * SECOND)) is False
    with pytest.raises(MergeStalledError, match="recording 0 at 0 has delivered nothing") as raised:
        carried_out(share.go_on(2 * SECOND + 1))
    assert (raised.value.recording_id, raised.value.position) == (0, 0)
    assert archive.asked == 1
    share.close()
    assert archive.subscription.closed
    again = pickle.loads(pickle.dumps(raised.value))
    assert (str(again), again.recording_id) == (str(raised.value), 0)


def test_what_the_archive_says_later_of_a_replay_is_its_error(archive, share):
    assert carried_out(share.go_on(0)) is False
    archive.session.errors.append(ArchiveError(0, "damaged", archive.last_correlation_id))
    with pytest.raises(ArchiveError, match="damaged"):
        carried_out(share.go_on(0))


def test_an_archive_that_is_gone_is_no_stall(archive, share):
    assert carried_out(share.go_on(0)) is False
    archive.session.disconnected = True
    with pytest.raises(NotConnectedError, match="recording 0"):
        carried_out(share.go_on(0))


def test_a_replay_for_which_there_is_no_room_is_asked_for_again(archive, share):
    archive.refusal = ArchiveError(ArchiveErrorCode.MAX_REPLAYS, "max concurrent replays")
    carried_out(share.open())
    assert not share.is_open
    carried_out(share.go_on(0))
    assert archive.asked == 1  # not so soon
    archive.clock.advance_ns(SECOND)
    carried_out(share.go_on(REPLAYS_PATIENCE_NS))
    assert archive.asked == 2
    archive.clock.advance_ns(SECOND)
    with pytest.raises(ArchiveError, match="recording 0 of a merged replay.*max.concurrent"):
        carried_out(share.go_on(REPLAYS_PATIENCE_NS + 1))
    archive.refusal = None
    archive.clock.advance_ns(SECOND)
    carried_out(share.go_on(REPLAYS_PATIENCE_NS + 1))
    assert share.is_open


def test_steps_go_side_by_side_and_a_failure_ends_all():
    done = []

    def steps(name: str, turns: int):
        try:
            for _ in range(turns):
                yield 0
            if name == "bad":
                raise LookupError(name)
            done.append(name)
        finally:
            done.append(f"end of {name}")

    carried_out(together([steps("long", 5), steps("short", 1)]))
    assert done == ["short", "end of short", "long", "end of long"]
    done.clear()
    with pytest.raises(LookupError):
        carried_out(together([steps("other", 9), steps("bad", 2)]))
    assert sorted(done) == ["end of bad", "end of other"]


def source(floor_ns: int) -> MergeInput:
    times = TimeIndex.from_entries([0], [0]).cursor()
    return MergeInput(recording_id=1, session_id=2, stream_id=3, times=times, floor_ns=floor_ns)


def test_a_source_is_asked_when_its_turn_has_come(archive, share):
    late = source(5 * SECOND)
    merge = Merge([late, share.messages])
    batch = MergedBatch(4, 100)
    assert merge.run(batch) == BLOCKED
    assert merge.blocked == 1
    assert not merge.raise_floor(1, SECOND)
    assert merge.raise_floor(1, 6 * SECOND)
    assert merge.run(batch) == BLOCKED  # the late one has ended, this one has not
    assert (merge.over, merge.is_over(0), merge.blocked) == (1, True, 1)
    share.messages.finish()
    assert merge.run(batch) == END
    assert batch.rows == 0
    with pytest.raises(IndexError):
        merge.is_over(2)
    with pytest.raises(IndexError):
        merge.raise_floor(-1, 0)


def test_a_merge_of_nothing_is_at_its_end():
    assert Merge([]).run(MergedBatch(1, 0)) == END


def test_batches_are_checked():
    with pytest.raises(ValueError, match="rows"):
        MergedBatch(0, 1)
    with pytest.raises(ValueError, match="payload capacity"):
        MergedBatch(1, -1)
    with pytest.raises(ValueError, match="no such column"):
        MergedBatch(1, 1).column("colour")
