"""Our clients of a cluster, line by line: ``python scripted_client.py FORM AERON_DIR``.

FORM is ``waiting`` or ``asyncio``. ClusterScripted.java among the peers is the same for the
reference's client. Commands come in lines, ``connect INGRESS ENDPOINTS EGRESS MILLIS``, ``offer
TEXT``, ``admin NUMBER`` and ``close``; ``uncertain`` is understood by ours alone. What the client
hears is printed: message, event, leader, answer, ended.
"""

from __future__ import annotations

import asyncio
import queue
import sys
import threading
from typing import TYPE_CHECKING, Any

from aerolog.cluster.client import AeronCluster, AsyncAeronCluster, ClientState, ClusterError
from aerolog.cluster.errors import SessionClosedError
from aerolog.transport.client import Aeron
from aerolog.transport.credentials import CredentialsSupplier
from aerolog.transport.errors import AerologError

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from aerolog.cluster.protocol import NewLeaderEvent, SessionEvent


class Proof(CredentialsSupplier):
    """What the reference's peer sends, too."""

    def encoded_credentials(self) -> bytes:
        return b"me"

    def on_challenge(self, encoded_challenge: bytes) -> bytes:
        return b"proof of " + encoded_challenge


def say(*words: object) -> None:
    print(*words, flush=True)


def on_new_leader(event: NewLeaderEvent) -> None:
    say("leader", event.leadership_term_id, event.leader_member_id, event.ingress_endpoints)


def on_session_event(event: SessionEvent) -> None:
    say("event", event.code.name, event.detail)


class ScriptedClient:
    """Carries commands out, and polls in between."""

    def __init__(self, form: str, aeron_dir: str) -> None:
        self.form = form
        self.aeron = Aeron(aeron_dir)
        self.cluster: AeronCluster | AsyncAeronCluster | None = None
        self.commands: queue.Queue[str | None] = queue.Queue()

    def read(self) -> None:
        for line in sys.stdin:
            self.commands.put(line.rstrip("\n"))
        self.commands.put(None)

    async def run(self) -> None:
        threading.Thread(target=self.read, daemon=True).start()
        say("ready")
        with self.aeron:
            while True:
                try:
                    command = self.commands.get(timeout=0.001)
                except queue.Empty:
                    command = ""
                if command is None:
                    break
                if command:
                    await self.execute(*command.split(" "))
                await asyncio.sleep(0)
                self.poll()
            await self.close()

    def poll(self) -> None:
        if self.cluster is None:
            return
        try:
            for message in self.cluster.poll_messages():
                say("message", message.timestamp, message.data.decode())
        except SessionClosedError:
            say("ended")
            self.cluster = None

    async def execute(self, verb: str, *words: str) -> None:
        if verb == "connect":
            await self.connect(*words)
            return
        if verb == "close":
            await self.close()
            say("closed")
            return
        assert self.cluster is not None
        if verb == "offer":
            result = self.cluster.offer(" ".join(words).encode())
            say("offered" if result > 0 else f"refused {getattr(result, 'name', result)}")
        elif verb == "uncertain":
            say("uncertain", self.cluster.uncertain_offers)
        elif verb == "admin":
            await self.ask(self.cluster)

    async def connect(self, ingress: str, endpoints: str, egress: str, millis: str) -> None:
        options: dict[str, Any] = {
            "ingress_channel": ingress,
            "ingress_endpoints": None if endpoints == "-" else endpoints,
            "egress_channel": egress,
            "message_timeout": int(millis) / 1000,
            "credentials": Proof(),
            "on_new_leader": on_new_leader,
            "on_session_event": on_session_event,
        }
        try:
            if self.form == "asyncio":
                self.cluster = await AsyncAeronCluster.connect(self.aeron, **options)
            else:
                self.cluster = AeronCluster(self.aeron, **options)
        except AerologError as error:
            say("failed", type(error).__name__, str(error))
            return
        made = self.cluster
        say("connected", made.cluster_session_id, made.leadership_term_id, made.leader_member_id)

    async def ask(self, cluster: AeronCluster | AsyncAeronCluster) -> None:
        try:
            waits: Awaitable[None] | None = cluster.take_snapshot()
            if waits is not None:
                await waits
            say("answer OK ")
        except ClusterError as error:
            say("answer", *str(error).split(": "))

    async def close(self) -> None:
        cluster, self.cluster = self.cluster, None
        if isinstance(cluster, AsyncAeronCluster):
            await cluster.close()
        elif cluster is not None and cluster.state is not ClientState.CLOSED:
            cluster.close()


if __name__ == "__main__":
    asyncio.run(ScriptedClient(sys.argv[1], sys.argv[2]).run())
