"""The seam between a node and its cluster: who leads, what is committed (spec cluster 13).

The agent and the other parts of a module know `Consensus` only. `LoneMember` is the consensus of a
cluster of one member.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from aerolog.cluster.module import properties as p
from aerolog.cluster.protocol import SCHEMA
from aerolog.transport.errors import MessageFormatError
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from aerolog.cluster.module.members import Member
    from aerolog.cluster.module.module_context import ModuleContext
    from aerolog.cluster.protocol import Message
    from aerolog.transport.client.image import Image
    from aerolog.transport.client.steps.caller import Steps

_CONSENSUS_LIMIT: Final = 10


class Consensus(Protocol):
    """Decides who leads, elects, and moves the commit position.

    It notes in the module's context who leads which term, and the log to write while this node
    does. It directs the parts of the module: a leader takes ingress and writes the log.
    """

    def elect(self, append_position: int) -> Steps[None]:
        """Take part in the election of a node that has recovered, until it has a role.

        Args:
            append_position: where the recorded log ends, bytes.
        """

    def poll(self) -> int:
        """Take what other members and backups have sent; returns how many messages."""

    def check_term(self) -> int:
        """Begin an election when the term cannot go on; returns whether it did, as a number."""

    def members(self, now_ns: int) -> Iterable[Member]:
        """Return all members, with what is known of their logs.

        Args:
            now_ns: the cluster's time.
        """

    def close(self) -> None:
        """Close the log that the node writes."""


class ConsensusStream:
    """The stream in which other members and backups send."""

    def __init__(self, context: ModuleContext) -> None:
        config = context.config
        self._context = context
        self._subscription = context.aeron.add_subscription(
            str(
                ChannelUri.parse(config[p.CONSENSUS_CHANNEL]).put(
                    "endpoint", config.member.consensus
                )
            ),
            config[p.CONSENSUS_STREAM],
        )

    @property
    def images(self) -> tuple[Image, ...]:
        """The images in which they send."""
        return self._subscription.images

    def poll(self, take: Callable[[Message | None], object]) -> int:
        """Take what was received; returns how many messages.

        Args:
            take: called with each message that can be read, None for one of an unknown template.
        """
        work = 0
        for received in self._subscription.poll_messages(_CONSENSUS_LIMIT):
            work += 1
            try:
                message = SCHEMA.decode(received.data)
            except MessageFormatError as error:
                self._context.reporter.error(error, "consensus message")
                continue
            take(message)
        return work

    def close(self) -> None:
        """Close the stream."""
        self._subscription.close()
