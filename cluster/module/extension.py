"""Extensions of a consensus module, which bring messages of their own (spec cluster 26).

An extension takes the place of services: its node has none. What comes into the ingress under
another schema than the cluster's is its own, and so is what it writes into the log under one.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, Protocol

from aerolog.cluster.errors import ClusterError
from aerolog.cluster.module import properties as p
from aerolog.cluster.protocol import SCHEMA_ID, CloseReason
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.protocol.sbe import HEADER_LENGTH, MessageHeader
from aerolog.transport.security.plug_ins import make_from

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from aerolog.cluster.module.members import Member
    from aerolog.cluster.module.module_context import ModuleContext
    from aerolog.cluster.module.properties import ModuleConfig
    from aerolog.cluster.module.sessions import Sessions
    from aerolog.cluster.protocol import ClusterTimeUnit
    from aerolog.transport.client.aeron import Aeron
    from aerolog.transport.client.message import Action
    from aerolog.transport.client.publication import ExclusivePublication
    from aerolog.transport.client.subscription import Subscription
    from aerolog.transport.security.authentication import AuthorisationService


class ExtensionError(ClusterError):
    """An extension raised where the module cannot go on without what it should have done."""


class ExtensionMessage(NamedTuple):
    """A message of another schema than the cluster's, from the ingress or from the log.

    Attributes:
        block_length, template_id, schema_id, version: of its header, which nobody has checked.
        data: the whole message, with the 8 bytes of its header.
        position: where it ends in the stream that it came in, bytes.
    """

    block_length: int
    template_id: int
    schema_id: int
    version: int
    data: bytes
    position: int

    @classmethod
    def found_in(cls, data: bytes, position: int) -> ExtensionMessage | None:
        """Return the message, None if it is too short for a header or one of the cluster's."""
        if len(data) < HEADER_LENGTH:
            return None
        header = MessageHeader.read(data)
        if header.schema_id == SCHEMA_ID:
            return None
        return cls(*header, data, position)


class ControlState(NamedTuple):
    """How a node stands to the log.

    Attributes:
        is_leader: whether the node may write it.
        leadership_term_id: the term.
        log_recording_id: the log's recording in the node's archive.
        log_publication: where the leader writes; None while the log is replayed.
        log_subscription: what the leader writes, to be read no further than the commit position;
            None while the log is replayed.
    """

    is_leader: bool
    leadership_term_id: int
    log_recording_id: int
    log_publication: ExclusivePublication | None = None
    log_subscription: Subscription | None = None


class ModuleSession(Protocol):
    """A client's session, as an extension may use it.

    Attributes:
        session_id: the cluster's number of it.
        principal: the name under which the authenticator accepted the client; empty for a session
            that a snapshot brought.
        last_activity_ns: when the client was last heard of, monotonic time. It is to be set when a
            message of the extension's says that the client is there.
    """

    session_id: int
    principal: bytes
    last_activity_ns: int

    def is_connected(self) -> bool:
        """Return whether the client can be answered."""

    def send_bytes(self, data: bytes) -> bool:
        """Send the client a message; returns whether it could be sent."""


class ModuleControl:
    """What an extension may ask of its module, and have it do; on the module's thread only."""

    def __init__(
        self, context: ModuleContext, sessions: Sessions, authorisation: AuthorisationService
    ) -> None:
        self._context = context
        self._sessions = sessions
        self.authorisation = authorisation

    @property
    def time(self) -> int:
        """The cluster's time, in `time_unit`."""
        return self._context.cluster_time()

    @property
    def time_unit(self) -> ClusterTimeUnit:
        """The unit of the cluster's time."""
        return self._context.config.time_unit

    @property
    def config(self) -> ModuleConfig:
        """The module's settings."""
        return self._context.config

    @property
    def member(self) -> Member:
        """This node's member, with its id and endpoints."""
        return self._context.config.member

    @property
    def cluster_id(self) -> int:
        """The cluster's id."""
        return int(self._context.config[p.CLUSTER_ID])

    @property
    def aeron(self) -> Aeron:
        """The module's client, whose duty cycle the module runs."""
        return self._context.aeron

    @property
    def leadership_term_id(self) -> int:
        """The present term, -1 before the first."""
        return self._context.leadership_term_id

    @property
    def commit_position(self) -> int:
        """How much of the log is committed, bytes."""
        return self._context.counters.commit_position.value

    @property
    def commit_position_counter_id(self) -> int:
        """The id of the commit position's counter."""
        return self._context.counters.commit_position.counter_id

    def session(self, session_id: int) -> ModuleSession | None:
        """Return an open session, None if there is none of this id."""
        return self._sessions.open.get(session_id)

    def close_session(self, session_id: int) -> None:
        """Have a session closed, as by a service."""
        self._sessions.ask_close(session_id, CloseReason.SERVICE_ACTION)


class ConsensusModuleExtension:
    """The base of extensions: each method is called on the module's thread, and may not block.

    What is raised from `on_ingress_message`, `do_work`, `slow_tick_work` and `consensus_work` is
    reported, and the module goes on. A snapshot during which something is raised is none. What is
    raised from the others ends the module: it would not apply what other members do.

    Attributes:
        supported_schema_id: the schema of the extension's messages. The module hands over messages
            of all schemas but the cluster's, as the reference does.
    """

    supported_schema_id: int = 0

    def on_start(self, control: ModuleControl, snapshot: Sequence[bytes] | None) -> None:
        """Start, before the log is replayed.

        Args:
            control: what the module offers.
            snapshot: the messages of `take_snapshot`; None without a snapshot.
        """

    def do_work(self, now_ns: int) -> int:  # noqa: ARG002
        """Do what there is to do in a duty cycle, also in an election; returns how much was done.

        Args:
            now_ns: monotonic time.
        """
        return 0

    def slow_tick_work(self, now_ns: int) -> int:  # noqa: ARG002
        """Do what there is to do every 10 ms; returns how much was done."""
        return 0

    def consensus_work(self, now_ns: int) -> int:  # noqa: ARG002
        """Do what there is to do in a duty cycle, but in no election; returns how much was done."""
        return 0

    def on_new_leadership_term(self, state: ControlState) -> None:
        """Take notice of a term that a replayed log begins."""

    def on_election_complete(self, state: ControlState) -> None:
        """Take notice of the node's role; the log has the event of the new term already."""

    def on_ingress_message(self, message: ExtensionMessage) -> Action | None:  # noqa: ARG002
        """Process a message that a client sent to the leader, with or without a session.

        Returns:
            ``Action.ABORT`` to be given it again, in the next duty cycle.
        """
        return None

    def on_log_message(self, message: ExtensionMessage) -> None:
        """Process a message that a replayed log has."""

    def on_session_opened(self, session_id: int) -> None:
        """Take notice of a session that the log opens."""

    def on_session_closed(self, session_id: int, reason: CloseReason) -> None:
        """Take notice of a session that the log closes."""

    def take_snapshot(self) -> Iterable[bytes]:
        """Return the messages that `on_start` is to be given; no message of the log comes between.

        They are recorded one in each duty cycle or more, behind the module's own.
        """
        return ()

    def close(self) -> None:
        """Release what the extension has: the module ends."""


def extension_of(config: ModuleConfig) -> ConsensusModuleExtension | None:
    """Return the extension that was given to a module or is named by its properties, if any.

    Raises:
        ConfigurationError: it cannot be made, or is none.
    """
    found = config.extension
    if found is None:
        found = make_from(p.EXTENSION, {p.NO_EXTENSION: lambda _config: None}, config, ())
    if found is not None and not isinstance(found, ConsensusModuleExtension):
        raise ConfigurationError(
            f"{p.EXTENSION.name}: {found!r} is no ConsensusModuleExtension: derive its class from"
            " that"
        )
    return found


@contextmanager
def extension_call(name: str) -> Iterator[None]:
    """Turn what an extension raises into an error that ends the module.

    Raises:
        ExtensionError: something was raised.
    """
    try:
        yield
    except Exception as error:
        raise ExtensionError(f"the module's extension raised in {name}: {error!r}") from error


def snapshot_of(extension: ConsensusModuleExtension) -> Iterator[bytes]:
    """Give the messages of an extension's snapshot.

    Raises:
        ExtensionError: the extension raised.
    """
    with extension_call("take_snapshot"):
        yield from extension.take_snapshot()
