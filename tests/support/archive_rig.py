"""A driver, an archive and a raw client in one thread, on a clock and a disk of the test's own."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest

from aerolog.archive import protocol as ap
from aerolog.archive.service import ArchivingMediaDriver
from aerolog.testing import FakeFileSystem
from aerolog.transport.client import Aeron
from aerolog.transport.concurrent.clock import ManualClock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aerolog.transport.client import ExclusivePublication

TURNS = 2000
STEP_NS = 1_000_000
CHANNEL = "aeron:ipc?term-length=64k"
RESPONSE_STREAM = 20
CONTROL_STREAM = 10


class Rig:
    """The whole of it; ``turn`` moves time by a millisecond and everybody by one cycle."""

    def __init__(self, **archive_options: object) -> None:
        self.clock = ManualClock()
        self.disk = archive_options.pop("disk", None) or FakeFileSystem()
        self.folder = "/archive"
        self.both = ArchivingMediaDriver(
            "/aeron",
            self.folder,
            driver_options={
                "threading_mode": "INVOKER",
                "ipc_term_buffer_length": "64k",
                "term_buffer_sparse_file": True,
            },
            archive_options={
                "threading_mode": "INVOKER",
                "segment_file_length": "64k",
                "archive_id": 7,
                **archive_options,
            },
            clock=self.clock,
            file_system=self.disk,
        )
        self.aeron = Aeron(
            "/aeron",
            invoker=True,
            driver_invoker=self.turn,
            clock=self.clock,
            file_system=self.disk,
        )
        self.correlation_ids = itertools.count(1000)
        self.received: list[ap.Message] = []
        self.responses = self.aeron.add_subscription("aeron:ipc", RESPONSE_STREAM)
        self.requests = self.aeron.add_exclusive_publication(CHANNEL, CONTROL_STREAM)
        self.session_id = 0

    @property
    def archive(self) -> Any:
        """The archive."""
        return self.both.archive

    def turn(self, count: int = 1) -> None:
        """Let a number of milliseconds pass."""
        for _ in range(count):
            self.clock.advance_ns(STEP_NS)
            self.both.do_work()

    def wait(self, condition: Callable[[], Any], what: str) -> Any:
        """Turn until a condition holds."""
        for _ in range(TURNS):
            answer = condition()
            if answer:
                return answer
            self.turn()
            self.aeron.do_work()
        raise AssertionError(f"never: {what}")

    def pass_time(self, milliseconds: int) -> None:
        """Let time pass for everybody."""
        for _ in range(milliseconds):
            self.turn()
            self.aeron.do_work()

    # -- the raw client ---------------------------------------------------------------------------

    def connect(self, response_channel: str = "aeron:ipc", **fields: Any) -> int:
        """Open a control session, which further requests are sent in."""
        correlation_id = next(self.correlation_ids)
        self.send(
            ap.AuthConnectRequest(
                correlation_id=correlation_id,
                response_stream_id=RESPONSE_STREAM,
                response_channel=response_channel,
                **fields,
            )
        )
        answer = self.answer_to(correlation_id)
        self.session_id = answer.control_session_id
        return self.session_id

    def send(self, message: ap.Message | bytes) -> None:
        """Send a message, whatever it is."""
        data = message if isinstance(message, bytes) else message.encode()
        self.wait(lambda: self.requests.offer(data) > 0, "room for a request")

    def poll(self) -> list[ap.Message]:
        """Everything that has come, without pings."""
        for found in self.responses.poll_messages(1000):
            message = ap.decode(found.data)
            assert message is not None
            if not isinstance(message, ap.Ping):
                self.received.append(message)
        return self.received

    def answers(self, correlation_id: int) -> list[ap.ControlResponse]:
        """All control responses to a request so far."""
        return [
            m
            for m in self.poll()
            if isinstance(m, ap.ControlResponse) and m.correlation_id == correlation_id
        ]

    def answer_to(self, correlation_id: int) -> ap.ControlResponse:
        """The first answer to a request."""
        return self.wait(lambda: self.answers(correlation_id), f"an answer to {correlation_id}")[0]

    def post(self, request: type[ap.Message], **fields: Any) -> int:
        """Send a request of the session; its correlation id."""
        correlation_id = next(self.correlation_ids)
        self.send(
            request(control_session_id=self.session_id, correlation_id=correlation_id, **fields)
        )
        return correlation_id

    def ask(self, request: type[ap.Message], **fields: Any) -> int:
        """Send a request that succeeds; the relevant id of its OK."""
        answer = self.answer_to(self.post(request, **fields))
        assert answer.code == ap.ControlResponseCode.OK, answer
        return answer.relevant_id

    def refused(self, request: type[ap.Message], **fields: Any) -> tuple[int, str]:
        """Send a request that is refused; code and text."""
        answer = self.answer_to(self.post(request, **fields))
        assert answer.code == ap.ControlResponseCode.ERROR, answer
        return answer.relevant_id, answer.error_message

    def start(self, stream_id: int, channel: str = CHANNEL) -> int:
        """Start a recording; id of the subscription."""
        return self.ask(
            ap.StartRecordingRequest,
            stream_id=stream_id,
            source_location=ap.SourceLocation.LOCAL,
            channel=channel,
        )

    def publish(self, stream_id: int, *messages: bytes) -> ExclusivePublication:
        """A recorded publication with messages in it, all of them recorded."""
        before = len(self.archive._conductor.recordings.sessions)
        publication = self.aeron.add_exclusive_publication(CHANNEL, stream_id)
        self.wait(
            lambda: len(self.archive._conductor.recordings.sessions) > before, "the recording"
        )
        for message in messages:
            self.wait(lambda m=message: publication.offer(m) > 0, "room for a message")
        recording_id = max(self.archive._conductor.recordings.sessions)
        self.wait(
            lambda: (
                self.archive._conductor.recordings.position(recording_id) == publication.position
            ),
            "the messages to be recorded",
        )
        return publication

    def signals(self) -> list[tuple[str, int, int]]:
        """Signals so far: name, recording id, position."""
        return [
            (m.signal.name, m.recording_id, m.position)
            for m in self.poll()
            if isinstance(m, ap.RecordingSignalEvent)
        ]

    def errors(self) -> list[str]:
        """Texts in the archive's error log."""
        return [error.text for error in self.archive._mark_file.errors()]

    def counter(self, type_id: int) -> int:
        """Value of the only counter of a type."""
        (found,) = [c for c in self.aeron.counters.infos() if c.type_id == type_id]
        return found.value

    def close(self) -> None:
        """End everything."""
        self.aeron.close()
        self.both.close()


@pytest.fixture
def make_rig() -> Iterator[Callable[..., Rig]]:
    """Makes rigs with options of the archive."""
    made: list[Rig] = []

    def make(**options: object) -> Rig:
        made.append(Rig(**options))
        return made[-1]

    yield make
    for rig in made:
        rig.close()


@pytest.fixture
def rig(make_rig: Callable[..., Rig]) -> Rig:
    """A rig with a session that is open."""
    rig = make_rig()
    rig.connect()
    return rig
