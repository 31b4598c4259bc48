"""The parts of a running module, for those that work with several of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aerolog.cluster.module.consensus import ConsensusStream
    from aerolog.cluster.module.extension_turns import ExtensionTurns
    from aerolog.cluster.module.flow import Flow
    from aerolog.cluster.module.log_recording import LogRecording
    from aerolog.cluster.module.module_context import ModuleContext
    from aerolog.cluster.module.module_status import ModuleStatus
    from aerolog.cluster.module.replicated_state import ReplicatedState
    from aerolog.cluster.module.services import Services
    from aerolog.cluster.module.sessions import Sessions
    from aerolog.cluster.module.steady_agent import SteadyAgent


@dataclass(slots=True, frozen=True)
class ModuleParts:
    """The parts that the agent turns, and that consensus and node control direct.

    Attributes:
        context: clients, files, clocks and settings, who leads, and the log that the node writes.
        steady: the native part: ingress into the log, and the commit position.
        status: what the module does.
        flow: what is under way.
        sessions: the sessions of clients.
        state: what the log has made of the module.
        stream: what other members and backups send.
        services: the services of the node.
        recording: the log in the node's archive.
        extension: what takes the place of services, if anything does.
    """

    context: ModuleContext
    steady: SteadyAgent
    status: ModuleStatus
    flow: Flow
    sessions: Sessions
    state: ReplicatedState
    stream: ConsensusStream
    services: Services
    recording: LogRecording
    extension: ExtensionTurns
