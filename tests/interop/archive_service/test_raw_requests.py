"""Requests that no decent client sends: both archives answer alike, or drop them and live on."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest
from waits import wait_until

from aerolog.archive import protocol as ap
from aerolog.archive.protocol.counter_types import ArchiveCounterType
from aerolog.transport.client import Aeron
from aerolog.transport.counters.system_counters import SystemCounter

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [
    pytest.mark.interop,
    pytest.mark.error_log(
        "expected schemaId",
        "Aeron URIs must start with",
        "StartRecordingRequest",
        "Unknown value",
        "ConnectRequest",
        "ListRecordingsRequest",
    ),
    pytest.mark.error_log("control request for unknown session", at_times=True),
]

SYSTEM_ERRORS = SystemCounter.ERRORS
ARCHIVE_ERRORS_TYPE = ArchiveCounterType.ERRORS


class RawSession:
    """Bytes to the control stream, messages from a response stream of its own."""

    def __init__(self, bench, response_stream_id: int) -> None:
        self.bench = bench
        self.stream_id = response_stream_id
        self.aeron = Aeron(bench.server.aeron_dir)
        self.responses = self.aeron.add_subscription("aeron:ipc", response_stream_id)
        self.requests = self.aeron.add_exclusive_publication("aeron:ipc?term-length=64k", 10)
        wait_until(lambda: self.requests.is_connected, "the archive to listen")
        self.received: list[ap.Message] = []

    def send(self, message: bytes | ap.Message) -> None:
        """One message, whatever it is."""
        self.requests.send(message if isinstance(message, bytes) else message.encode())

    def poll(self) -> list[ap.Message]:
        """All messages so far, without pings."""
        for found in self.responses.poll_messages(100):
            message = ap.decode(found.data)
            if message is not None and not isinstance(message, ap.Ping):
                self.received.append(message)
        return self.received

    def wait_for(self, correlation_id: int) -> list[ap.ControlResponse]:
        """The answers to a request, at least one."""
        return wait_until(
            lambda: [
                m
                for m in self.poll()
                if isinstance(m, ap.ControlResponse) and m.correlation_id == correlation_id
            ],
            f"an answer to {correlation_id}",
        )

    def connect(self, correlation_id: int = 900, version: int = ap.PROTOCOL_VERSION) -> int:
        """Open a control session in the old way; its id."""
        self.send(
            ap.ConnectRequest(
                correlation_id=correlation_id,
                response_stream_id=self.stream_id,
                version=version,
                response_channel="aeron:ipc",
            )
        )
        return self.wait_for(correlation_id)[0].control_session_id

    def error_count(self) -> int:
        """Errors that the archive has counted, wherever it does."""
        return sum(
            c.value
            for c in self.bench.counters()
            if c.type_id == ARCHIVE_ERRORS_TYPE or c.counter_id == SYSTEM_ERRORS
        )


@pytest.fixture
def raw(bench) -> Iterator[RawSession]:
    """A raw session on an archive that is used decently by somebody else."""
    session = RawSession(bench, bench.stream_id + 60_000)
    yield session
    session.aeron.close()


def listing(session_id: int, correlation_id: int) -> ap.ListRecordingsRequest:
    return ap.ListRecordingsRequest(
        control_session_id=session_id,
        correlation_id=correlation_id,
        from_recording_id=0,
        record_count=1,
    )


def truncated() -> bytes:
    whole = ap.StartRecordingRequest(
        control_session_id=1,
        correlation_id=2,
        stream_id=3,
        source_location=ap.SourceLocation.LOCAL,
        channel="aeron:ipc",
    ).encode()
    return whole[:20]


def hostile_length() -> bytes:
    head = ap.ConnectRequest(correlation_id=1, response_stream_id=5, response_channel="").encode()
    return head[:-4] + struct.pack("<I", 0x7FFFFFFF) + b"aeron:ipc"


BAD = {
    "wrong-schema": struct.pack("<HHHH", 8, 3, 102, 13) + bytes(8),
    "truncated-block": truncated(),
    "unknown-enum": ap.StartRecordingRequest(
        control_session_id=1,
        correlation_id=2,
        stream_id=3,
        source_location=ap.SourceLocation(9),
        channel="aeron:ipc",
    ).encode(),
    "unknown-session": listing(-77, 1).encode(),
    "unparsable-response-channel": ap.ConnectRequest(
        correlation_id=1, response_stream_id=5, response_channel="junk"
    ).encode(),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_message_is_counted_and_nothing_else(raw, name: str) -> None:
    check_dropped(raw, BAD[name])


@pytest.mark.parametrize("archive_server", ["ours", "ours-beside-java-driver"], indirect=True)
def test_a_hostile_length_is_not_believed(raw) -> None:
    """The reference believes it, and does not survive: this one is for ours alone."""
    check_dropped(raw, hostile_length())


def check_dropped(raw, message: bytes) -> None:
    """The message is counted as an error; its session and everybody else's go on."""
    session_id = raw.connect()
    before = raw.error_count()
    raw.send(message)
    wait_until(lambda: raw.error_count() > before, "the error to be counted")
    raw.send(ap.ArchiveIdRequest(control_session_id=session_id, correlation_id=901))
    (answer,) = raw.wait_for(901)
    assert (answer.code, answer.relevant_id) == (
        ap.ControlResponseCode.OK,
        raw.bench.archive.archiveId(),
    )
    assert raw.bench.archive.recordings(recording_id=999_999) == []


@pytest.mark.parametrize(
    "message",
    [struct.pack("<HHHH", 8, 999, 101, 13) + bytes(8), listing(-77, 1).encode()[:8] + bytes(2)],
    ids=["unknown-template", "no-fields"],
)
def test_the_archive_lives_on(raw, message: bytes) -> None:
    session_id = raw.connect()
    raw.send(message)
    raw.send(ap.ArchiveIdRequest(control_session_id=session_id, correlation_id=901))
    assert raw.wait_for(901)[0].code == ap.ControlResponseCode.OK


def test_a_client_of_another_major_version_is_told_so_until_it_leaves(raw) -> None:
    session_id = raw.connect(910, version=2 << 16)
    wait_until(lambda: len(raw.poll()) >= 2, "the error to be repeated")
    error = raw.received[0]
    assert isinstance(error, ap.ControlResponse)
    assert error.code == ap.ControlResponseCode.ERROR
    assert error.relevant_id == error.control_session_id == session_id
    assert error.error_message == "invalid client version 2.0.0, archive is 1.12.0"
    raw.send(ap.ArchiveIdRequest(control_session_id=session_id, correlation_id=911))
    raw.send(ap.CloseSessionRequest(control_session_id=session_id))
    wait_until(lambda: not raw.responses.is_connected, "the session to end")
    assert all(m.correlation_id == 910 for m in raw.received)


def test_the_ok_is_repeated_until_the_first_request(raw) -> None:
    session_id = raw.connect(920)
    wait_until(lambda: len(raw.poll()) >= 3, "repeated answers")
    raw.send(ap.KeepAliveRequest(control_session_id=session_id, correlation_id=921))
    raw.send(ap.ArchiveIdRequest(control_session_id=session_id, correlation_id=922))
    raw.wait_for(922)
    assert {m.correlation_id for m in raw.received} == {920, 922}


def test_the_descriptor_is_sent_with_the_catalogs_fill(raw) -> None:
    raw.bench.recorded(1, 64)
    session_id = raw.connect(930)
    raw.poll()
    raw.send(listing(session_id, 931))
    (found,) = wait_until(
        lambda: [
            m.data
            for m in raw.responses.poll_messages(100)
            if ap.MessageHeader.read(m.data).template_id == 22
        ],
        "a descriptor",
    )
    descriptor = ap.RecordingDescriptor.decode(found)
    assert (descriptor.control_session_id, descriptor.correlation_id) == (session_id, 931)
    # The message is as long as the catalog's entry, which is a multiple of 64 with its header.
    assert (len(found) - 8 + 32) % 64 == 0
    assert not any(found[len(descriptor.encode()) :])


def test_a_closed_session_hears_nothing_more(raw) -> None:
    session_id = raw.connect(940)
    raw.send(ap.ArchiveIdRequest(control_session_id=session_id, correlation_id=941))
    raw.wait_for(941)
    raw.send(ap.CloseSessionRequest(control_session_id=session_id))
    wait_until(lambda: not raw.responses.is_connected, "the session to end")
    before = raw.error_count()
    raw.send(listing(session_id, 942))
    wait_until(lambda: raw.error_count() > before, "the unknown session to be counted")


def test_a_replay_channel_that_is_none_gets_no_answer(raw) -> None:
    session_id = raw.connect(950)
    before = raw.error_count()
    raw.send(
        ap.ReplayRequest(
            control_session_id=session_id,
            correlation_id=951,
            recording_id=0,
            position=0,
            length=-1,
            replay_stream_id=5,
            replay_channel="junk",
        )
    )
    wait_until(lambda: raw.error_count() > before, "the error to be counted")
    raw.send(ap.ArchiveIdRequest(control_session_id=session_id, correlation_id=952))
    raw.wait_for(952)
    assert {m.correlation_id for m in raw.received} == {950, 952}
