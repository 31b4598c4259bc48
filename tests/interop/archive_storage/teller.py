"""A raw session with an archive that writes down what the archive says and stores."""

from __future__ import annotations

import hashlib
import itertools
import re
import time
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from aerolog.archive import protocol as ap
from aerolog.archive.protocol.counter_types import ArchiveCounterType
from aerolog.transport.client import Aeron

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from peer.servers import Server

    from aerolog.transport.client import ExclusivePublication

WAIT_S = 30.0
FRAME = 1024
PAYLOAD = FRAME - 32
TERM = 64 * 1024
SEGMENT = 128 * 1024
REPLAY_SESSIONS = ArchiveCounterType.REPLAY_SESSIONS
QUIET = 1 << 40  # the first id of requests of which as many are sent as it takes
MASKED = {"start_timestamp", "stop_timestamp", "control_session_id", "version"}
# Ids of subscriptions, replays and sessions differ from run to run.
GIVES_AN_ID = {
    ap.ConnectRequest,
    ap.StartRecordingRequest,
    ap.StartRecordingRequest2,
    ap.ExtendRecordingRequest,
    ap.ExtendRecordingRequest2,
    ap.ReplayRequest,
}
# Chosen, so that frames have the same bytes on both; never twice, since streams take time to end.
_sessions: defaultdict[str, Iterator[int]] = defaultdict(lambda: itertools.count(5001))
_response_streams: defaultdict[str, Iterator[int]] = defaultdict(lambda: itertools.count(2001))
MASKED |= {"subscription_id", "correlation_id"}


def message_of(index: int) -> bytes:
    """The message with a number, which says it many times."""
    return f"{index:015d}\n".encode() * (PAYLOAD // 16)


class Teller:
    """Speaks the protocol to an archive of either make and keeps the minutes.

    Attributes:
        lines: what has been said so far, without what differs from run to run.
    """

    def __init__(self, server: Server) -> None:
        self.server = server
        self.aeron = Aeron(server.aeron_dir)
        # A stream of its own: what earlier sessions have not read would come to a later one.
        stream_id = next(_response_streams[server.aeron_dir])
        self.responses = self.aeron.add_subscription("aeron:ipc", stream_id)
        self.requests = self.aeron.add_exclusive_publication("aeron:ipc?term-length=64k", 10)
        self.wait(lambda: self.requests.is_connected, "the archive to listen")
        self._ids = itertools.count(1)
        self._quiet_ids = itertools.count(QUIET)
        self._received: list[ap.Message] = []
        self._told = 0
        self._given_ids: set[int] = set()
        self.lines: list[str] = []
        self.session_id = 0
        self.session_id = self.answer(
            self.post(
                ap.ConnectRequest,
                response_stream_id=stream_id,
                version=ap.PROTOCOL_VERSION,
                response_channel="aeron:ipc",
            )
        ).relevant_id
        self.tell("connected")
        self.lines.clear()
        self._recordings: set[int] = set()

    @staticmethod
    def wait(condition: Callable[[], Any], what: str) -> Any:
        """The first true answer of a condition; fails when there is none in time."""
        deadline = time.monotonic() + WAIT_S
        while not (answer := condition()):
            assert time.monotonic() < deadline, f"not within {WAIT_S} s: {what}"
            time.sleep(0.001)
        return answer

    # -- messages ---------------------------------------------------------------------------------

    def post(
        self, request: type[ap.Message], correlation_id: int | None = None, **values: Any
    ) -> int:
        """Send a request; its correlation id."""
        if correlation_id is None:
            correlation_id = next(self._ids)
        if request in GIVES_AN_ID:
            self._given_ids.add(correlation_id)
        if "control_session_id" in {f.name for f in fields(request)}:
            values = {"control_session_id": self.session_id, **values}
        self.requests.send(request(correlation_id=correlation_id, **values).encode())
        return correlation_id

    def poll(self) -> list[ap.Message]:
        """All messages so far, without pings."""
        for found in self.responses.poll_messages(100):
            message = ap.decode(found.data)
            if message is not None and not isinstance(message, ap.Ping):
                self._received.append(message)
        return self._received

    def find(self, kind: type[ap.Message], correlation_id: int) -> list[Any]:
        """Messages of a kind that carry a request's correlation id."""
        return [
            m
            for m in self.poll()
            if isinstance(m, kind) and getattr(m, "correlation_id", None) == correlation_id
        ]

    def answer(self, correlation_id: int) -> ap.ControlResponse:
        """The first control response to a request."""
        what = f"an answer to {correlation_id}"
        found = self.wait(lambda: self.find(ap.ControlResponse, correlation_id), what)[0]
        assert isinstance(found, ap.ControlResponse)
        return found

    def signal(self, correlation_id: int, signal: ap.RecordingSignal) -> None:
        """Wait for a signal of a request."""
        self.wait(
            lambda: any(
                m.signal == signal for m in self.find(ap.RecordingSignalEvent, correlation_id)
            ),
            f"signal {signal.name} of {correlation_id}",
        )

    def quietly(self, request: type[ap.Message], **values: Any) -> ap.ControlResponse:
        """Ask what is no part of the story; the answer is not written down."""
        correlation_id = self.post(request, next(self._quiet_ids), **values)
        answer = self.answer(correlation_id)
        self._received.remove(answer)
        return answer

    def settle(self) -> None:
        """Everything that the archive had to say is here: it has answered once more."""
        self.quietly(ap.ArchiveIdRequest)

    def tell(self, title: str) -> None:
        """Write down a title and the messages since the last one."""
        self.settle()
        self.lines.append(f"-- {title}")
        self.lines += [self._text(m) for m in self._received[self._told :]]
        self._told = len(self._received)

    def _text(self, message: ap.Message) -> str:
        shown = [type(message).__name__]
        for field in fields(message):
            value = getattr(message, field.name)
            if field.name in MASKED or field.name in {"subscription_id", "correlation_id"}:
                value = "-" if value != -1 else -1
            elif isinstance(value, str):
                value = value.replace(str(self.server.archive_dir), "<folder>")
            elif field.name == "relevant_id" and message.correlation_id in self._given_ids:
                value = "<id>" if message.code == ap.ControlResponseCode.OK else value
            shown.append(f"{field.name}={value}")
        return " ".join(shown)

    # -- requests ---------------------------------------------------------------------------------

    def ask(
        self,
        request: type[ap.Message],
        *,
        until: ap.RecordingSignal | None = None,
        title: str | None = None,
        **values: Any,
    ) -> ap.ControlResponse:
        """Send a request and write down what comes of it; with ``until`` a signal is waited for."""
        correlation_id = self.post(request, **values)
        answer = self.answer(correlation_id)
        if until is not None and answer.code == ap.ControlResponseCode.OK:
            self.signal(correlation_id, until)
        shown = " ".join(f"{k}={v}" for k, v in values.items())
        self.tell(title or f"{request.__name__} {shown}")
        return answer

    def describe(self, recording_id: int) -> list[ap.RecordingDescriptor]:
        """Write down the catalog's entry of a recording."""
        correlation_id = self.post(ap.ListRecordingRequest, recording_id=recording_id)
        self.wait(
            lambda: (
                self.find(ap.RecordingDescriptor, correlation_id)
                or self.find(ap.ControlResponse, correlation_id)
            ),
            f"a description of {recording_id}",
        )
        found = self.find(ap.RecordingDescriptor, correlation_id)
        self.tell(f"recording {recording_id}")
        return found

    def list(self, request: type[ap.Message], count: int, **values: Any) -> None:
        """Write down the descriptors that a listing gives, and what ends it."""
        correlation_id = self.post(request, record_count=count, **values)
        self.wait(
            lambda: (
                self.find(ap.ControlResponse, correlation_id)
                or len(self.find(ap.RecordingDescriptor, correlation_id)) == count
            ),
            f"the end of listing {correlation_id}",
        )
        shown = " ".join(f"{k}={v}" for k, v in values.items())
        self.tell(f"{request.__name__} {count} {shown}")

    def ask_nothing(self, request: type[ap.Message], **values: Any) -> None:
        """Send a request that has no answer."""
        correlation_id = self.post(request, **values)
        self.tell(f"{request.__name__} without an answer")
        assert not any(getattr(m, "correlation_id", None) == correlation_id for m in self.poll())

    # -- recordings -------------------------------------------------------------------------------

    def start(
        self,
        stream_id: int,
        *,
        position: int = 0,
        initial_term_id: int = 7,
        term_length: int = TERM,
        options: str = "",
        extends: int | None = None,
    ) -> Live:
        """Record a publication that begins at a position."""
        term_id = initial_term_id + position // term_length
        session_id = next(_sessions[self.server.aeron_dir])
        channel = (
            f"aeron:ipc?term-length={term_length}|session-id={session_id}"
            f"|init-term-id={initial_term_id}|term-id={term_id}"
            f"|term-offset={position % term_length}{options}"
        )
        values = {
            "stream_id": stream_id,
            "source_location": ap.SourceLocation.LOCAL,
            "channel": "aeron:ipc",
        }
        if extends is None:
            correlation_id = self.post(ap.StartRecordingRequest, **values)
        else:
            correlation_id = self.post(ap.ExtendRecordingRequest, recording_id=extends, **values)
        assert self.answer(correlation_id).code == ap.ControlResponseCode.OK
        publication = self.aeron.add_exclusive_publication(channel, stream_id)
        wanted = ap.RecordingSignal.START if extends is None else ap.RecordingSignal.EXTEND
        self.signal(correlation_id, wanted)
        (signal,) = [
            m for m in self.find(ap.RecordingSignalEvent, correlation_id) if m.signal == wanted
        ]
        self._recordings.add(signal.recording_id)
        return Live(self, publication, signal.recording_id, stream_id, correlation_id, position)

    def recorded(self, stream_id: int, length: int, **options: Any) -> int:
        """A stopped recording of so many bytes; its id. It is written down as one line."""
        live = self.start(stream_id, **options)
        live.publish(length)
        live.stop()
        self._told = len(self._received)
        self.lines.append(f"-- recorded {live.recording_id}: {length} bytes {options}")
        return live.recording_id

    @contextmanager
    def replaying(
        self, recording_id: int, position: int, stream_id: int, options: str = ""
    ) -> Iterator[int]:
        """A replay that follows, for as long as the block lasts; its replay session id."""
        channel = f"aeron:ipc?term-length=64k{options}"
        subscription = self.aeron.add_subscription(channel, stream_id)
        request = self.post(
            ap.ReplayRequest,
            recording_id=recording_id,
            position=position,
            length=2**63 - 1,
            file_io_max_length=-1,
            replay_stream_id=stream_id,
            replay_channel=channel,
        )
        answer = self.answer(request)
        assert answer.code == ap.ControlResponseCode.OK, answer
        self.wait(lambda: subscription.images, "the image of the replay")
        yield answer.relevant_id
        self.quietly(ap.StopReplayRequest, replay_session_id=answer.relevant_id)
        # The archive lets go of it a moment later.
        self.wait(lambda: not subscription.images, "the end of the replay")
        self.wait(lambda: self.counter(REPLAY_SESSIONS) == 0, "the end of all replays")
        subscription.close()

    def replayed(self, recording_id: int, position: int, length: int, stream_id: int) -> None:
        """Write down what a replay of a stopped recording gives, or why there is none."""
        channel = "aeron:ipc?term-length=64k"
        subscription = self.aeron.add_subscription(channel, stream_id)
        answer = self.ask(
            ap.ReplayRequest,
            recording_id=recording_id,
            position=position,
            length=length,
            file_io_max_length=-1,
            replay_stream_id=stream_id,
            replay_channel=channel,
        )
        if answer.code == ap.ControlResponseCode.OK:
            digest, count = hashlib.sha256(), 0
            self.wait(lambda: subscription.images, "the image of the replay")
            while subscription.images:
                for message in subscription.poll_messages(100):
                    digest.update(message.data)
                    count += 1
            self.lines.append(f"{count} messages {digest.hexdigest()[:16]}")
            self.wait(lambda: self.counter(REPLAY_SESSIONS) == 0, "the end of all replays")
        subscription.close()

    def counter(self, type_id: int) -> int:
        """Value of the only counter of a type."""
        (found,) = [c for c in self.aeron.counters.infos() if c.type_id == type_id]
        return found.value

    # -- the folder -------------------------------------------------------------------------------

    def folder(self, title: str = "folder") -> None:
        """Write down the files of this session's recordings: names, lengths, what they hold."""
        self.settle()
        self.lines.append(f"-- {title}")
        for path in sorted(self.server.archive_dir.iterdir()):
            owner = re.match(r"(\d+)-", path.name)
            if owner and int(owner[1]) in self._recordings:
                if not path.is_file():
                    self.lines.append(f"{path.name} is no file")
                    continue
                data = path.read_bytes()
                digest = hashlib.sha256(data).hexdigest()[:16]
                used = len(data.rstrip(b"\0"))
                self.lines.append(f"{path.name} {len(data)} used={used} {digest}")

    def path(self, name: str) -> Any:
        """A file of the archive's folder."""
        return self.server.archive_dir / name

    def close(self) -> None:
        """End the session."""
        self.requests.send(ap.CloseSessionRequest(control_session_id=self.session_id).encode())
        self.aeron.close()


class Live:
    """A recording that is going on."""

    def __init__(
        self,
        teller: Teller,
        publication: ExclusivePublication,
        recording_id: int,
        stream_id: int,
        correlation_id: int,
        position: int,
    ) -> None:
        self.teller = teller
        self.publication = publication
        self.recording_id = recording_id
        self.stream_id = stream_id
        self.correlation_id = correlation_id
        self._count = position // FRAME

    def publish(self, length: int) -> int:
        """Publish frames of 1 KiB until so many bytes; the position when they are recorded."""
        assert length % FRAME == 0
        for _ in range(length // FRAME):
            self.publication.send(message_of(self._count), timeout=WAIT_S)
            self._count += 1
        position = self.publication.position
        self.teller.wait(
            lambda: (
                self.teller.quietly(
                    ap.RecordingPositionRequest, recording_id=self.recording_id
                ).relevant_id
                >= position
            ),
            f"position {position}",
        )
        return position

    def stop(self) -> None:
        """Stop the recording and the publication."""
        teller = self.teller
        teller.answer(
            teller.post(ap.StopRecordingRequest, stream_id=self.stream_id, channel="aeron:ipc")
        )
        teller.signal(self.correlation_id, ap.RecordingSignal.STOP)
        self.publication.close()
