"""What the sending and the receiving half of the network conductor share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aerolog.transport.driver.conductor.clients import Clients
    from aerolog.transport.driver.conductor.command_order import CommandOrder
    from aerolog.transport.driver.conductor.conductor_agent import ConductorAgent
    from aerolog.transport.driver.conductor.session_ids import PublicationSessions
    from aerolog.transport.driver.context import DriverContext
    from aerolog.transport.driver.ipc.ipc_conductor import IpcConductor
    from aerolog.transport.driver.receive.receiver import Receiver
    from aerolog.transport.driver.send.sender import Sender


@dataclass(frozen=True, slots=True)
class ConductorContext:
    """The parts of the driver that the network conductor uses.

    Attributes:
        context: the state and services of the whole driver.
        agent: runs the streams and knows the time.
        clients: the owners of publications and subscriptions.
        order: holds clients whose commands go on later, and answers those that fail.
        sessions: the session ids of all publications, whatever their media.
        ipc: makes the ``aeron:ipc`` destinations of a multi-destination subscription.
        sender: the agent of send endpoints and publications.
        receiver: the agent of receive endpoints and images.
    """

    context: DriverContext
    agent: ConductorAgent
    clients: Clients
    order: CommandOrder
    sessions: PublicationSessions
    ipc: IpcConductor
    sender: Sender
    receiver: Receiver
