"""A service like the reference's echo among the peers, and the same one by batches."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from aerolog.cluster.service import ClusteredService
from aerolog.testing.echo_service import EchoMessages

if TYPE_CHECKING:
    from aerolog.cluster.service import (
        ClientSession,
        Cluster,
        MessageBatch,
        Role,
        SnapshotReader,
        SnapshotWriter,
    )

_COUNT = struct.Struct("<q")


class EchoService(ClusteredService):
    """Sends each message back and counts them, and timers as thousands; the count is its state.

    Some messages ask for more: close, count, timer ID MILLIS, cancel ID, offer TEXT, raise, fill
    LENGTH, after which a snapshot has another message of so many bytes, and spoil, after which one
    fails.
    """

    def __init__(self) -> None:
        self.count: int = 0
        self.filling = b""
        self.is_spoilt = False
        self.calls: list[str] = []

    def on_start(self, cluster: Cluster, snapshot: SnapshotReader | None) -> None:
        self.calls.append("start" if snapshot is None else "start from snapshot")
        if snapshot is not None:
            message, *_ = snapshot.messages()
            (self.count,) = _COUNT.unpack(message)

    def on_take_snapshot(self, snapshot: SnapshotWriter) -> None:
        if self.is_spoilt:
            self.is_spoilt = False
            raise ValueError("asked to spoil the snapshot")
        snapshot.write_message(_COUNT.pack(self.count))
        if self.filling:
            snapshot.write_message(self.filling)

    def on_role_change(self, role: Role) -> None:
        self.calls.append(role.name)

    def on_terminate(self, cluster: Cluster) -> None:
        self.calls.append("terminate")

    def on_session_message(
        self, session: ClientSession | None, timestamp: int, data: memoryview
    ) -> None:
        if session is None:
            self.tell_all(b"offered " + data)
            return
        if len(data) < 64 and self.is_command(session, timestamp, bytes(data).decode().split(" ")):
            return
        self.count += 1
        session.send(data)

    def is_command(self, session: ClientSession, timestamp: int, words: list[str]) -> bool:
        match words:
            case ["close"]:
                session.close()
            case ["count"]:
                session.send(b"count %d" % self.count)
            case ["timer", number, millis]:
                self.cluster.schedule_timer(int(number), timestamp + int(millis))
            case ["cancel", number]:
                self.cluster.cancel_timer(int(number))
            case ["offer", text]:
                self.cluster.send(text.encode())
            case ["fill", length]:
                self.filling = b"x" * int(length)
            case ["spoil"]:
                self.is_spoilt = True
            case ["raise"]:
                raise ValueError("asked to raise")
            case _:
                return False
        return True

    def on_timer(self, correlation_id: int, timestamp: int) -> None:
        self.count += 1000
        self.tell_all(b"timer %d" % correlation_id)

    def tell_all(self, data: bytes) -> None:
        for session in self.cluster.sessions.values():
            session.send(data)


class DiceService(ClusteredService):
    """Notes the cluster's random numbers and times; its state goes through JSON.

    With ``fill LENGTH`` the state gets a text of so many characters.
    """

    def __init__(self) -> None:
        self.rolls: list[list[float]] = []
        self.filling = ""

    def state(self) -> object:
        return {"rolls": self.rolls, "filling": self.filling}

    def restore(self, state: Any) -> None:
        self.rolls, self.filling = state["rolls"], state["filling"]

    def on_session_message(
        self, session: ClientSession | None, timestamp: int, data: memoryview
    ) -> None:
        assert session is not None
        cluster = self.cluster
        assert cluster.time == timestamp
        words = bytes(data).decode().split()
        if words[0] == "fill":
            self.filling = "x" * int(words[1])
        elif words[0] == "roll":
            at = cluster.random_at(cluster.log_position)
            rolls = [cluster.random.random(), cluster.random.random()]
            assert rolls == [at.random(), at.random()]
            self.rolls.append([*rolls, cluster.log_position, timestamp])
        session.send(b"%d %d" % (len(self.rolls), len(self.filling)))


class BatchEchoService(EchoService):
    """The same service, which takes messages in batches."""

    def on_session_messages(self, messages: MessageBatch) -> None:
        texts = [message.data for message in messages]
        if min(map(len, texts)) >= 64:
            self.count += messages.answer(texts)
            return
        for message in messages:
            self.on_session_message(message.session, message.timestamp, memoryview(message.data))


class NativeEchoService(EchoMessages, EchoService):
    """The same service, which sends messages of 64 bytes and more back without the interpreter."""
