"""What an operator can ask a node for.

It is asked by a toggle: a counter of the node that is set from NEUTRAL to what is wanted, and that
the node sets back when it has done it (spec cluster 19, spec cluster 21).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from aerolog.cluster.counter_types import ClusterCounterType, ModuleState, NodeToggle, Toggle
from aerolog.transport.errors import AerologError


class Request(NamedTuple):
    """What an operator can ask a node for.

    Attributes:
        toggle: what its counter is set to; the type says which counter it is.
        needed: the state that the module must be in.
        before: what the counter must be before.
        goal: the state that the module is in when it is done; None when the counter tells.
        stops: whether clients get no answers afterwards.
    """

    toggle: Toggle | NodeToggle
    needed: ModuleState = ModuleState.ACTIVE
    before: int = Toggle.NEUTRAL
    goal: ModuleState | None = None
    stops: bool = False

    @property
    def type_id(self) -> int:
        """The type of the counter."""
        is_node = isinstance(self.toggle, NodeToggle)
        return ClusterCounterType.NODE_TOGGLE if is_node else ClusterCounterType.CONTROL_TOGGLE


REQUESTS: Final = {
    "snapshot": Request(Toggle.SNAPSHOT),
    "suspend": Request(Toggle.SUSPEND, goal=ModuleState.SUSPENDED, stops=True),
    "resume": Request(Toggle.RESUME, needed=ModuleState.SUSPENDED, before=Toggle.SUSPEND),
    "shutdown": Request(Toggle.SHUTDOWN, goal=ModuleState.CLOSED, stops=True),
    "abort": Request(Toggle.ABORT, goal=ModuleState.CLOSED, stops=True),
    "validate-recording-log": Request(NodeToggle.VALIDATE_RECORDING_LOG),
}


class RefusedError(AerologError):
    """A node cannot be asked, or has not done what it was asked for.

    Attributes:
        classic: the same in the words of the reference's tool.
    """

    def __init__(self, classic: str, text: str) -> None:
        super().__init__(text)
        self.classic = classic
