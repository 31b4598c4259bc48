"""What the sending and the receiving half of the conductor's network part both work with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aerolog.transport.driver.conductor.clients import Clients
    from aerolog.transport.driver.conductor.conductor_agent import ConductorAgent
    from aerolog.transport.driver.conductor.session_ids import PublicationSessions
    from aerolog.transport.driver.context import DriverContext
    from aerolog.transport.driver.ipc.ipc_conductor import IpcConductor
    from aerolog.transport.driver.receive.receiver import Receiver
    from aerolog.transport.driver.send.sender import Sender


@dataclass(frozen=True, slots=True)
class ConductorContext:
    """The rest of the driver as the network part sees it.

    Attributes:
        context: what the whole driver shares.
        agent: turns streams, knows the time.
        clients: owners of publications and subscriptions.
        sessions: session ids of the publications of all media.
        ipc: where a multi-destination subscription gets its ``aeron:ipc`` destinations.
        sender: the agent of send endpoints and publications.
        receiver: the agent of receive endpoints and images.
    """

    context: DriverContext
    agent: ConductorAgent
    clients: Clients
    sessions: PublicationSessions
    ipc: IpcConductor
    sender: Sender
    receiver: Receiver
