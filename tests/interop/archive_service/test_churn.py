"""What comes and goes leaves nothing behind: mappings, descriptors, memory, logs, counters."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from peer.streams import free_port, wait_until

from aerolog.archive.client import AeronArchive
from aerolog.transport.client import Aeron, CountersReader
from aerolog.transport.errors import ArchiveError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from peer.servers import Server

pytestmark = pytest.mark.interop
CLIENTS = 12  # of each kind in a round
# A round allocates and frees the same again; what the allocator keeps may still settle a little.
MEMORY_SLACK_KB = 2048
# A refused request is in a cycle with its error; the collector comes to it and its log later.
MAPPING_SLACK = 8
PROPERTIES = {
    "aeron.client.liveness.timeout": "2s",
    "aeron.image.liveness.timeout": "1s",
    "aeron.publication.linger.timeout": "200ms",
    "aeron.counters.free.to.reuse.timeout": "100ms",
    "aeron.timer.interval": "100ms",
    "aeron.archive.replay.linger.timeout": "100ms",
    "aeron.archive.segment.file.length": "128k",
    "aeron.term.buffer.sparse.file": "true",
}
KILLED = """
import sys, time
from aerolog import Aeron, AeronArchive
aeron = Aeron(sys.argv[1])
archive = AeronArchive(aeron, request_channel="aeron:ipc", response_channel="aeron:ipc")
publication = aeron.add_publication("aeron:ipc?term-length=64k", int(sys.argv[2]))
archive.start_recording("aeron:ipc?term-length=64k", int(sys.argv[2]))
print("here", flush=True)
time.sleep(60)
"""


@dataclass
class Holdings:
    """What a process holds, and what stands in its driver's directory."""

    log_mappings: int
    mappings: int
    descriptors: int
    anonymous_kb: int
    logs: int
    counters: int


def holdings(server: Server) -> Holdings:
    """What a server holds now."""
    process = Path("/proc", str(server.process.pid))
    maps = process.joinpath("maps").read_text().splitlines()
    status = process.joinpath("status").read_text()
    anonymous = re.search(r"RssAnon:\s+(\d+) kB", status)
    assert anonymous is not None
    return Holdings(
        sum("/publications/" in line or "/images/" in line for line in maps),
        len(maps),
        len(list(process.joinpath("fd").iterdir())),
        int(anonymous.group(1)),
        sum(1 for _ in Path(server.aeron_dir).glob("*/*.logbuffer")),
        sum(1 for _ in CountersReader(server.aeron_dir).infos()),
    )


def counter_labels(server: Server) -> Counter[str]:
    """How many counters have which label, but for the names of clients, which come later."""
    counters = CountersReader(server.aeron_dir).infos()
    return Counter(c.label.partition(" name=")[0] for c in counters)


@contextlib.contextmanager
def session(server: Server) -> Iterator[tuple[Aeron, AeronArchive]]:
    """A client of the driver and of the archive."""
    with (
        Aeron(server.aeron_dir, driver_timeout=30) as aeron,
        AeronArchive(
            aeron, request_channel="aeron:ipc", response_channel="aeron:ipc", message_timeout=30
        ) as archive,
    ):
        yield aeron, archive


def leave_a_recording(server: Server, stream_id: int) -> None:
    """A client that starts to record and goes; another one ends what it has begun."""
    channel = "aeron:ipc?term-length=64k"
    with session(server) as (_, archive):
        archive.start_recording(channel, stream_id)
    with session(server) as (aeron, archive):
        with aeron.add_publication(channel, stream_id) as publication:
            publication.wait_connected(30, writable=True)
            publication.send(b"recorded", timeout=30.0)
        archive.stop_recording(channel, stream_id)


def record_and_replay(server: Server, stream_id: int) -> None:
    """A recording that is replayed, also to a client that does not wait for its end."""
    channel = "aeron:ipc?term-length=64k"
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
        archive.stop_recording("aeron:ipc?term-length=64k", stream_id)


def churn(server: Server, begin: int) -> None:
    """One round of everything that comes and goes."""
    for stream_id in range(begin, begin + CLIENTS):
        leave_a_recording(server, stream_id)
        record_and_replay(server, stream_id + 1000)
        cross_the_network(server, stream_id)
    be_killed(server, begin + 2000)


def settled(server: Server, idle: Holdings, labels: Counter[str]) -> Holdings:
    """What is left when the time of everything that lingers is over."""
    left: list[object] = []

    def is_quiet() -> bool:
        now = holdings(server)
        left[:] = [now, *(counter_labels(server) - labels)]
        return len(left) == 1 and now.logs == idle.logs

    wait_until(is_quiet, left, 30)
    return holdings(server)


def test_churn_leaves_nothing_behind(start_server) -> None:
    server = start_server("ours", "archiving-driver", properties=PROPERTIES)
    labels, idle = counter_labels(server), holdings(server)
    churn(server, 100)  # what is made once and kept is made
    before = settled(server, idle, labels)
    for number in range(1, 3):
        churn(server, 100 + number * 100)
    after = settled(server, idle, labels)
    assert after.counters == before.counters
    assert after.descriptors == before.descriptors, (before, after)
    assert after.log_mappings <= idle.log_mappings + MAPPING_SLACK, (idle, after)
    assert after.mappings <= before.mappings + 2 * MAPPING_SLACK, (before, after)
    assert after.anonymous_kb <= before.anonymous_kb + MEMORY_SLACK_KB, (before, after)
