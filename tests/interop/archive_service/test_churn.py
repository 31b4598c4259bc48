"""What comes and goes leaves nothing behind: mappings, descriptors, memory, logs, counters."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from holdings import Household
from peer.streams import free_port
from waits import wait_until

from aerolog.archive.client import AeronArchive, PersistentSubscription, ReplayMerge
from aerolog.transport.client import Aeron, ResponseClient, ResponseServer
from aerolog.transport.errors import ArchiveError, RegistrationError
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from collections.abc import Iterator

    from peer.servers import Server

    from aerolog.transport.client import Message

pytestmark = pytest.mark.interop
IPC = "aeron:ipc?term-length=64k"
TERM_LENGTH, SEGMENT = 64 * 1024, 128 * 1024
# How many of each kind come in a round, and how many rounds come after the first one.
FORMS = [
    pytest.param(3, 1, id="short"),
    pytest.param(10, 5, id="long", marks=[pytest.mark.slow, pytest.mark.timeout(600)]),
]
CREDENTIALS = b"admin:admin"
ROUNDS, FRAME = 200, 1024  # messages of half the life of a recording, bytes of each
PROPERTIES = {
    "aeron.client.liveness.timeout": "2s",
    "aeron.image.liveness.timeout": "1s",
    "aeron.publication.linger.timeout": "200ms",
    "aeron.counters.free.to.reuse.timeout": "100ms",
    "aeron.timer.interval": "100ms",
    "aeron.archive.replay.linger.timeout": "100ms",
    "aeron.archive.segment.file.length": str(SEGMENT),
    "aeron.term.buffer.sparse.file": "true",
    "aeron.archive.control.channel.enabled": "true",
    "aeron.archive.control.response.channel": "aeron:udp?endpoint=127.0.0.1:0",
    "aeron.archive.replication.channel": "aeron:udp?endpoint=127.0.0.1:0",
    "aeron.archive.authenticator.supplier": (
        "io.aeron.samples.archive.SampleAuthenticatorSupplier"
    ),
}
KILLED = """
import sys, time
from aerolog import Aeron, AeronArchive
aeron = Aeron(sys.argv[1])
archive = AeronArchive(
    aeron,
    request_channel="aeron:ipc",
    response_channel="aeron:ipc",
    credentials=b"admin:admin",
)
publication = aeron.add_publication("aeron:ipc?term-length=64k", int(sys.argv[2]))
archive.start_recording("aeron:ipc?term-length=64k", int(sys.argv[2]))
print("here", flush=True)
time.sleep(60)
"""


@contextlib.contextmanager
def session(
    server: Server,
    request: str = "aeron:ipc",
    response: str = "aeron:ipc",
    credentials: bytes = CREDENTIALS,
) -> Iterator[tuple[Aeron, AeronArchive]]:
    """A client of the driver and of the archive."""
    with (
        Aeron(server.aeron_dir, driver_timeout=30) as aeron,
        AeronArchive(
            aeron,
            request_channel=request,
            response_channel=response,
            message_timeout=30,
            credentials=credentials,
        ) as archive,
    ):
        yield aeron, archive


def control_of(server: Server) -> str:
    """Where the archive takes requests over the network."""
    return server.spec.properties["aeron.archive.control.channel"]


def leave_a_recording(server: Server, stream_id: int) -> None:
    """A client that starts to record and goes; another one ends what it has begun."""
    channel = IPC
    with session(server) as (_, archive):
        archive.start_recording(channel, stream_id)
    with session(server) as (aeron, archive):
        with aeron.add_publication(channel, stream_id) as publication:
            publication.wait_connected(30, writable=True)
            publication.send(b"recorded", timeout=30.0)
        archive.stop_recording(channel, stream_id)


def record_and_replay(server: Server, stream_id: int) -> None:
    """A recording that is replayed, also to a client that does not wait for its end."""
    channel = IPC
    with session(server) as (aeron, archive):
        archive.start_recording(channel, stream_id)
        with aeron.add_exclusive_publication(channel, stream_id) as publication:
            publication.wait_connected(30, writable=True)
            for _ in range(100):
                publication.send(bytes(500), timeout=30.0)
        archive.stop_recording(channel, stream_id)
        (recording,) = archive.recordings(stream_id=stream_id)
        with archive.replay(recording.recording_id, stream_id=stream_id) as replay:
            assert next(replay.messages(timeout=30)).data == bytes(500)
        with pytest.raises(ArchiveError):
            archive.start_recording("aeron:udp?endpoint=nowhere", stream_id)


def cross_the_network(server: Server, stream_id: int) -> None:
    """Streams over UDP, to an endpoint and to destinations, and messages that nobody reads."""
    port, other = free_port(), free_port()
    with Aeron(server.aeron_dir, driver_timeout=30) as aeron:
        subscription = aeron.add_subscription("aeron:udp?control-mode=manual", stream_id)
        subscription.add_destination(f"aeron:udp?endpoint=127.0.0.1:{port}")
        subscription.add_destination(f"aeron:udp?endpoint=127.0.0.1:{other}")
        channels = [
            f"aeron:udp?endpoint=127.0.0.1:{port}|term-length=64k",
            "aeron:udp?control-mode=manual|term-length=64k",
        ]
        first, second = (aeron.add_publication(channel, stream_id) for channel in channels)
        second.add_destination(f"aeron:udp?endpoint=127.0.0.1:{other}")
        spy = aeron.add_subscription(f"aeron-spy:{channels[0]}", stream_id)
        for publication in (first, second):
            publication.wait_connected(30, writable=True)
            publication.send(bytes(5000), timeout=30.0)
        spy.wait_connected(30)
        aeron.add_counter(2000, "comes and goes")


def be_killed(server: Server, stream_id: int) -> None:
    """A client that dies with a recording of its own publication."""
    command = [sys.executable, "-c", KILLED, str(server.aeron_dir), str(stream_id)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        process.send_signal(signal.SIGKILL)
    with session(server) as (_, archive):
        archive.stop_recording(IPC, stream_id)


def change_recordings(server: Server, stream_id: int) -> None:
    """A recording that is extended, cut at both ends, copied, replayed in vain, and purged."""
    with session(server) as (aeron, archive):
        half, end = ROUNDS * FRAME, 2 * ROUNDS * FRAME
        archive.start_recording(IPC, stream_id)
        channel = IPC
        for stop in (half, end):
            with aeron.add_exclusive_publication(channel, stream_id) as publication:
                publication.wait_connected(30, writable=True)
                for _ in range(ROUNDS):
                    publication.send(bytes(FRAME - 32), timeout=30.0)
                (entry,) = archive.recordings(stream_id=stream_id)
                recording_id = entry.recording_id
                wait_until(
                    lambda: archive.max_recorded_position(recording_id) == stop,  # noqa: B023
                    f"recording {recording_id} to come to {stop}",
                )
            archive.stop_recording(IPC, stream_id)
            wait_until(
                lambda: archive.stop_position(recording_id) == stop,  # noqa: B023
                f"recording {recording_id} to stop at {stop}",
            )
            if stop == half:
                begin = (stop, entry.initial_term_id, TERM_LENGTH)
                channel = str(ChannelUri.parse(IPC).with_position(*begin))
                archive.extend_recording(recording_id, IPC, stream_id)
        archive.truncate_recording(recording_id, end - FRAME)
        archive.purge_segments(recording_id, 128 * 1024)
        archive.stop_replay(archive.start_replay(recording_id, IPC, stream_id))
        limit = aeron.add_counter(2000, "no further than this")
        limit.value = 128 * 1024
        archive.start_replay(recording_id, IPC, stream_id, limit_counter_id=limit.counter_id)
        archive.stop_all_replays()
        replication = archive.replicate(
            recording_id, control_of(server), 10, credentials=CREDENTIALS
        )
        signals = archive.signals(30, correlation_id=replication)
        copy = next(one.recording_id for one in signals if one.signal.name == "SYNC")
        assert any(one.signal.name == "REPLICATE_END" for one in signals)
        for one in (recording_id, copy):
            wait_until(
                lambda: archive.recording_position(one) is None,  # noqa: B023
                f"recording {one} to be no longer active",
            )
            archive.purge_recording(one)


def be_refused(server: Server, stream_id: int) -> None:
    """Requests of all kinds that driver and archive refuse, and a stream that a reader rejects."""
    with pytest.raises(ArchiveError), session(server, credentials=b"who:knows"):
        pass
    with session(server) as (aeron, archive):
        for refused in (
            lambda: archive.start_replay(999_999, IPC, stream_id),
            lambda: archive.start_recording("aeron:udp?endpoint=nowhere", stream_id),
            lambda: archive.stop_recording(IPC, stream_id),
            lambda: archive.truncate_recording(999_999, 0),
        ):
            with pytest.raises(ArchiveError):
                refused()
        for add in (aeron.add_publication, aeron.add_subscription):
            with pytest.raises(RegistrationError):
                add("aeron:udp?endpoint=nowhere", stream_id)
        # A copy of what is not there, from an archive that is there and from one that is not.
        for control in (control_of(server), f"aeron:udp?endpoint=127.0.0.1:{free_port()}"):
            replication = archive.replicate(999_999, control, 10, credentials=CREDENTIALS)
            archive.try_stop_replication(replication)
        channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}|term-length=64k"
        subscription = aeron.add_subscription(channel, stream_id)
        publication = aeron.add_exclusive_publication(channel, stream_id)
        subscription.wait_connected(30)
        subscription.images[0].reject("no more of this")
        other = aeron.add_exclusive_publication(IPC, stream_id)
        reader = aeron.add_subscription(IPC, stream_id).wait_connected(30)
        other.revoke()
        wait_until(lambda: not reader.images, "the revoked stream to go")
        del publication


def ask_and_answer(server: Server, stream_id: int) -> None:
    """Response channels, destinations that are taken away, and an archive asked over UDP."""
    request = (f"aeron:udp?endpoint=127.0.0.1:{free_port()}", stream_id)
    response = (f"aeron:udp?control=127.0.0.1:{free_port()}", stream_id + 1)
    with (
        Aeron(server.aeron_dir, driver_timeout=30) as aeron,
        ResponseServer(
            aeron, request=request, response=response, handler=lambda _, asked: asked
        ) as answerer,
        ResponseClient(aeron, request=request, response=response) as client,
    ):
        wait_until(lambda: (answerer.poll(), client.is_connected)[1], "the answerer")
        client.send_request(b"asked")
        wait_until(lambda: (answerer.poll(), client.poll_response())[1], "the answer")
        endpoint = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
        control = "aeron:udp?control-mode=manual|term-length=64k"
        publication = aeron.add_publication(control, stream_id + 2)
        subscription = aeron.add_subscription("aeron:udp?control-mode=manual", stream_id + 2)
        for end in (subscription, publication):
            end.add_destination(endpoint)
        publication.wait_connected(30, writable=True)
        for end in (subscription, publication):
            end.remove_destination(endpoint)
    with session(server, control_of(server), "aeron:udp?endpoint=127.0.0.1:0") as (_, archive):
        archive.list_recordings(0, 1)


def join_a_live_stream(server: Server, stream_id: int) -> None:
    """A persistent subscription that comes to the live stream from its recording."""
    with session(server) as (aeron, archive):
        publication = archive.add_recorded_exclusive_publication(IPC, stream_id)
        publication.wait_connected(30, writable=True)
        publication.send(b"recorded", timeout=30.0)
        wait_until(lambda: list(archive.recordings(stream_id=stream_id)), "the recording")
        (recording,) = archive.recordings(stream_id=stream_id)
        with PersistentSubscription(
            aeron,
            recording_id=recording.recording_id,
            live_channel=IPC,
            live_stream_id=stream_id,
            start_position=0,
            request_channel="aeron:ipc",
            response_channel="aeron:ipc",
            credentials=CREDENTIALS,
        ) as subscription:
            got: list[Message] = []

            def is_joined() -> bool:
                got.extend(subscription.poll_messages())
                return subscription.is_live and bool(got)

            wait_until(is_joined, "the recorded message and the live stream")
        archive.stop_recording_of(publication)


def merge_with_a_live_stream(server: Server, stream_id: int) -> None:
    """A replay that merges with the live stream, and one that is given up on its way."""
    endpoint = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    tag = 10_000_000 + stream_id
    with session(server) as (aeron, archive):
        publication = aeron.add_exclusive_publication(
            f"aeron:udp?control-mode=manual|tags={tag}|term-length=64k|ssc=true", stream_id
        )
        archive.start_recording(f"aeron:udp?tags={tag}", stream_id, auto_stop=True)
        for _ in range(50):
            publication.send(bytes(500), timeout=30.0)
        recordings = lambda: list(archive.recordings(stream_id=stream_id))  # noqa: E731
        (recording,) = wait_until(recordings, "the recording")
        publication.add_destination(endpoint)
        for is_awaited in (False, True):
            subscription = aeron.add_subscription("aeron:udp?control-mode=manual", stream_id)
            with ReplayMerge(
                subscription,
                archive,
                recording_id=recording.recording_id,
                start_position=0,
                replay_channel="aeron:udp",
                replay_destination="aeron:udp?endpoint=127.0.0.1:0",
                live_destination=endpoint,
                progress_timeout=30,
            ) as merge:
                got: list[Message] = []

                def has_come(
                    merge: ReplayMerge = merge,
                    got: list[Message] = got,
                    is_awaited: bool = is_awaited,
                ) -> bool:
                    got.extend(merge.poll_messages())
                    return merge.is_merged if is_awaited else bool(got)

                wait_until(has_come, "the replay to come and to merge")
            subscription.close()


def find_destinations(server: Server, stream_id: int) -> None:
    """Subscriptions that a publication finds by itself, and a source that is taken away again."""
    control = f"127.0.0.1:{free_port()}"
    with Aeron(server.aeron_dir, driver_timeout=30) as aeron:
        publication = aeron.add_publication(
            f"aeron:udp?control={control}|control-mode=dynamic|term-length=64k", stream_id
        )
        channel = f"aeron:udp?endpoint=127.0.0.1:0|control={control}"
        first = aeron.add_subscription(channel, stream_id)
        second = aeron.add_subscription("aeron:udp?control-mode=manual", stream_id)
        source = second.add_destination(channel)
        for subscription in (first, second):  # each is found in its own time
            wait_until(
                lambda: (publication.offer(bytes(3000)), subscription.poll_messages())[1],  # noqa: B023
                "a message",
            )
        source.remove()
        first.close()


def move_segments(server: Server, stream_id: int) -> None:
    """Segments that are detached, attached again, moved to another recording, and deleted."""
    with session(server) as (aeron, archive):
        channel, recordings = IPC, []
        for _ in range(2):
            archive.start_recording(IPC, stream_id)
            with aeron.add_exclusive_publication(channel, stream_id) as publication:
                publication.wait_connected(30, writable=True)
                begin = publication.position
                while publication.position < begin + 3 * SEGMENT:
                    publication.send(bytes(FRAME - 32), timeout=30.0)
                end = publication.position
                entry = [*archive.recordings(stream_id=stream_id)][-1]
                recordings.append(entry.recording_id)
                wait_until(
                    lambda: archive.max_recorded_position(recordings[-1]) == end,  # noqa: B023
                    f"recording {recordings[-1]} to come to {end}",
                )
            archive.stop_recording(IPC, stream_id)
            wait_until(
                lambda: archive.stop_position(recordings[-1]) == end,  # noqa: B023
                f"recording {recordings[-1]} to stop at {end}",
            )
            begins = (end, entry.initial_term_id, TERM_LENGTH)
            channel = str(ChannelUri.parse(IPC).with_position(*begins))
        first, second = recordings
        archive.detach_segments(first, SEGMENT)
        assert archive.attach_segments(first) == 1
        assert archive.migrate_segments(first, second) == 3
        archive.detach_segments(second, 2 * SEGMENT)
        assert archive.delete_detached_segments(second) == 2
        for one in recordings:
            archive.purge_recording(one)


def churn(server: Server, number: int, clients: int) -> None:
    """One round of everything that comes and goes."""
    first = 10_000 * number
    for stream_id in range(first, first + 10 * clients, 10):
        leave_a_recording(server, stream_id)
        record_and_replay(server, stream_id + 1000)
        cross_the_network(server, stream_id + 2000)
        change_recordings(server, stream_id + 3000)
        be_refused(server, stream_id + 4000)
        ask_and_answer(server, stream_id + 5000)
        join_a_live_stream(server, stream_id + 6000)
        merge_with_a_live_stream(server, stream_id + 7000)
        find_destinations(server, stream_id + 8000)
        move_segments(server, stream_id + 9000)
    be_killed(server, first + 9500)


@pytest.mark.parametrize(("clients", "rounds"), FORMS)
def test_churn_leaves_nothing_behind(start_server, clients: int, rounds: int) -> None:
    control = {"aeron.archive.control.channel": f"aeron:udp?endpoint=127.0.0.1:{free_port()}"}
    server = start_server("ours", "archiving-driver", properties=PROPERTIES | control)
    household = Household(server.aeron_dir, server.process.pid)
    churn(server, 1, clients)  # what is made once and kept is made
    before = household.settled()
    for number in range(2, 2 + rounds):
        churn(server, number, clients)
    household.check(before, household.settled())
