"""The base of services that a cluster replicates (spec cluster 11)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from aerolog.cluster.counter_types import Role
    from aerolog.cluster.protocol import CloseReason, NewLeadershipTermEvent
    from aerolog.cluster.service.client_session import ClientSession
    from aerolog.cluster.service.cluster import Cluster
    from aerolog.cluster.service.snapshot_file import SnapshotReader, SnapshotWriter


class Serializer(Protocol):
    """What turns a state into bytes or text and back: ``json``, ``pickle``, ``marshal``, ..."""

    def dumps(self, state: Any, /) -> bytes | str:
        """Return a state as bytes, or as text, which is encoded in UTF-8."""

    def loads(self, data: bytes, /) -> Any:
        """Return the state of the bytes."""


class ClusteredService:
    """A state machine that every member of a cluster runs over the same log.

    A subclass overrides what it needs. Each method is called with the same arguments in the same
    order on every member, and again when a log is replayed; the state may depend on nothing else.
    Never on the wall clock (take ``cluster.time``), on random numbers (take ``cluster.random``), on
    the order of sets, or on other threads.

    A class that has a method ``on_session_messages(messages: MessageBatch)`` gets
    messages in batches, in place of `on_session_message`. Where a batch ends is different on each
    member and at each replay: the state may not depend on it.

    Attributes:
        cluster: the cluster, which is set before `on_start`.
        serializer: makes bytes of what `state` returns.
    """

    cluster: Cluster
    serializer: Serializer = json

    def state(self) -> Any:
        """Return what a snapshot has to keep; None for a service without a state."""
        return None

    def restore(self, state: Any) -> None:
        """Take over a state that `state` has returned."""

    def on_start(self, cluster: Cluster, snapshot: SnapshotReader | None) -> None:  # noqa: ARG002
        """Start, from a snapshot if there is one; by default `restore` gets its content."""
        if snapshot is not None and (data := snapshot.read()):
            self.restore(self.serializer.loads(data))

    def on_session_open(self, session: ClientSession, timestamp: int) -> None:
        """Take notice of a new session."""

    def on_session_close(self, session: ClientSession, timestamp: int, reason: CloseReason) -> None:
        """Take notice of a session's end."""

    def on_session_message(
        self, session: ClientSession | None, timestamp: int, data: memoryview
    ) -> None:
        """Process a message.

        Args:
            session: the client's session; None for a message that a service offered to the log.
            timestamp: the cluster's time, in ``cluster.time_unit``.
            data: the message, which may be read only during the call.
        """

    def on_timer(self, correlation_id: int, timestamp: int) -> None:
        """Take notice of a timer that the service scheduled."""

    def on_take_snapshot(self, snapshot: SnapshotWriter) -> None:
        """Write the state; by default what `state` returns, made bytes by `serializer`."""
        state = self.state()
        if state is not None:
            data = self.serializer.dumps(state)
            snapshot.write(data.encode() if isinstance(data, str) else data)

    def on_role_change(self, role: Role) -> None:
        """Take notice of the member's role, which differs from member to member."""

    def on_new_leadership_term(self, event: NewLeadershipTermEvent) -> None:
        """Take notice of a new leader's term."""

    def on_terminate(self, cluster: Cluster) -> None:
        """Clean up at the end of the service."""

    def do_background_work(self, now_ns: int) -> int:  # noqa: ARG002
        """Do something in each duty cycle that is no part of the state; returns a work count.

        Args:
            now_ns: monotonic time, which differs from member to member.
        """
        return 0
