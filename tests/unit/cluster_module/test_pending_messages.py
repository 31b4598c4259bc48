"""The queue of a service's own messages, live and after a replay."""

from __future__ import annotations

from aerolog.cluster.module.pending_messages import PendingMessages, first_session_id, service_of

MIN = -(1 << 63)


def appended(pending: PendingMessages, room: int = 1000) -> list[tuple[int, bytes]]:
    found: list[tuple[int, bytes]] = []

    def append(session_id: int, payload: bytes) -> bool:
        if len(found) == room:
            return False
        found.append((session_id, payload))
        return True

    assert pending.poll(append) == len(found)
    return found


def test_numbers_name_their_service() -> None:
    assert first_session_id(0) == MIN
    assert first_session_id(3) == MIN + (3 << 56)
    assert [service_of(first_session_id(service) + 7) for service in range(10)] == [*range(10)]


def test_messages_go_into_the_log_in_their_order() -> None:
    pending = PendingMessages(0)
    for number in range(25):
        pending.add(b"%d" % number)
    assert appended(pending, 3) == [(MIN + 1 + n, b"%d" % n) for n in range(3)]
    assert appended(pending) == [(MIN + 1 + n, b"%d" % n) for n in range(3, 23)]
    assert pending.log_service_session_id == MIN + 23
    assert len(pending) == 2


def test_a_replay_takes_what_the_log_has() -> None:
    """The log may be ahead of the service, or behind it."""
    pending = PendingMessages(0)
    pending.on_log_message(MIN + 1)
    pending.on_log_message(MIN + 2)
    for text in (b"a", b"b", b"c"):
        pending.add(text)
    assert appended(pending) == [(MIN + 3, b"c")]
    pending.add(b"d")
    pending.on_log_message(MIN + 4)
    assert len(pending) == 0


def test_a_snapshot_restores_numbers_and_messages() -> None:
    pending = PendingMessages(2)
    first = first_session_id(2)
    pending.restore(first + 6, first + 4)
    pending.restore_message(first + 5, b"kept")
    pending.add(b"new")
    assert appended(pending) == [(first + 5, b"kept"), (first + 6, b"new")]
