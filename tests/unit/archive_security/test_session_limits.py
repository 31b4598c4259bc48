"""Many sessions, and clients that never read: bounded memory, bounded cycles, counted ends."""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING

import pytest

from aerolog.archive import protocol as ap
from aerolog.archive.protocol.counter_types import ArchiveCounterType
from aerolog.archive.service.conductor.control_session import QUEUED_OVERHEAD, SessionEnd

if TYPE_CHECKING:
    from collections.abc import Iterator

    from archive_rig import Rig

CONTROL_SESSIONS = ArchiveCounterType.CONTROL_SESSIONS
SESSION_COUNTER = ArchiveCounterType.CONTROL_SESSION
REFUSED = ArchiveCounterType.SESSIONS_REFUSED
DROPPED = ArchiveCounterType.SESSIONS_DROPPED
SILENT = 1000
CYCLE_LIMIT_S = 0.1  # the archive's own threshold for a cycle that is too long


def dropped(rig: Rig) -> dict[str, int]:
    """Ends of sessions by their reasons, those that happened."""
    marks = (" Dropped: ", " - archiveId=")
    return {
        c.label.split(marks[0])[1].split(marks[1])[0]: c.value
        for c in rig.aeron.counters.infos()
        if c.type_id == DROPPED and c.value
    }


def connect_request(correlation_id: int, stream_id: int = 20) -> bytes:
    return ap.AuthConnectRequest(
        correlation_id=correlation_id,
        response_stream_id=stream_id,
        response_channel="aeron:ipc",
    ).encode()


def sessions(rig: Rig):
    return rig.archive._conductor._sessions


def test_a_client_above_the_limit_is_told_so(make_rig) -> None:
    rig = make_rig(max_control_sessions=2)
    first = rig.connect()
    rig.connect()
    rig.send(connect_request(1))
    refused = rig.answer_to(1)
    assert refused.code == ap.ControlResponseCode.ERROR
    assert (refused.relevant_id, refused.error_message) == (
        0,
        "max concurrent control sessions reached 2",
    )
    assert rig.counter(REFUSED) == 1
    # It is no session: requests in it are dropped, and it makes no room when it goes.
    rig.session_id = refused.control_session_id
    correlation_id = rig.post(ap.ArchiveIdRequest)
    rig.send(ap.CloseSessionRequest(control_session_id=refused.control_session_id))
    rig.send(connect_request(2))
    assert rig.answer_to(2).code == ap.ControlResponseCode.ERROR
    assert rig.answers(correlation_id) == []
    # Room is made by a session that ends.
    rig.send(ap.CloseSessionRequest(control_session_id=first))
    rig.send(connect_request(3))
    assert rig.answer_to(3).code == ap.ControlResponseCode.OK
    assert dropped(rig) == {}


def test_clients_far_above_the_limit_cost_nothing(make_rig) -> None:
    rig = make_rig(max_control_sessions=1)
    rig.connect()
    for correlation_id in range(200):
        rig.send(connect_request(correlation_id))
    rig.wait(lambda: rig.counter(REFUSED) == 200, "the refusals")
    assert len(sessions(rig)) == 17
    rig.pass_time(6000)
    assert len(sessions(rig)) == rig.counter(CONTROL_SESSIONS) == 1
    assert rig.ask(ap.ArchiveIdRequest) == 7


def test_what_a_client_leaves_unread_is_kept_up_to_a_limit(make_rig) -> None:
    limit = 8 * 1024
    rig = make_rig(response_queue_length=limit)
    rig.connect()
    rig.ask(ap.ArchiveIdRequest)
    (session,) = sessions(rig)._sessions.values()
    query = ap.StartPositionRequest(
        control_session_id=rig.session_id, correlation_id=1, recording_id=99
    ).encode()
    longest = 0
    for _ in range(2000):
        rig.requests.offer(query)
        rig.turn()
        queued = sum(len(message) + QUEUED_OVERHEAD for message in session._sync_queue)
        assert queued == session._queued_length * (not session.is_done)
        longest = max(longest, queued)
        if session.is_done:
            break
    assert limit / 2 < longest <= limit
    assert rig.counter(CONTROL_SESSIONS) == 0
    assert dropped(rig) == {SessionEnd.NOT_READING.value: 1}
    assert any(f"more than {limit} bytes of responses not read" in text for text in rig.errors())
    assert len(session._sync_queue) == 0


def test_what_was_queued_comes_in_order_when_the_client_reads_again(rig) -> None:
    rig.ask(ap.ArchiveIdRequest)
    rig.poll()
    ids = range(5000, 5600)
    for correlation_id in ids:
        rig.wait(
            lambda correlation_id=correlation_id: (
                rig.requests.offer(
                    ap.StartPositionRequest(
                        control_session_id=rig.session_id,
                        correlation_id=correlation_id,
                        recording_id=99,
                    ).encode()
                )
                > 0
            ),
            "room for a request",
        )
    (session,) = sessions(rig)._sessions.values()
    rig.wait(lambda: len(session._sync_queue) > 100, "unread responses")
    rig.wait(
        lambda: (
            [m.correlation_id for m in rig.poll() if getattr(m, "correlation_id", 0) >= 5000]
            == list(ids)
        ),
        "all responses in order",
    )
    assert session._queued_length == 0


def test_a_session_that_never_asks_anything_is_dropped_when_it_does_not_read(make_rig) -> None:
    rig = make_rig(control_term_buffer_length="64k")
    rig.connect()
    for _ in range(400):  # an OK every 200 ms fills the log
        rig.clock.advance_ns(200_000_000)
        rig.turn()
        rig.aeron.do_work()
        if rig.counter(CONTROL_SESSIONS) == 0:
            break
    assert dropped(rig) == {SessionEnd.NOT_READING.value: 1}


def test_every_end_of_a_session_has_its_counter(make_rig) -> None:
    rig = make_rig()
    rig.send(connect_request(1, stream_id=555))  # nobody listens there
    rig.wait(lambda: rig.counter(CONTROL_SESSIONS) == 1, "the session")
    rig.pass_time(5200)
    assert dropped(rig) == {SessionEnd.NOT_ESTABLISHED.value: 1}

    rig = make_rig()
    rig.connect()
    rig.ask(ap.ArchiveIdRequest)
    rig.requests.close()
    rig.wait(lambda: rig.counter(CONTROL_SESSIONS) == 0, "the session to end")
    assert dropped(rig) == {SessionEnd.CLIENT_GONE.value: 1}

    rig = make_rig()
    rig.connect()
    rig.ask(ap.ArchiveIdRequest)
    rig.responses.close()
    rig.wait(lambda: rig.counter(CONTROL_SESSIONS) == 0, "the session to end")
    assert dropped(rig) == {SessionEnd.CLIENT_GONE.value: 1}

    rig = make_rig()
    rig.connect()
    rig.send(ap.CloseSessionRequest(control_session_id=rig.session_id))
    rig.wait(lambda: rig.counter(CONTROL_SESSIONS) == 0, "the session to end")
    assert dropped(rig) == {}


def test_a_refusal_of_a_request_as_long_as_it_can_be_fits_into_a_response(rig) -> None:
    code, text = rig.refused(
        ap.StopRecordingRequest, stream_id=7, channel="aeron:ipc?alias=" + "x" * 8100
    )
    assert code == 0
    assert text.startswith("URI length ")
    assert text.endswith("xxx")
    longest = "aeron:ipc?alias=" + "x" * (4095 - 16)
    assert rig.refused(ap.StopRecordingRequest, stream_id=7, channel=longest) == (
        4,
        f"no recording found for streamId=7 channel={longest}",
    )


def test_one_clients_flood_holds_up_nobody_else(rig) -> None:
    rig.ask(ap.ArchiveIdRequest)
    flood = rig.aeron.add_exclusive_publication("aeron:ipc?term-length=64k", 10)
    rig.wait(lambda: flood.is_connected, "the archive to listen")
    junk = ap.KeepAliveRequest(control_session_id=rig.session_id, correlation_id=0).encode()
    correlation_id = rig.post(ap.ArchiveIdRequest)
    turns = 0
    while not rig.answers(correlation_id):
        while flood.offer(junk) > 0:
            pass
        rig.turn()
        turns += 1
        assert turns <= 5


@pytest.fixture
def little_garbage() -> Iterator[None]:
    """Collections look at what the test makes, not at all that the test run has loaded."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("little_garbage")
def test_a_thousand_sessions_that_never_read_are_dropped_in_bounded_cycles(make_rig) -> None:
    rig = make_rig(response_queue_length="8k")
    good = rig.connect()
    rig.ask(ap.ArchiveIdRequest)
    unread = rig.aeron.add_subscription("aeron:ipc", 4000)
    requests = rig.aeron.add_exclusive_publication("aeron:ipc?term-length=64k", 10)
    rig.wait(lambda: requests.is_connected, "the archive to listen")
    cycles_s: list[float] = []

    def turn() -> None:
        rig.clock.advance_ns(1_000_000)
        rig.both.driver.do_work()
        # Of this thread alone: what the machine does meanwhile is not the archive's.
        before_s = time.thread_time()
        rig.archive.do_work()
        cycles_s.append(time.thread_time() - before_s)
        rig.aeron.do_work()
        rig.poll()

    def send(message: bytes) -> None:
        while requests.offer(message) <= 0:
            turn()

    for number in range(SILENT):
        send(connect_request(100_000 + number, stream_id=4000))
    while len(sessions(rig)) <= SILENT or any(
        not s.is_authenticated for s in sessions(rig)._sessions.values()
    ):
        turn()
    assert rig.counter(CONTROL_SESSIONS) == SILENT + 1
    # Each asks until it is dropped; nobody reads. The first to go takes the request stream along.
    asking = [s for s in sessions(rig)._sessions.values() if s.session_id != good]
    while len(sessions(rig)) > 1:
        for session in asking:
            if not session.is_done and requests.is_connected:
                send(
                    ap.StopRecordingRequest(
                        control_session_id=session.session_id,
                        correlation_id=1,
                        stream_id=1,
                        channel="aeron:ipc?alias=" + "x" * 4000,
                    ).encode()
                )
        turn()
    rig.wait(lambda: not unread.images, "the response streams to end")
    ends = dropped(rig)
    assert sum(ends.values()) == SILENT
    assert ends.pop(SessionEnd.NOT_READING.value) >= SILENT - 1
    assert set(ends) <= {SessionEnd.CLIENT_GONE.value}
    assert rig.counter(CONTROL_SESSIONS) == 1
    # One of a thousand may meet what is not the archive's: a collection, a processor lost.
    assert sorted(cycles_s)[-2 - len(cycles_s) // 1000] < CYCLE_LIMIT_S
    rig.session_id = good
    assert rig.ask(ap.ArchiveIdRequest) == 7
    rig.wait(
        lambda: len([c for c in rig.aeron.counters.infos() if c.type_id == SESSION_COUNTER]) == 1,
        "the sessions' counters to go",
    )
