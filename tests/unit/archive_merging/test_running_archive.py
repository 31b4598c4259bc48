"""Recordings of a running archive merge, live ones too; what goes wrong names its recording."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple

import pytest
from live_archive import archiving, until
from merge_folders import Row, merged, row_of
from shared_memory import memory_folder

from aerolog.archive.client import AeronArchive, AsyncAeronArchive, AsyncMergedReplay, MergedReplay
from aerolog.archive.protocol.counter_types import ArchiveCounterType
from aerolog.archive.time_index import TimeIndex
from aerolog.transport.client import Aeron
from aerolog.transport.errors import (
    ArchiveError,
    ArchiveErrorCode,
    MergeStalledError,
    NotConnectedError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

CHANNEL = "aeron:ipc?term-length=64k"
STREAM_ID = 300
REPLAY_SESSIONS = ArchiveCounterType.REPLAY_SESSIONS
RECORDINGS = 5
ROUNDS = 120
PATIENCE_S = 30.0


class Running(NamedTuple):
    """An archive that runs in this process, and where its files are."""

    aeron: Aeron
    archive: AeronArchive
    folder: Path


@pytest.fixture(scope="module")
def running(tmp_path_factory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("merging") / "archive"
    with (
        memory_folder() as home,
        archiving(home / "aeron", folder, "aeron.archive.max.concurrent.replays=5"),
        Aeron(home / "aeron") as aeron,
        AeronArchive(aeron) as archive,
    ):
        yield Running(aeron, archive, folder)


def replays(running: Running) -> int:
    """Replays that the archive has now."""
    return running.aeron.counters.find(type_id=REPLAY_SESSIONS).value


@pytest.fixture(autouse=True)
def alone(running) -> None:
    """Replays of an earlier test, which end a moment after it, count as replays of this one."""
    until(lambda: replays(running) == 0, "earlier replays to end")


def publications(running: Running, stack, count: int, stream_id: int):
    found = []
    for number in range(count):
        publication = stack.enter_context(
            running.archive.add_recorded_exclusive_publication(CHANNEL, stream_id + number)
        )
        publication.wait_connected(PATIENCE_S, writable=True)
        found.append(publication)
    return found


def ids_of(running: Running, published) -> list[int]:
    """Recordings of publications, in the order of these."""

    def found() -> dict[int, int]:
        return {one.session_id: one.recording_id for one in running.archive.recordings()}

    sessions = [publication.session_id for publication in published]
    until(lambda: set(sessions) <= set(found()), "the recordings")
    return [found()[session] for session in sessions]


def until_recorded(running: Running, ids: list[int], published) -> None:
    for recording_id, publication in zip(ids, published, strict=True):
        until(
            lambda one=recording_id, other=publication: (
                (running.archive.max_recorded_position(one) or 0) >= other.position
            ),
            "all to be recorded",
        )


@pytest.fixture(scope="module")
def stopped(running) -> list[int]:
    """Recordings of messages of all lengths, sent in turns and stopped."""
    from contextlib import ExitStack

    with ExitStack() as stack:
        published = publications(running, stack, RECORDINGS, STREAM_ID)
        ids = ids_of(running, published)
        for number in range(ROUNDS):
            for place, publication in enumerate(published):
                length = (0, 10, 700, 3000)[(number + place) % 4]
                publication.send(f"{place}.{number}|".encode() + bytes(length), timeout=PATIENCE_S)
        until_recorded(running, ids, published)
    for recording_id in ids:
        until(lambda one=recording_id: is_settled(running.archive, one), "its whole index")
    return ids


def is_settled(archive: AeronArchive, recording_id: int) -> bool:
    """Whether it has stopped, and its times are written down to the end."""
    stop = archive.stop_position(recording_id)
    return stop is not None and archive.time_index(recording_id).last_position == stop


def expected(folder: Path, archive: AeronArchive, ids: list[int]) -> list[Row]:
    """What a read of each recording and its index say."""
    rows = []
    for recording_id in ids:
        index = TimeIndex.open(folder, recording_id)
        own = []
        at = 0
        for message in archive.read(recording_id):
            first = term_start(message)
            own.append(Row(recording_id, message.position, index.time_at(first), message.data))
            at = message.position
        assert at == archive.stop_position(recording_id)
        index.close()
        rows.append(own)
    return merged(rows)


def term_start(message) -> int:
    """Position of a message's first frame; the terms of tests are of 64 KiB."""
    length = 64 * 1024
    behind = message.position - message.position % length
    begin = behind if message.term_offset < message.position - behind else behind - length
    return begin + message.term_offset


def test_a_merge_is_what_reads_of_the_recordings_give_by_time(running, stopped):
    ids = [stopped[2], stopped[0], stopped[4], stopped[1], stopped[3]]
    with MergedReplay(running.archive, ids, timeout=PATIENCE_S) as replay:
        found = [row_of(message) for message in replay]
        assert replay.notes == ()
        assert replay.indexed == [True] * 5
    assert len(found) == RECORDINGS * ROUNDS
    assert found == expected(running.folder, running.archive, ids)
    times = [row.time_ns for row in found]
    assert times == sorted(times)


def test_a_running_archive_and_its_folder_give_the_same(running, stopped):
    with MergedReplay(running.folder, stopped) as replay:
        from_folder = [row_of(message) for message in replay]
    with MergedReplay(running.archive, stopped, timeout=PATIENCE_S) as replay:
        assert [row_of(message) for message in replay] == from_folder
    halves = (running.archive, running.folder)
    mixed = [(halves[place % 2], one) for place, one in enumerate(stopped)]
    with MergedReplay(running.archive, mixed, timeout=PATIENCE_S) as replay:
        assert [row_of(message) for message in replay] == from_folder
    start, end = (from_folder[len(from_folder) * part // 3].time_ns for part in (1, 2))
    with MergedReplay(running.archive, stopped, start, end, timeout=PATIENCE_S) as replay:
        found = [row_of(message) for message in replay]
    assert found == [row for row in from_folder if start <= row.time_ns < end]
    assert found


async def test_an_event_loop_merges_replays(running, stopped):
    with MergedReplay(running.folder, stopped) as replay:
        wanted = [row_of(message) for message in replay]
    async with (
        await AsyncAeronArchive.connect(running.aeron) as archive,
        AsyncMergedReplay(archive, stopped, timeout=PATIENCE_S) as merge,
    ):
        assert [row_of(message) async for message in merge] == wanted


def test_replays_are_opened_one_after_the_other_when_so_many_are_not_allowed(running, stopped):
    with MergedReplay(running.archive, stopped, replays_max=1, timeout=PATIENCE_S) as replay:
        found = [row_of(message) for message in replay]
    with MergedReplay(running.folder, stopped) as replay:
        assert found == [row_of(message) for message in replay]


def test_replays_end_with_the_merge(running, stopped):
    replay = MergedReplay(running.archive, stopped, timeout=PATIENCE_S)
    next(replay.batches(rows_max=1))
    until(lambda: replays(running) == len(stopped), "the replays")
    replay.close()
    until(lambda: replays(running) == 0, "the end of the replays")


def test_one_stream_names_the_recording_of_each_message(running, stopped):
    with MergedReplay(running.folder, stopped) as replay:
        wanted = [(row.recording_id, row.payload) for row in map(row_of, replay)]
    with (
        running.aeron.add_subscription(CHANNEL, STREAM_ID + 90) as subscription,
        running.aeron.add_exclusive_publication(CHANNEL, STREAM_ID + 90) as publication,
        MergedReplay(running.archive, stopped, timeout=PATIENCE_S) as replay,
    ):
        found = []

        def receive() -> None:
            messages = subscription.messages(timeout=PATIENCE_S)
            while len(found) < len(wanted):
                message = next(messages)
                found.append((message.reserved_value, message.data))

        thread = threading.Thread(target=receive)
        thread.start()
        try:
            done = replay.publish(publication, timeout=PATIENCE_S)
        finally:
            thread.join(PATIENCE_S)
    assert found == wanted
    assert done.messages == len(wanted)
    assert done.payload_bytes == sum(len(payload) for _, payload in wanted)


def test_publishing_to_nobody_ends_in_an_error(running, stopped):
    with (
        running.aeron.add_exclusive_publication(CHANNEL, STREAM_ID + 91) as publication,
        MergedReplay(running.archive, stopped, timeout=PATIENCE_S) as replay,
        pytest.raises(NotConnectedError),
    ):
        replay.publish(publication, timeout=0.05)


def test_live_recordings_are_followed_until_they_stop(running):
    from contextlib import ExitStack

    found: list[bytes] = []
    with ExitStack() as stack:
        published = publications(running, stack, 2, STREAM_ID + 20)
        ids = ids_of(running, published)
        replay = stack.enter_context(
            MergedReplay(running.archive, ids, follow=True, lateness=0.02, timeout=PATIENCE_S)
        )
        thread = threading.Thread(
            target=lambda: found.extend(message.payload for message in replay)
        )
        thread.start()
        try:
            wanted = []
            # Each is sent when the one before has come: a silent recording holds nothing back.
            for number in range(6):
                payload = b"%d" % number
                wanted.append(payload)
                published[number % 2].send(payload, timeout=PATIENCE_S)
                until(lambda: len(found) == len(wanted), f"message {number}")
            wanted += [b"a", b"b"]
            for publication, payload in zip(published, (b"a", b"b"), strict=True):
                publication.send(payload, timeout=PATIENCE_S)
                publication.close()
        finally:
            for publication in published:
                publication.close()
            thread.join(2 * PATIENCE_S)
    assert not thread.is_alive()
    assert found[:6] == wanted[:6]
    assert sorted(found[6:]) == [b"a", b"b"]


# -- what is wrong --------------------------------------------------------------------------------


def test_an_unknown_recording_is_refused(running, stopped):
    with (
        MergedReplay(running.archive, [*stopped, 4711], timeout=PATIENCE_S) as replay,
        pytest.raises(ArchiveError, match="4711") as raised,
    ):
        next(iter(replay))
    assert raised.value.code == ArchiveErrorCode.UNKNOWN_RECORDING


def test_more_replays_than_the_archive_allows_name_the_recording(running, stopped):
    with (
        MergedReplay(running.archive, stopped, timeout=PATIENCE_S) as one,
        MergedReplay(running.archive, stopped, timeout=PATIENCE_S) as other,
    ):
        next(one.batches(rows_max=1))
        with pytest.raises(ArchiveError, match="of a merged replay") as raised:
            next(other.batches(rows_max=1))
    assert raised.value.code == ArchiveErrorCode.MAX_REPLAYS
    assert "aeron.archive.max.concurrent.replays" in str(raised.value)


def run_out(replay: MergedReplay, after: Callable[[], object]) -> Exception:
    """Do something when the first rows have come; the error in which the rest ends."""
    batches = replay.batches(rows_max=1)
    next(batches)
    after()
    with pytest.raises((MergeStalledError, ArchiveError)) as raised:
        for _ in batches:
            pass
    return raised.value


def test_a_replay_that_somebody_ends_is_named(running, stopped):
    with MergedReplay(running.archive, stopped, timeout=PATIENCE_S) as replay:
        error = run_out(replay, lambda: running.archive.stop_all_replays(stopped[1]))
    assert isinstance(error, MergeStalledError)
    assert error.recording_id == stopped[1]
    assert f"recording {stopped[1]} ended at {error.position}, before" in str(error)


def test_the_others_go_on_without_a_replay_that_has_ended(running, stopped):
    told = []
    with MergedReplay(
        running.archive, stopped, on_error=lambda place, error: told.append((place, error))
    ) as replay:
        batches = replay.batches(rows_max=1)
        ids = list(next(batches).column("recording_id"))
        running.archive.stop_all_replays(stopped[3])
        for batch in batches:
            ids += batch.column("recording_id")
    [(place, error)] = told
    assert place == 3
    assert isinstance(error, MergeStalledError)
    assert {one: ids.count(one) for one in stopped if one != stopped[3]} == {
        one: ROUNDS for one in stopped if one != stopped[3]
    }
