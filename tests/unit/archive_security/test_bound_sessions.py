"""A control session answers only to the image that opened it, and its id tells no other's."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from aerolog.archive import protocol as ap
from aerolog.archive.protocol.counter_types import ArchiveCounterType

if TYPE_CHECKING:
    from archive_rig import Rig

    from aerolog.transport.client import ExclusivePublication

CONTROL_SESSIONS = ArchiveCounterType.CONTROL_SESSIONS
CORRELATION_ID = 77


def stranger(rig: Rig) -> ExclusivePublication:
    """Another connection to the archive."""
    requests = rig.aeron.add_exclusive_publication("aeron:ipc?term-length=64k", 10)
    rig.wait(lambda: requests.is_connected, "the archive to listen")
    return requests


def send(rig: Rig, requests: ExclusivePublication, message: ap.Message) -> None:
    rig.wait(lambda: requests.offer(message.encode()) > 0, "room for a request")


def refusals(rig: Rig) -> list[str]:
    return [text for text in rig.errors() if "on another connection than its session's" in text]


def test_another_connection_asks_nothing_in_a_session(rig: Rig) -> None:
    assert rig.ask(ap.ArchiveIdRequest) == 7
    query = ap.ArchiveIdRequest(control_session_id=rig.session_id, correlation_id=CORRELATION_ID)
    send(rig, stranger(rig), query)
    rig.pass_time(300)
    assert rig.answers(CORRELATION_ID) == []
    (text,) = refusals(rig)
    assert str(rig.session_id) not in text
    assert rig.ask(ap.ArchiveIdRequest) == 7


def test_another_connection_does_not_activate_a_session(make_rig) -> None:
    rig = make_rig()
    rig.connect()
    keep_alive = ap.KeepAliveRequest(control_session_id=rig.session_id, correlation_id=1)
    send(rig, stranger(rig), keep_alive)
    before = len(rig.poll())
    rig.pass_time(1000)
    # The OK is repeated, as no request of the client itself has come.
    assert len(rig.poll()) > before


def test_another_connection_does_not_close_a_session(rig: Rig) -> None:
    send(rig, stranger(rig), ap.CloseSessionRequest(control_session_id=rig.session_id))
    rig.pass_time(300)
    assert rig.counter(CONTROL_SESSIONS) == 1
    assert len(refusals(rig)) == 1
    assert rig.ask(ap.ArchiveIdRequest) == 7


def test_a_connection_that_was_lost_is_connected_anew(rig: Rig) -> None:
    """The same publication session on a new image is a stranger until it has connected."""
    old = rig.session_id
    number = rig.requests.session_id
    rig.requests.close()
    rig.wait(lambda: rig.counter(CONTROL_SESSIONS) == 0, "the session to end")
    rig.requests = rig.aeron.add_exclusive_publication(
        f"aeron:ipc?term-length=64k|session-id={number}", 10
    )
    assert rig.connect() != old
    assert rig.ask(ap.ArchiveIdRequest) == 7


def test_two_clients_of_one_connection_have_a_session_each(rig: Rig) -> None:
    first = rig.session_id
    second = rig.connect()
    assert rig.ask(ap.ArchiveIdRequest) == 7
    rig.session_id = first
    assert rig.ask(ap.ArchiveIdRequest) == 7
    assert first != second


def test_requests_for_made_up_sessions_are_one_entry_of_the_log(rig: Rig) -> None:
    requests = stranger(rig)
    for number in range(50):
        query = ap.ArchiveIdRequest(control_session_id=1000 + number, correlation_id=number)
        send(rig, requests, query)
    rig.pass_time(300)
    (text,) = [text for text in rig.errors() if "unknown session" in text]
    assert "controlSessionId=1000 " in text


def test_ids_are_no_sequence(make_rig) -> None:
    rig = make_rig()
    ids = [rig.connect() for _ in range(20)]
    assert len(set(ids)) == len(ids)
    steps = [abs(after - before) for before, after in itertools.pairwise(ids)]
    assert min(steps) > 2**32


def test_by_the_property_any_connection_may_use_a_session(make_rig) -> None:
    rig = make_rig(bound_control_sessions=False)
    session_id = rig.connect()
    assert rig.connect() == session_id + 1
    query = ap.ArchiveIdRequest(control_session_id=rig.session_id, correlation_id=CORRELATION_ID)
    send(rig, stranger(rig), query)
    assert rig.answer_to(CORRELATION_ID).relevant_id == 7
    assert refusals(rig) == []
