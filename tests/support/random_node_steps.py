"""Steps with a node of a cluster, drawn at random: clients, commands of ClusterTool, restarts.

What is drawn depends on the seed alone, so that two nodes of either make go through the same steps.
"""

from __future__ import annotations

import re
from contextlib import ExitStack
from typing import TYPE_CHECKING

from archive_tool_beside import without_frames
from cluster_talk import answers, talk, wait_for

from aerolog.cluster.counter_types import ClusterCounterType
from aerolog.transport.client import Aeron

if TYPE_CHECKING:
    from random import Random

    from left_files import Run
    from peer.cluster_node import Node
    from peer.tool_runner import ToolRunner

    from aerolog.cluster.client import AeronCluster

CLUSTER_TOOL = "io.aeron.cluster.ClusterTool"
#: Classes of authenticators: theirs, or a name of ours.
AUTHENTICATOR = re.compile(r"(?<=authenticator=)'?(io\.aeron\.security\.\w+|default)'?")
STEPS = 10
MAX_CLIENTS = 3
#: What each life ends with: with a snapshot, or without one, so that the next one replays the log.
ENDS = ("shutdown", "abort")
QUERIES = (
    "recording-log",
    "list-members",
    "pid",
    "errors",
    "is-leader",
    "describe",
    "describe-latest-cm-snapshot",
    "recovery-plan 1",
)


class NodeScript:
    """One life of a node.

    Args:
        node: the node.
        dice: draws the steps.
        tools: runs the reference's ClusterTool.
        run: with what is this run's own.
    """

    def __init__(self, node: Node, dice: Random, tools: ToolRunner, run: Run) -> None:
        self.node = node
        self.dice = dice
        self.tools = tools
        self.run = run
        self.said: list[str] = []
        self.clients: list[tuple[AeronCluster, ExitStack]] = []
        self.is_suspended = False

    def command(self, words: str) -> None:
        """Run the tool, and write down what it says."""
        ran = self.tools.run(CLUSTER_TOOL, self.node.folder / "cluster", *words.split())
        said = AUTHENTICATOR.sub("<class>", self.run.text(f"{ran.out}{without_frames(ran.err)}"))
        lines = [line for line in said.splitlines() if not line.startswith("\tat ")]
        self.said += [f"-- {words}", *lines, f"exit code {ran.code}"]

    def client_comes(self) -> None:
        if len(self.clients) < MAX_CLIENTS and not self.is_suspended:
            opened = ExitStack()
            self.clients.append((opened.enter_context(talk(self.node)), opened))

    def client_goes(self) -> None:
        if self.clients and not self.is_suspended:
            _, opened = self.clients.pop(self.dice.randrange(len(self.clients)))
            opened.close()
            self.wait_for_sessions()

    def wait_for_sessions(self) -> None:
        """Wait until the sessions are those of the clients that are there."""

        def count() -> int:
            return sum(
                info.type_id == ClusterCounterType.SESSION for info in aeron.counters.infos()
            )

        with Aeron(self.node.aeron_dir) as aeron:
            wait_for(lambda: count() == len(self.clients), "end of a session")

    def send(self) -> None:
        length = self.dice.choice((64, 100, 3000))  # shorter ones may be commands to the service
        messages = [self.dice.randbytes(length) for _ in range(self.dice.randrange(3))]
        messages.append(b"count")
        if self.clients and not self.is_suspended:
            cluster, _ = self.dice.choice(self.clients)
            for message in messages:
                (answer,) = answers(cluster, message)
                assert message in {answer, b"count"}
            self.said.append(answer.decode())

    def suspend(self) -> None:
        self.command("resume" if self.is_suspended else "suspend")
        self.is_suspended = not self.is_suspended

    def snapshot(self) -> None:
        self.command("snapshot")  # which a node that is suspended refuses

    def ask(self) -> None:
        self.command(self.dice.choice(QUERIES))

    def play(self, end: str) -> None:
        """All steps of the life, and how it ends."""
        steps = (
            *(self.client_comes, self.client_comes, self.client_goes, self.suspend),
            *(self.send, self.send, self.send, self.snapshot, self.ask, self.ask),
        )
        # A node that takes a session leads, and its election is over.
        self.client_comes()
        self.client_goes()
        try:
            for _ in range(STEPS):
                self.dice.choice(steps)()
            if self.is_suspended:
                self.suspend()
            while self.clients:
                self.client_goes()
        finally:
            for _, opened in self.clients:
                opened.close()
        self.command(end)
