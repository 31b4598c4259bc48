"""What is visible when an archive has answered: everything is looked at once, with no wait.

Each test is a line of docs/archive/answers.md. The reference keeps some of these lines; those that
it keeps run on it too.
"""

from __future__ import annotations

import itertools
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest
from peer.lifetimes import server_starter, stop_all
from waits import wait_until

from aerolog.archive.client import AeronArchive
from aerolog.archive.format.catalog_map import CatalogReader
from aerolog.archive.protocol import RecordingSignal
from aerolog.archive.protocol.counter_types import ArchiveCounterType
from aerolog.transport.client import Aeron
from aerolog.transport.errors import ArchiveError
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from peer.servers import Server

    from aerolog.archive.protocol import RecordingDescriptor

pytestmark = pytest.mark.interop

CHANNEL = "aeron:ipc?term-length=64k"
MODES = ("SHARED", "DEDICATED")
TRIES = 40
TERM = 64 * 1024
SEGMENT = 2 * TERM
MESSAGE = bytes(992)  # with its header and alignment, 1024 bytes
BOTH = [("ours", mode) for mode in MODES] + [("reference", mode) for mode in MODES]
OURS = BOTH[:2]
_stream_ids = itertools.count(1001)


class Bench:
    """An archive, one client that asks, and another that looks."""

    def __init__(self, server: Server, aeron: Aeron, archive: AeronArchive, other: AeronArchive):
        self.server = server
        self.aeron = aeron
        self.archive = archive
        self.other = other

    def next_stream(self) -> int:
        """A stream that nothing has used."""
        return next(_stream_ids)

    def stored(self, recording_id: int) -> Any:
        """The recording's entry in the catalog's file; None when it has none that is valid."""
        with CatalogReader.open(self.server.archive_dir) as catalog:
            return catalog.descriptor(recording_id) if recording_id in catalog else None

    def of_stream(self, stream_id: int) -> list[RecordingDescriptor]:
        """All recordings of a stream, as another client sees them."""
        return self.other.list_recordings_for_uri(0, 1000, "", stream_id)

    def position_counters(self, recording_id: int) -> list[str]:
        """Labels of the recording's position counters that are allocated."""
        return [
            counter.label
            for counter in self.aeron.counters.infos()
            if counter.type_id == ArchiveCounterType.RECORDING_POSITION
            and int.from_bytes(counter.key[:8], "little") == recording_id
        ]

    def count(self, type_id: int) -> int:
        """The value of the only counter of a type."""
        (found,) = [c for c in self.aeron.counters.infos() if c.type_id == type_id]
        return found.value

    @contextmanager
    def recording(self, messages: int = 1) -> Iterator[tuple[Any, int]]:
        """A publication of which everything is recorded, and its recording."""
        with self.archive.add_recorded_exclusive_publication(CHANNEL, self.next_stream()) as it:
            start = next(self.archive.signals(kinds=RecordingSignal.START, timeout=30))
            for _ in range(messages):
                end = it.send(MESSAGE, timeout=30)
            counter = self.archive.recording_position_counter(start.recording_id)
            assert counter is not None
            counter.wait(end, timeout=30)
            yield it, start.recording_id

    def recorded_at(self, position: int, end: int, stream_id: int) -> int:
        """A stopped recording of a stream from one segment's beginning to another's."""
        channel = ChannelUri.parse(CHANNEL).with_position(
            position, initial_term_id=0, term_length=TERM
        )
        with self.aeron.add_exclusive_publication(channel, stream_id) as publication:
            source = f"aeron:ipc?session-id={publication.session_id}"
            subscription_id = self.archive.start_recording(source, stream_id)
            start = next(self.archive.signals(kinds=RecordingSignal.START, timeout=30))
            while publication.position <= end:
                publication.send(MESSAGE, timeout=30)
            counter = self.archive.recording_position_counter(start.recording_id)
            assert counter is not None
            counter.wait(publication.position, timeout=30)
            self.archive.stop_recording_subscription(subscription_id)
        stopped = {"recording_id": start.recording_id, "kinds": RecordingSignal.STOP}
        next(self.archive.signals(timeout=30, **stopped))
        # A full segment has an empty one behind it, which goes with what is cut off.
        self.archive.truncate_recording(start.recording_id, end)
        self.deleted(start.recording_id)
        return start.recording_id

    def files_of(self, recording_id: int) -> set[int]:
        """Where the recording's segment files begin."""
        names = self.server.archive_dir.glob(f"{recording_id}-*.rec")
        return {int(name.stem.partition("-")[2]) for name in names}

    def deleted(self, recording_id: int) -> None:
        """Wait for the signal that the files of a deletion are gone."""
        wanted = {"recording_id": recording_id, "kinds": RecordingSignal.DELETE}
        next(self.archive.signals(timeout=30, **wanted))

    def recorded(self, messages: int) -> int:
        """A stopped recording."""
        with self.recording(messages) as (publication, recording_id):
            self.archive.stop_recording_of(publication)
        next(
            self.archive.signals(recording_id=recording_id, kinds=RecordingSignal.STOP, timeout=30)
        )
        return recording_id


@pytest.fixture(scope="module")
def servers(
    reference: object, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str, str], Server]]:
    """Archiving drivers by make and threading mode."""
    known: dict[tuple[str, str], Server] = {}
    running: list[Server] = []
    folders: list = []
    start = server_starter(running, folders, tmp_path_factory.mktemp("answers"))

    def get(implementation: str, mode: str) -> Server:
        key = (implementation, mode)
        if key not in known:
            modes = {"aeron.threading.mode": mode, "aeron.archive.threading.mode": mode}
            known[key] = start(implementation, "archiving-driver", properties=modes)
        return known[key]

    yield get
    stop_all(running, folders)


@pytest.fixture
def bench(request: pytest.FixtureRequest, servers: Callable[[str, str], Server]) -> Iterator[Bench]:
    """The archive that the test's parameter names."""
    server = servers(*request.param)
    ways = {"request_channel": "aeron:ipc", "response_channel": "aeron:ipc"}
    with (
        Aeron(server.aeron_dir) as aeron,
        AeronArchive(aeron, **ways) as archive,
        AeronArchive(aeron, **ways) as other,
    ):
        yield Bench(server, aeron, archive, other)


on_both = pytest.mark.parametrize("bench", BOTH, indirect=True, ids="-".join)
on_ours = pytest.mark.parametrize("bench", OURS, indirect=True, ids="-".join)


# -- recordings -----------------------------------------------------------------------------------


@on_ours
@pytest.mark.parametrize("location", ["ipc", "spy"])
def test_a_stream_that_begins_after_the_start_and_ends_before_the_stop_is_whole(
    bench: Bench, location: str
) -> None:
    channel = CHANNEL
    if location == "spy":
        channel = "aeron:udp?endpoint=127.0.0.1:40456|term-length=64k|ssc=true"
    ends = {}
    for _ in range(TRIES):
        stream_id = bench.next_stream()
        bench.archive.start_recording(channel, stream_id)
        publication = bench.aeron.add_exclusive_publication(channel, stream_id)
        publication.wait_connected(30)
        for _ in range(20):
            ends[stream_id] = publication.send(b"message", timeout=30)
        publication.close()
        bench.archive.stop_recording(channel, stream_id)
        (descriptor,) = bench.of_stream(stream_id)
        assert descriptor.stop_position == ends[stream_id]


@on_ours
def test_a_stream_without_a_message_is_recorded_too(bench: Bench) -> None:
    for _ in range(TRIES):
        stream_id = bench.next_stream()
        bench.archive.start_recording(CHANNEL, stream_id)
        publication = bench.aeron.add_exclusive_publication(CHANNEL, stream_id)
        publication.wait_connected(30)
        publication.close()
        bench.archive.stop_recording(CHANNEL, stream_id)
        (descriptor,) = bench.of_stream(stream_id)
        assert (descriptor.start_position, descriptor.stop_position) == (0, 0)


@on_both
def test_a_started_recording_has_its_subscription(bench: Bench) -> None:
    for _ in range(TRIES):
        stream_id = bench.next_stream()
        subscription_id = bench.archive.start_recording(CHANNEL, stream_id)
        (listed,) = bench.other.list_recording_subscriptions(stream_id=stream_id)
        assert listed.subscription_id == subscription_id
        with bench.aeron.add_exclusive_publication(CHANNEL, stream_id) as publication:
            publication.wait_connected(30)
        bench.archive.stop_recording_subscription(subscription_id)


@on_ours
@pytest.mark.parametrize("by", ["channel", "subscription", "identity"])
def test_a_stopped_recording_has_its_end_and_no_counter(bench: Bench, by: str) -> None:
    for _ in range(TRIES):
        stream_id = bench.next_stream()
        subscription_id = bench.archive.start_recording(CHANNEL, stream_id)
        with bench.aeron.add_exclusive_publication(CHANNEL, stream_id) as publication:
            end = publication.send(MESSAGE, timeout=30)
            start = next(bench.archive.signals(kinds=RecordingSignal.START, timeout=30))
            if by == "channel":
                bench.archive.stop_recording(CHANNEL, stream_id)
            elif by == "subscription":
                bench.archive.stop_recording_subscription(subscription_id)
            else:
                assert bench.archive.stop_recording_by_identity(start.recording_id)
            stored = bench.stored(start.recording_id)
            assert bench.position_counters(start.recording_id) == []
            assert stored.stop_position == end
            assert stored.stop_timestamp > 0
            assert bench.other.stop_position(start.recording_id) == end
            assert bench.other.list_recording_subscriptions(stream_id=stream_id) == []
            # The recording is free for whatever comes next.
            assert bench.other.truncate_recording(start.recording_id, 0) == 1


@on_ours
def test_the_stop_of_another_client_is_signalled_before_its_answer(bench: Bench) -> None:
    for _ in range(TRIES):
        with bench.recording() as (publication, recording_id):
            bench.other.stop_recording_by_identity(recording_id)
            bench.archive.poll()
            (stop,) = bench.archive.poll_signals(
                recording_id=recording_id, kinds=RecordingSignal.STOP
            )
            assert stop.position == publication.position


@on_ours
def test_a_stop_records_what_was_published_before_while_the_publisher_goes_on(bench: Bench) -> None:
    for _ in range(TRIES):
        with bench.recording() as (publication, recording_id):
            end = publication.position
            for _ in range(20):
                end = publication.send(MESSAGE, timeout=30)
            bench.archive.stop_recording_of(publication)
            assert bench.other.stop_position(recording_id) == end


# -- replays --------------------------------------------------------------------------------------


@on_both
@pytest.mark.parametrize("way", ["replay", "bounded replay"])
def test_a_started_replay_counts(bench: Bench, way: str) -> None:
    with bench.recording(8) as (publication, recording_id), ExitStack() as used:
        limit = used.enter_context(bench.aeron.add_counter(1001, "limit"))
        limit_counter_id = limit.counter_id if way == "bounded replay" else None
        for expected in range(1, 11):
            stream_id = bench.next_stream()
            used.enter_context(bench.aeron.add_subscription("aeron:ipc", stream_id))
            bench.archive.start_replay(
                recording_id, "aeron:ipc", stream_id, limit_counter_id=limit_counter_id
            )
            assert bench.count(ArchiveCounterType.REPLAY_SESSIONS) == expected
            with pytest.raises(ArchiveError, match="active re"):
                bench.other.truncate_recording(recording_id, 0)
        bench.archive.stop_all_replays(recording_id)
        wait_until(
            lambda: bench.count(ArchiveCounterType.REPLAY_SESSIONS) == 0, "the end of all replays"
        )
        bench.archive.stop_recording_of(publication)


@on_ours
@pytest.mark.parametrize("by", ["id", "recording", "all"])
def test_a_stopped_replay_is_gone(bench: Bench, by: str) -> None:
    with bench.recording(8) as (publication, recording_id):
        for _ in range(TRIES):
            stream_id = bench.next_stream()
            with bench.aeron.add_subscription("aeron:ipc", stream_id) as subscription:
                replay_id = bench.archive.start_replay(recording_id, "aeron:ipc", stream_id)
                (image,) = subscription.wait_connected(30).images
                if by == "id":
                    bench.archive.stop_replay(replay_id)
                else:
                    bench.archive.stop_all_replays(recording_id if by == "recording" else None)
                assert bench.count(ArchiveCounterType.REPLAY_SESSIONS) == 0
                assert bench.other.recording_readers() == []
                assert image.is_revoked
        bench.archive.stop_recording_of(publication)


# -- what is stored -------------------------------------------------------------------------------


@on_both
def test_a_change_of_what_is_stored_is_in_the_catalog(bench: Bench) -> None:
    recording_id = bench.recorded(3 * SEGMENT // 1024 + 4)
    bench.archive.update_channel(recording_id, "aeron:ipc?alias=other")
    assert bench.stored(recording_id).original_channel == "aeron:ipc?alias=other"
    bench.archive.detach_segments(recording_id, SEGMENT)
    assert bench.stored(recording_id).start_position == SEGMENT
    assert bench.archive.attach_segments(recording_id) == 1
    assert bench.stored(recording_id).start_position == 0
    bench.archive.purge_segments(recording_id, SEGMENT)
    assert bench.stored(recording_id).start_position == SEGMENT
    bench.deleted(recording_id)
    bench.archive.truncate_recording(recording_id, 2 * SEGMENT)
    assert bench.stored(recording_id).stop_position == 2 * SEGMENT
    bench.deleted(recording_id)
    bench.archive.purge_recording(recording_id)
    assert bench.stored(recording_id) is None
    assert bench.other.list_recording(recording_id) is None
    bench.deleted(recording_id)


@on_both
def test_segments_that_have_moved_have_their_new_names(bench: Bench) -> None:
    for index in range(TRIES // 8):
        stream_id = bench.next_stream()
        front = bench.recorded_at(0, 2 * SEGMENT, stream_id)
        rest = bench.recorded_at(2 * SEGMENT, 4 * SEGMENT, stream_id)
        source, target = (front, rest) if index % 2 else (rest, front)
        moved = {0, SEGMENT} if index % 2 else {2 * SEGMENT, 3 * SEGMENT}
        assert bench.archive.migrate_segments(source, target) == 2
        assert bench.files_of(target) >= {0, SEGMENT, 2 * SEGMENT, 3 * SEGMENT}
        assert not bench.files_of(source) & moved
        stored, emptied = bench.stored(target), bench.stored(source)
        assert (stored.start_position, stored.stop_position) == (0, 4 * SEGMENT)
        assert emptied.start_position == emptied.stop_position == min(moved)
        bench.deleted(source)
        assert bench.files_of(source) == set()


@on_ours
def test_detached_segments_that_are_deleted_belong_to_no_recording(bench: Bench) -> None:
    for _ in range(TRIES // 8):
        recording_id = bench.recorded(3 * SEGMENT // 1024 + 4)
        bench.archive.detach_segments(recording_id, 2 * SEGMENT)
        assert bench.archive.delete_detached_segments(recording_id) == 2
        with suppress(ArchiveError):  # as long as they are being deleted
            assert bench.other.attach_segments(recording_id) == 0
        assert bench.stored(recording_id).start_position == 2 * SEGMENT
        bench.deleted(recording_id)
        assert bench.files_of(recording_id) == {2 * SEGMENT, 3 * SEGMENT}
        assert bench.other.attach_segments(recording_id) == 0
        assert not list(bench.server.archive_dir.glob(f"{recording_id}-0.rec*"))


@on_both
def test_the_files_of_what_was_deleted_are_gone_at_the_signal(bench: Bench) -> None:
    for _ in range(TRIES // 4):
        recording_id = bench.recorded(SEGMENT // 1024 + 4)
        assert bench.archive.purge_recording(recording_id) == 2
        bench.deleted(recording_id)
        assert not list(bench.server.archive_dir.glob(f"{recording_id}-*"))


# -- replication ----------------------------------------------------------------------------------


@on_ours
def test_a_stopped_replication_leaves_a_copy_with_an_end(bench: Bench) -> None:
    with bench.recording(8) as (publication, recording_id):
        for _ in range(TRIES // 2):
            replication_id = bench.archive.replicate(
                recording_id, "aeron:ipc", 10, src_response_channel="aeron:ipc"
            )
            extend = next(
                bench.archive.signals(
                    correlation_id=replication_id, kinds=RecordingSignal.EXTEND, timeout=30
                )
            )
            bench.archive.stop_replication(replication_id)
            stored = bench.stored(extend.recording_id)
            assert stored.stop_position >= 0
            assert bench.position_counters(extend.recording_id) == []
            assert bench.other.truncate_recording(extend.recording_id, 0) >= 0
        bench.archive.stop_recording_of(publication)
