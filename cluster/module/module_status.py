"""What a module does at present, as its counter and its event log show it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.cluster.counter_types import ModuleState
from aerolog.cluster.module.event_log import ClusterEventCode

if TYPE_CHECKING:
    from aerolog.cluster.module.module_context import ModuleContext
    from aerolog.cluster.module.steady_agent import SteadyAgent


class ModuleStatus:
    """The state of a module.

    Args:
        context: what all parts of the module use.
        steady: the native part, which takes ingress in the active state only.

    Attributes:
        state: what the module does.
    """

    def __init__(self, context: ModuleContext, steady: SteadyAgent) -> None:
        self._context = context
        self._steady = steady
        self.state = ModuleState.INIT

    def set(self, state: ModuleState) -> None:
        """Go over to a state, and show it."""
        self.note(state)
        self._context.counters.state.value = state
        self._steady.take_ingress(state is ModuleState.ACTIVE)

    def note(self, state: ModuleState) -> None:
        """Go over to a state without its counter, which the module's client may have lost."""
        if state is not self.state:
            change = (self.state, state)
            self._context.events.log(ClusterEventCode.STATE_CHANGE, change)
        self.state = state
