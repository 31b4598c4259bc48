"""Assigns the driver's agents to threads (spec configuration 9)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from aerolog.transport.concurrent.agent_runner import AgentInvoker, AgentRunner
from aerolog.transport.concurrent.histogram_tracker import cycle_tracker
from aerolog.transport.concurrent.idle import idle_strategy
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.driver import properties as p
from aerolog.transport.driver.conductor.conductor_agent import bind_idle_strategy

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.transport.concurrent.agent import Agent
    from aerolog.transport.concurrent.agent_runner import DutyCycleTracker
    from aerolog.transport.concurrent.idle import IdleStrategy
    from aerolog.transport.config.definition import Property
    from aerolog.transport.config.settings import Settings
    from aerolog.transport.driver.context import DriverContext

#: The agents that have a histogram of cycles, by their names in labels of counters.
CONDUCTOR: Final = "Conductor"
SENDER: Final = "Sender"
RECEIVER: Final = "Receiver"
#: The counters of their longest cycles and of those above a threshold, and that threshold.
_CYCLES: Final = {
    CONDUCTOR: (
        SystemCounter.CONDUCTOR_MAX_CYCLE_TIME,
        SystemCounter.CONDUCTOR_CYCLE_TIME_THRESHOLD_EXCEEDED,
        p.DRIVER_CONDUCTOR_CYCLE_THRESHOLD,
    ),
    SENDER: (
        SystemCounter.SENDER_MAX_CYCLE_TIME,
        SystemCounter.SENDER_CYCLE_TIME_THRESHOLD_EXCEEDED,
        p.DRIVER_SENDER_CYCLE_THRESHOLD,
    ),
    RECEIVER: (
        SystemCounter.RECEIVER_MAX_CYCLE_TIME,
        SystemCounter.RECEIVER_CYCLE_TIME_THRESHOLD_EXCEEDED,
        p.DRIVER_RECEIVER_CYCLE_THRESHOLD,
    ),
}


class ThreadingMode(Enum):
    """How a driver's agents share threads."""

    DEDICATED = "DEDICATED"
    SHARED_NETWORK = "SHARED_NETWORK"
    SHARED = "SHARED"
    INVOKER = "INVOKER"


@dataclass(frozen=True, slots=True)
class AgentSlot:
    """An agent with the counters of its duty cycle, which are None for an agent without any."""

    agent: Agent
    tracker: DutyCycleTracker | None


@dataclass(frozen=True, slots=True)
class DriverAgents:
    """The agents of a driver.

    Attributes:
        conductor: handles commands, timers and the life of streams.
        names: exchanges names with other drivers, on the conductor's thread and after it.
        sender: sends the data of network publications.
        receiver: receives the data of network images.
    """

    conductor: AgentSlot
    names: AgentSlot
    sender: AgentSlot
    receiver: AgentSlot


def agent_slot(context: DriverContext, name: str, agent: Agent) -> AgentSlot:
    """Return an agent with the counters of its duty cycle: CONDUCTOR, SENDER or RECEIVER."""
    max_cycle_id, exceeded_id, threshold = _CYCLES[name]
    tracker = cycle_tracker(
        context.counters,
        max_cycle_id,
        exceeded_id,
        context.settings[threshold],
        context.cycles,
        name,
    )
    return AgentSlot(agent, tracker)


def make_runners(
    context: DriverContext,
    agents: DriverAgents,
    on_failure: Callable[[BaseException], None] | None = None,
) -> list[AgentInvoker]:
    """Make runners for the agents, not yet started, in the reference's order of starting.

    In INVOKER mode there is one invoker for all agents. Agents on one thread run in the order
    sender, receiver, conductor.

    Args:
        context: the driver's shared state.
        agents: the driver's agents.
        on_failure: as for AgentInvoker.
    """
    mode = ThreadingMode(context.settings[p.THREADING_MODE])
    if mode is ThreadingMode.INVOKER:
        everybody = [agents.sender, agents.receiver, agents.conductor, agents.names]
        return [
            AgentInvoker(
                [slot.agent for slot in everybody],
                clock=context.clock,
                error_handler=context.errors.record,
                trackers=[slot.tracker for slot in everybody],
                on_failure=on_failure,
            )
        ]
    return [thread.runner(context, on_failure) for thread in _threads(mode, agents)]


def turning_idle_strategy(settings: Settings) -> IdleStrategy:
    """Return the idle strategy of a main thread that runs the agents of an INVOKER driver."""
    return idle_strategy(settings[_SHARED.idle], settings[_SHARED.idle_args])


def _threads(mode: ThreadingMode, agents: DriverAgents) -> list[_Thread]:
    network = [agents.sender, agents.receiver]
    conductor = [agents.conductor, agents.names]
    if mode is ThreadingMode.SHARED:
        return [_Thread([*network, *conductor], _SHARED, shared=True)]
    if mode is ThreadingMode.SHARED_NETWORK:
        return [
            _Thread(conductor, _CONDUCTOR),
            _Thread(network, _SHARED_NETWORK, shared=True),
        ]
    return [
        _Thread(conductor, _CONDUCTOR),
        _Thread([agents.sender], _SENDER),
        _Thread([agents.receiver], _RECEIVER),
    ]


@dataclass(frozen=True, slots=True)
class _ThreadSettings:
    """The properties that configure one thread."""

    idle: Property[str]
    idle_args: Property[str | None]
    affinity: Property[int]


_SHARED = _ThreadSettings(
    p.SHARED_IDLE_STRATEGY, p.SHARED_IDLE_STRATEGY_INIT_ARGS, p.CONDUCTOR_CPU_AFFINITY
)
_CONDUCTOR = _ThreadSettings(
    p.CONDUCTOR_IDLE_STRATEGY, p.CONDUCTOR_IDLE_STRATEGY_INIT_ARGS, p.CONDUCTOR_CPU_AFFINITY
)
_SHARED_NETWORK = _ThreadSettings(
    p.SHAREDNETWORK_IDLE_STRATEGY, p.SHAREDNETWORK_IDLE_STRATEGY_INIT_ARGS, p.SENDER_CPU_AFFINITY
)
_SENDER = _ThreadSettings(
    p.SENDER_IDLE_STRATEGY, p.SENDER_IDLE_STRATEGY_INIT_ARGS, p.SENDER_CPU_AFFINITY
)
_RECEIVER = _ThreadSettings(
    p.RECEIVER_IDLE_STRATEGY, p.RECEIVER_IDLE_STRATEGY_INIT_ARGS, p.RECEIVER_CPU_AFFINITY
)


@dataclass(frozen=True, slots=True)
class _Thread:
    """The agents of one thread, in the order in which they run."""

    slots: list[AgentSlot]
    properties: _ThreadSettings
    shared: bool = False

    def runner(
        self, context: DriverContext, on_failure: Callable[[BaseException], None] | None
    ) -> AgentRunner:
        settings = context.settings
        strategy = idle_strategy(
            settings[self.properties.idle], settings[self.properties.idle_args]
        )
        bind_idle_strategy(strategy, context.counters, SystemCounter.CONTROLLABLE_IDLE_STRATEGY)
        roles = ",".join(slot.agent.role_name for slot in self.slots if slot.tracker)
        return AgentRunner(
            [slot.agent for slot in self.slots],
            strategy,
            name=f"{context.directory} [{roles}]" if self.shared else roles,
            clock=context.clock,
            error_handler=context.errors.record,
            trackers=[slot.tracker for slot in self.slots],
            on_failure=on_failure,
            affinity=settings[self.properties.affinity],
        )
