"""However requests, answers, room and time come, each request ends once and the rules hold."""

from collections import deque
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from aerolog.archive.client import ArchiveClientOptions, request
from aerolog.archive.client.client_session import IN_FLIGHT_LIMIT, ControlSession
from aerolog.archive.protocol import (
    ControlResponse,
    ControlResponseCode,
    ListRecordingsRequest,
    decode,
)
from aerolog.transport.concurrent.clock import ManualClock
from aerolog.transport.errors import AeronTimeoutError, BackPressuredError

SESSION, TIMEOUT_NS = 42, 1_000_000_000
ACTIONS = st.lists(
    st.sampled_from(["ask", "list", "forget", "answer", "answer all", "room", "wait", "pump"]),
    max_size=60,
)


class Wire:
    """A control stream with room or without, whose archive answers when it is told to."""

    def __init__(self) -> None:
        self.has_room, self.is_connected = True, True
        self.unanswered: deque = deque()
        self.incoming: deque = deque()
        self.publication = self.subscription = SimpleNamespace(
            closed=False, is_connected=False, channel="aeron:ipc", stream_id=20, images=()
        )

    def offer(self, request: bytes) -> bool:
        if self.has_room:
            self.unanswered.append(decode(request))
        return self.has_room

    def poll(self) -> list:
        taken = list(self.incoming)
        self.incoming.clear()
        return taken

    def answer(self) -> None:
        if self.unanswered:
            request = self.unanswered.popleft()
            listing = isinstance(request, ListRecordingsRequest)
            code = ControlResponseCode.RECORDING_UNKNOWN if listing else ControlResponseCode.OK
            self.incoming.append(
                ControlResponse(
                    control_session_id=SESSION,
                    correlation_id=request.correlation_id,
                    relevant_id=request.correlation_id,
                    code=code,
                )
            )

    def report(self, error: BaseException) -> None:
        raise error

    def close(self) -> None:
        self.publication.closed = True


def outcome(pending):
    try:
        return pending.result()
    except (AeronTimeoutError, BackPressuredError) as error:
        return type(error)


@given(ACTIONS)
def test_each_request_ends_once_and_in_turn(actions):
    clock, wire = ManualClock(), Wire()
    session = ControlSession(
        wire, ArchiveClientOptions(clock=clock, message_timeout=1.0), SESSION, 0
    )
    begun, forgotten, sent_ever = [], set(), []
    for action in actions:
        if action in {"ask", "list"}:
            call = request.archive_id() if action == "ask" else request.list_recordings(0, 5)
            begun.append(session.begin(call, 100 + len(begun)))
        elif action == "forget" and begun:
            session.forget(begun[0])
            if not begun[0].done:
                forgotten.add(begun[0])
        elif action == "answer":
            wire.answer()
        elif action == "answer all":
            while wire.unanswered:
                wire.answer()
        elif action == "room":
            wire.has_room = not wire.has_room
        elif action == "wait":
            clock.advance_ns(TIMEOUT_NS + 1)
        before = len(wire.unanswered)
        session.pump()
        sent_ever += [one.correlation_id for one in list(wire.unanswered)[before:]]
        under_way = [one for one in begun if one.sent_ns is not None and not one.done]
        under_way = [one for one in under_way if one not in forgotten]
        assert len(under_way) <= IN_FLIGHT_LIMIT
        assert sum(one.request.listing is not None for one in under_way) <= 1
    assert sent_ever == sorted(sent_ever)

    wire.has_room = True
    for _ in begun:  # one listing after the other
        session.pump()
        while wire.unanswered:
            wire.answer()
        session.pump()
    clock.advance_ns(TIMEOUT_NS + 1)
    session.pump()
    for pending in begun:
        if pending in forgotten:
            assert not pending.done
        else:
            expected = [] if pending.request.listing else pending.correlation_id
            assert outcome(pending) in (expected, AeronTimeoutError, BackPressuredError)
    stats = session.stats
    assert stats.answers + stats.timeouts <= stats.requests <= len(begun)
