"""Many wrong passwords keep nobody else out: turns by source, a bounded queue, a way past it."""

from __future__ import annotations

from concurrent.futures import Executor, Future
from typing import Any

import pytest

from aerolog.transport.security import PasswordFileAuthenticator, set_password
from aerolog.transport.security.password_checks import (
    WAITING_MAX,
    PasswordCheck,
    PasswordChecks,
)


class StepExecutor(Executor):
    """Does one thing of what it is given when it is told to."""

    def __init__(self) -> None:
        self.given: list[tuple[Future[Any], Any, tuple[Any, ...]]] = []

    def submit(self, fn, /, *args, **_kwargs) -> Future[Any]:
        self.given.append((Future(), fn, args))
        return self.given[-1][0]

    def step(self) -> None:
        future, fn, args = self.given.pop(0)
        if future.set_running_or_notify_cancel():
            future.set_result(fn(*args))


class Session:
    """What an authenticator sees of a control session."""

    def __init__(self, session_id: int) -> None:
        self.session_id = session_id
        self.outcome: bytes | str | None = None

    def authenticate(self, principal: bytes) -> bool:
        self.outcome = principal
        return True

    def reject(self) -> None:
        self.outcome = "rejected"


@pytest.fixture
def executor() -> StepExecutor:
    return StepExecutor()


@pytest.fixture
def authenticator(tmp_path, executor) -> PasswordFileAuthenticator:
    path = tmp_path / "passwords"
    set_password(path, "ali", "sesame", log_n=4)
    return PasswordFileAuthenticator(path, executor=executor)


def connect(authenticator, session_id: int, source: str, credentials: bytes) -> Session:
    authenticator.on_source(session_id, source)
    authenticator.on_connect_request(session_id, credentials, 0)
    return Session(session_id)


def outcome(authenticator, session: Session) -> bytes | str | None:
    authenticator.on_connected_session(session, 0)
    return session.outcome


def flood(authenticator, count: int) -> list[Session]:
    return [
        connect(authenticator, 1000 + n, f"10.0.0.9:{2000 + n}", b"ali:wrong%d" % n)
        for n in range(count)
    ]


def test_a_client_of_another_host_waits_for_one_hash_only(authenticator, executor) -> None:
    flood(authenticator, 500)
    good = connect(authenticator, 1, "10.0.0.1:4000", b"ali:sesame")
    for _ in range(3):
        executor.step()
    assert outcome(authenticator, good) == b"ali"


def test_a_client_that_matched_before_waits_for_none(authenticator, executor) -> None:
    connect(authenticator, 1, "10.0.0.9:1", b"ali:sesame")
    executor.step()
    flood(authenticator, 500)
    good = connect(authenticator, 2, "10.0.0.9:2", b"ali:sesame")
    assert outcome(authenticator, good) == b"ali"


def test_what_waits_is_bounded_and_the_rest_refused(authenticator, executor) -> None:
    sessions = flood(authenticator, 500)
    refused = [s for s in sessions if outcome(authenticator, s) == "rejected"]
    assert len(refused) == 500 - WAITING_MAX - 1
    assert len(executor.given) == 1
    steps = 0
    while executor.given:
        executor.step()
        steps += 1
    assert steps == WAITING_MAX + 1


def test_the_source_with_the_most_loses_its_latest(executor) -> None:
    checks = PasswordChecks(executor, lambda credentials: credentials, limit=3)
    many = [PasswordCheck("many", b"%d" % n) for n in range(4)]
    for check in many:
        checks.add(check)
    one = PasswordCheck("one", b"one")
    checks.add(one)
    assert [check.is_done for check in (*many, one)] == [False, False, False, True, False]
    order = []
    while executor.given:
        order.append(executor.given[0][2][0])
        executor.step()
    assert order == [b"0", b"1", b"one", b"2"]


def test_a_client_that_leaves_gives_its_turn_away(authenticator, executor) -> None:
    first, second, third = flood(authenticator, 3)
    authenticator.on_session_closed(first.session_id)
    authenticator.on_session_closed(second.session_id)
    executor.step()
    assert outcome(authenticator, third) in (None, "rejected")
    while executor.given:
        executor.step()
    assert outcome(authenticator, third) == "rejected"
