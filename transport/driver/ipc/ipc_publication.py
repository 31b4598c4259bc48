"""IPC publications as the conductor's control part sees them (spec cnc-and-commands 14)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aerolog.transport.driver.conductor.driver_publication import DriverPublication
from aerolog.transport.driver.ipc import ipc_stream

if TYPE_CHECKING:
    from aerolog.transport.driver.ipc.ipc_stream import IpcStream


@dataclass(slots=True, eq=False, kw_only=True)
class IpcPublication(DriverPublication):
    """One log that the clients of this driver publish to and subscribe to directly.

    Attributes:
        pub_pos_id: the counter of the publisher's position.
        pub_lmt_id: the counter of the publication limit.
        stream: the native part of the publication.
    """

    pub_pos_id: int
    pub_lmt_id: int
    stream: IpcStream

    @property
    def is_active(self) -> bool:
        """Whether clients may share it."""
        return self.stream.state == ipc_stream.ACTIVE

    @property
    def accepts_subscriptions(self) -> bool:
        """Whether a new subscriber may join."""
        if self.stream.cooling_down:
            return False
        if self.stream.state == ipc_stream.ACTIVE:
            return True
        return self.stream.state == ipc_stream.DRAINING and not self.stream.drained
