"""A source that says whatever a test wants it to, and an archive that copies from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from archive_rig import CHANNEL, Rig

from aerolog.archive import protocol as ap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aerolog.transport.client import ExclusivePublication

SOURCE_STREAM = 555
SOURCE_RESPONSES = 21
SOURCE_SESSION = 99
RECORDING_ID = 3
REPLICATION_CHANNEL = "aeron:udp?endpoint=127.0.0.1:0"
Answer = ap.Message | bytes | None


def descriptor(**changes: Any) -> dict[str, Any]:
    """Fields of a descriptor that nothing is wrong with."""
    return {
        "recording_id": RECORDING_ID,
        "start_timestamp": 1_000,
        "stop_timestamp": 2_000,
        "start_position": 0,
        "stop_position": 4096,
        "initial_term_id": 7,
        "segment_file_length": 128 * 1024,
        "term_buffer_length": 64 * 1024,
        "mtu_length": 1408,
        "session_id": 42,
        "stream_id": 1001,
        "stripped_channel": "aeron:ipc",
        "original_channel": CHANNEL,
        "source_identity": "aeron:ipc",
    } | changes


class FakeSource:
    """Takes requests and answers as it was told; without being told, as a decent archive does."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.requests = rig.aeron.add_subscription("aeron:ipc", SOURCE_STREAM)
        self.responses: ExclusivePublication | None = None
        self.seen: list[ap.Message] = []
        self.described = descriptor()
        self.answers: dict[type[ap.Message], Callable[[Any], list[Answer]]] = {
            ap.AuthConnectRequest: lambda r: [self.ok(r, SOURCE_SESSION)],
            ap.ArchiveIdRequest: lambda r: [self.ok(r, 77)],
            ap.ListRecordingRequest: lambda r: [self.descriptor_for(r)],
            ap.RecordingPositionRequest: lambda r: [self.ok(r, 4096)],
            ap.ReplayRequest: lambda r: [self.ok(r, 1 << 32 | 42)],
            ap.ReplayTokenRequest: lambda r: [self.ok(r, 12345)],
        }

    def ok(self, request: Any, relevant_id: int = 0) -> ap.ControlResponse:
        """Agreement."""
        return self.response(request, relevant_id, ap.ControlResponseCode.OK)

    def error(self, request: Any, code: int, text: str) -> ap.ControlResponse:
        """Refusal."""
        return self.response(request, code, ap.ControlResponseCode.ERROR, text)

    def response(
        self, request: Any, relevant_id: int, code: ap.ControlResponseCode, text: str = ""
    ) -> ap.ControlResponse:
        """Any answer to a request."""
        return ap.ControlResponse(
            control_session_id=SOURCE_SESSION,
            correlation_id=request.correlation_id,
            relevant_id=relevant_id,
            code=code,
            error_message=text,
        )

    def descriptor_for(self, request: Any, **changes: Any) -> ap.RecordingDescriptor:
        """What it says of its recording."""
        return ap.RecordingDescriptor(
            control_session_id=SOURCE_SESSION,
            correlation_id=request.correlation_id,
            **self.described | changes,
        )

    def asked(self, kind: type[ap.Message]) -> list[Any]:
        """Requests of a kind so far."""
        return [request for request in self.seen if isinstance(request, kind)]

    def replay(self, request: ap.ReplayRequest, **terms: int) -> ExclusivePublication:
        """Publish where a replay was asked for, from its position on unless told otherwise."""
        values = {"init-term-id": 7, "term-id": 7, "term-offset": request.position} | terms
        parameters = "|".join(f"{key}={value}" for key, value in values.items())
        return self.rig.aeron.add_exclusive_publication(
            f"{request.replay_channel}|term-length=64k|mtu=1408|linger=0|{parameters}",
            request.replay_stream_id,
        )

    def turn(self) -> None:
        """Take requests, answer them."""
        for found in self.requests.poll_messages(100):
            request = ap.decode(found.data)
            assert request is not None
            self.seen.append(request)
            if isinstance(request, ap.AuthConnectRequest):
                self.connect(request)
            for answer in self.answers.get(type(request), lambda _: [])(request):
                self.send(answer)

    def connect(self, request: ap.AuthConnectRequest) -> None:
        """Open the stream of responses that a client asks for."""
        if self.responses is not None:
            self.responses.close()
        self.responses = self.rig.aeron.add_exclusive_publication(
            request.response_channel, request.response_stream_id
        )

    def send(self, answer: Answer) -> None:
        """Send a message, whatever it is."""
        assert self.responses is not None
        responses = self.responses
        if answer is not None:
            data = answer if isinstance(answer, bytes) else answer.encode()
            self.rig.wait(lambda: responses.offer(data) > 0, "room for a response")


class Copying:
    """A replication of the archive of a rig."""

    def __init__(self, rig: Rig, source: FakeSource) -> None:
        self.rig, self.source = rig, source
        self.replication_id = -1
        self.before = self.resources()

    def resources(self) -> tuple[int, int, int]:
        """Streams of the archive's client that are open, and recordings in its catalog."""
        context = self.rig.archive._context
        conductor = context.aeron.conductor
        return (
            sum(not s.closed for s in list(conductor.subscriptions.values())),
            sum(not s.closed for s in list(conductor.publications.values())),
            len(list(context.catalog.ids())),
        )

    def start(self, **fields: Any) -> None:
        """Ask for it."""
        defaults = {
            "src_recording_id": RECORDING_ID,
            "dst_recording_id": -1,
            "stop_position": -1,
            "channel_tag_id": -1,
            "subscription_tag_id": -1,
            "src_control_stream_id": SOURCE_STREAM,
            "src_control_channel": "aeron:ipc",
            "src_response_channel": "aeron:ipc",
            "replication_channel": REPLICATION_CHANNEL,
        }
        self.replication_id = self.rig.ask(ap.ReplicateRequest2, **defaults | fields)

    def turn(self) -> None:
        """One turn of everybody."""
        self.rig.turn()
        self.rig.aeron.do_work()
        self.source.turn()

    def wait(self, condition: Callable[[], Any], what: str) -> Any:
        """Turn until a condition holds."""
        for _ in range(45_000):
            answer = condition()
            if answer:
                return answer
            self.turn()
        raise AssertionError(f"never: {what}; told: {self.told()}")

    def wait_asked(self, kind: type[ap.Message]) -> Any:
        """The first request of a kind that the source gets."""
        return self.wait(lambda: self.source.asked(kind), f"a {kind.__name__}")[0]

    def told(self) -> list[str]:
        """What came of it so far: errors with code and text, signals by name."""
        lines = []
        for message in self.rig.poll():
            if getattr(message, "correlation_id", None) != self.replication_id:
                continue
            if isinstance(message, ap.RecordingSignalEvent):
                lines.append(message.signal.name)
            elif isinstance(message, ap.ControlResponse):
                is_ok = message.code == ap.ControlResponseCode.OK
                lines.append("OK" if is_ok else f"{message.relevant_id} {message.error_message}")
        return lines

    def wait_end(self) -> list[str]:
        """What was told until it ended."""
        self.wait(lambda: "REPLICATE_END" in self.told(), "the end of the replication")
        for _ in range(20):
            self.turn()
        return self.told()


@pytest.fixture
def rig(request: pytest.FixtureRequest) -> Iterator[Rig]:
    """An archive with an open session; responses of sources have a stream of their own.

    Its parameter, if it has one, is further options of the archive.
    """
    options = {"low_storage_space_threshold": 0} | getattr(request, "param", {})
    made = Rig(control_response_stream_id=SOURCE_RESPONSES, **options)
    made.connect()
    yield made
    made.close()


@pytest.fixture
def source(rig: Rig) -> FakeSource:
    """The source."""
    return FakeSource(rig)


@pytest.fixture
def copying(rig: Rig, source: FakeSource) -> Copying:
    """A replication that a test starts."""
    return Copying(rig, source)
