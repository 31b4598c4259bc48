"""What the leader takes back when its log has lost the end."""

from __future__ import annotations

from functools import partial

from aerolog.cluster.module.pending_messages import PendingMessages
from aerolog.cluster.module.uncommitted import Uncommitted


def test_changes_after_the_end_are_taken_back_the_last_one_first() -> None:
    taken_back: list[int] = []
    uncommitted = Uncommitted()
    for position in (64, 128, 192, 256):
        uncommitted.note(position, partial(taken_back.append, position))
    uncommitted.commit(64)
    assert len(uncommitted) == 3
    uncommitted.roll_back(128)
    assert taken_back == [256, 192]
    assert len(uncommitted) == 0


def test_messages_of_services_keep_their_order_and_numbers() -> None:
    pending, uncommitted = PendingMessages(0), Uncommitted()
    log: list[tuple[int, bytes]] = []

    def append(session_id: int, payload: bytes) -> bool:
        log.append((session_id, payload))
        uncommitted.note(len(log), partial(pending.take_back, session_id, payload))
        return True

    for number in range(5):
        pending.add(b"%d" % number)
    pending.poll(append)
    whole = list(log)
    uncommitted.roll_back(2)
    del log[2:]
    assert pending.log_service_session_id == log[-1][0]
    pending.add(b"5")
    pending.poll(append)
    assert log == [*whole, (whole[-1][0] + 1, b"5")]
