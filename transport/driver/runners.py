"""Which agents run on which thread (spec configuration 9)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from aerolog.transport.concurrent.agent_runner import AgentInvoker, AgentRunner
from aerolog.transport.concurrent.idle import idle_strategy
from aerolog.transport.driver import properties as p
from aerolog.transport.driver.clockwork import bind_idle_strategy, cycle_tracker
from aerolog.transport.driver.system_counters import SystemCounter

if TYPE_CHECKING:
    from aerolog.transport.concurrent.agent import Agent
    from aerolog.transport.concurrent.agent_runner import DutyCycleTracker
    from aerolog.transport.config.definition import Property
    from aerolog.transport.driver.context import DriverContext


class ThreadingMode(Enum):
    """How a driver's agents share threads."""

    DEDICATED = "DEDICATED"
    SHARED_NETWORK = "SHARED_NETWORK"
    SHARED = "SHARED"
    INVOKER = "INVOKER"


@dataclass(frozen=True, slots=True)
class AgentSlot:
    """One agent with the counters of its duty cycle."""

    agent: Agent
    tracker: DutyCycleTracker


@dataclass(frozen=True, slots=True)
class DriverAgents:
    """The agents of a driver; an agent that a driver has no use for is None.

    Attributes:
        conductor: always there.
        sender: of network publications.
        receiver: of network images.
    """

    conductor: AgentSlot
    sender: AgentSlot | None = None
    receiver: AgentSlot | None = None


def conductor_slot(context: DriverContext, agent: Agent) -> AgentSlot:
    """The conductor with its cycle counters."""
    tracker = cycle_tracker(
        context.counters,
        SystemCounter.CONDUCTOR_MAX_CYCLE_TIME,
        SystemCounter.CONDUCTOR_CYCLE_TIME_THRESHOLD_EXCEEDED,
        context.settings[p.DRIVER_CONDUCTOR_CYCLE_THRESHOLD],
    )
    return AgentSlot(agent, tracker)


def make_runners(context: DriverContext, agents: DriverAgents) -> list[AgentInvoker]:
    """Runners for the agents, not yet started, in the reference's order of starting.

    In INVOKER mode there is one invoker. Agents on one thread work in the order sender, receiver,
    conductor.
    """
    mode = ThreadingMode(context.settings[p.THREADING_MODE])
    everybody = [slot for slot in (agents.sender, agents.receiver, agents.conductor) if slot]
    if mode is ThreadingMode.INVOKER:
        return [
            AgentInvoker(
                [slot.agent for slot in everybody],
                clock=context.clock,
                error_handler=context.errors.record,
                trackers=[slot.tracker for slot in everybody],
            )
        ]
    return [thread.runner(context) for thread in _threads(mode, agents)]


def _threads(mode: ThreadingMode, agents: DriverAgents) -> list[_Thread]:
    sender, receiver, conductor = agents.sender, agents.receiver, agents.conductor
    network = [slot for slot in (sender, receiver) if slot]
    if mode is ThreadingMode.SHARED:
        return [_Thread([*network, conductor], _SHARED, shared=True)]
    threads = [_Thread([conductor], _CONDUCTOR)]
    if mode is ThreadingMode.SHARED_NETWORK:
        if network:
            threads.append(_Thread(network, _SHARED_NETWORK, shared=True))
        return threads
    if sender:
        threads.append(_Thread([sender], _SENDER))
    if receiver:
        threads.append(_Thread([receiver], _RECEIVER))
    return threads


@dataclass(frozen=True, slots=True)
class _ThreadSettings:
    """Properties of one thread."""

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
    """One thread to be: its agents in their order."""

    slots: list[AgentSlot]
    properties: _ThreadSettings
    shared: bool = False

    def runner(self, context: DriverContext) -> AgentRunner:
        settings = context.settings
        strategy = idle_strategy(
            settings[self.properties.idle], settings[self.properties.idle_args]
        )
        bind_idle_strategy(strategy, context.counters, SystemCounter.CONTROLLABLE_IDLE_STRATEGY)
        roles = ",".join(slot.agent.role_name for slot in self.slots)
        return AgentRunner(
            [slot.agent for slot in self.slots],
            strategy,
            name=f"{context.directory} [{roles}]" if self.shared else roles,
            clock=context.clock,
            error_handler=context.errors.record,
            trackers=[slot.tracker for slot in self.slots],
            affinity=settings[self.properties.affinity],
        )
