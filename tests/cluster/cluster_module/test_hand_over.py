"""A folder goes from the reference's node to ours and back; both write the same bytes into it."""

from __future__ import annotations

import contextlib
import struct
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cluster_talk import talk, tool
from peer.cluster_node import java_node, java_service, our_node

from aerolog.archive.client import AeronArchive
from aerolog.cluster.files import EntryType, RecordingLog
from aerolog.cluster.protocol import SCHEMA, JoinLog, ServiceAck, SessionMessageHeader
from aerolog.transport.client import Aeron

if TYPE_CHECKING:
    from collections.abc import Iterator

    from peer.cluster_node import Node

    from aerolog.cluster.client import AeronCluster

pytestmark = pytest.mark.interop
FRAME_HEADER_LENGTH = 32


@contextlib.contextmanager
def a_node(whose: str, folder: Path) -> Iterator[Node]:
    """The reference's node, or ours; with the echo service in either case."""
    if whose == "reference":
        with java_node(folder, "aeron:udp") as node:
            yield node
    else:
        with our_node(folder) as node, java_service(node):
            yield node


def answer(cluster: AeronCluster, message: bytes = b"") -> bytes:
    if message:
        cluster.send(message)
    return next(iter(cluster.messages())).data


def await_count(cluster: AeronCluster, expected: int) -> None:
    """Ask for the service's count until it is as expected."""
    deadline = time.monotonic() + 10
    found = b""
    while found != b"count %d" % expected:
        assert time.monotonic() < deadline, (found, expected)
        found = answer(cluster, b"count")
        while not found.startswith(b"count"):  # a timer that has just expired
            found = answer(cluster)


@pytest.mark.parametrize("first", ["reference", "ours"])
def test_a_folder_goes_on_under_the_other(tmp_path: Path, reference: object, first: str) -> None:
    """State, terms, numbers of sessions and timers, from the log and from a snapshot, both ways."""
    second = {"reference": "ours", "ours": "reference"}[first]
    sessions = []
    for round_number, whose in enumerate((first, second, first, second)):
        with a_node(whose, tmp_path) as node, talk(node) as cluster:
            assert cluster.leadership_term_id == round_number
            sessions.append(cluster.cluster_session_id)
            await_count(cluster, 2 * round_number + 2000 * round_number)
            assert answer(cluster, b"one") == b"one"
            cluster.send(b"timer %d 0" % (100 + round_number))
            assert answer(cluster) == b"timer %d" % (100 + round_number)
            # This timer expires under the next node, which has it from the log or the snapshot.
            cluster.send(b"timer %d 2000" % round_number)
            if round_number % 2 == 0:
                assert "SNAPSHOT applied" in tool(node, "snapshot")
            assert answer(cluster, b"two") == b"two"
    assert sessions == [1, 2, 3, 4]
    with RecordingLog(tmp_path / "cluster") as log:
        assert [e.leadership_term_id for e in log.entries if e.type == EntryType.TERM] == [
            0,
            1,
            2,
            3,
        ]


def frames(path: Path, length_limit: int = 1 << 20) -> list[tuple[int, int, bytes]]:
    """Flags, length and payload of each frame at the start of a segment or log."""
    with path.open("rb") as file:
        data = file.read(length_limit)
    found = []
    at = 0
    while at < len(data):
        length, _, flags, _, offset = struct.unpack_from("<iBBHi", data, at)
        if length <= 0:
            break
        assert offset == at
        found.append((flags, length, data[at + FRAME_HEADER_LENGTH : at + length]))
        at += (length + 31) & ~31
    return found


#: What differs between runs of the same node: times, and what the driver and the network chose.
CHOSEN = (
    "timestamp",
    "log_session_id",
    "correlation_id",
    "response_channel",
    "deadline",
    "log_channel",
    "current_time_ns",
    "active_members",
)


def without_chosen(flags: int, payload: bytes) -> tuple[Any, ...]:
    if not flags & 0x80 or payload[4:6] != SCHEMA.id.to_bytes(2, "little"):
        return (payload,)  # the rest of a message, or the service's own in a snapshot
    message = SCHEMA.decode(payload)
    assert message is not None
    values = {
        name: getattr(message, name)
        for name in message.__slots__
        if name not in CHOSEN or (name == "correlation_id" and message.LAYOUT.template_id == 20)
    }
    rest = payload[32:] if message.LAYOUT.template_id == 1 else b""
    return (message.LAYOUT.template_id, len(payload), sorted(map(str, values.items())), rest)


def conversation(node: Node, stream_id: int) -> list[tuple[Any, ...]]:
    """What module and services have sent each other on a stream, from its log."""
    found = []
    for path in sorted(Path(node.aeron_dir, "publications").glob("*.logbuffer")):
        with path.open("rb") as file:
            header = file.read(FRAME_HEADER_LENGTH)
        if int.from_bytes(header[16:20], "little", signed=True) != stream_id:
            continue
        for flags, length, payload in frames(path, 64 * 1024):
            message = without_chosen(flags, payload)
            # A channel has numbers of any length, and the first acknowledgement a client's id.
            is_join = message[0] == JoinLog.LAYOUT.template_id
            is_first = message[0] == ServiceAck.LAYOUT.template_id and not found
            if is_join:
                message = (length > 0, *message[2:])
            elif is_first:
                message = message[:2]
            elif message[0] == SessionMessageHeader.LAYOUT.template_id:
                # The reference's module writes the message's number into what it has received.
                message = (message[0], *message[3:])
            found.append(message)
    return found


def script(node: Node) -> None:
    """Everything that writes into the log, the same steps for any node."""
    with talk(node) as cluster:
        for length in (1, 100, 5000):
            assert answer(cluster, b"x" * length) == b"x" * length
        cluster.send(b"timer 7 0")
        assert answer(cluster) == b"timer 7"
        assert answer(cluster, b"offer text") == b"offered text"
        cluster.send(b"timer 8 10000000")
        assert "SNAPSHOT applied" in tool(node, "snapshot")
        for command in ("suspend", "resume"):
            assert "applied successfully" in tool(node, command)
        assert answer(cluster, b"last") == b"last"


def test_both_write_the_same_log_and_snapshots(tmp_path: Path, reference: object) -> None:
    logs: dict[str, Any] = {}
    for whose in ("reference", "ours"):
        folder = tmp_path / whose
        folder.mkdir()
        with a_node(whose, folder) as node:
            script(node)
            spoken = [conversation(node, stream_id) for stream_id in (104, 105)]
            with Aeron(node.aeron_dir) as aeron, AeronArchive(aeron) as archive:
                recordings = [
                    (each.stream_id, each.term_buffer_length, each.mtu_length)
                    for each in archive.recordings()
                ]
        with RecordingLog(folder / "cluster") as log:
            entries = [
                (e.recording_id, e.leadership_term_id, e.log_position, e.service_id, e.type)
                for e in log.entries
            ]
        found = [
            [
                (flags, length, without_chosen(flags, payload))
                for flags, length, payload in frames(folder / "archive" / f"{i}-0.rec")
            ]
            for i in range(3)
        ]
        logs[whose] = (recordings, entries, *found, *spoken)
    for theirs, ours in zip(logs["reference"], logs["ours"], strict=True):
        assert ours == theirs
