"""IPC publications as the conductor's control part sees them (spec cnc-and-commands 14)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aerolog.transport.driver.conductor.driver_publication import DriverPublication
from aerolog.transport.driver.conductor.driver_stream import ACTIVE, DRAINING
from aerolog.transport.driver.conductor.local_subscriptions import NO_CHANNEL_STATUS

if TYPE_CHECKING:
    from aerolog.transport.driver.ipc.ipc_stream import IpcStream

SESSION_MEDIA: Final = "ipc"


@dataclass(slots=True, eq=False, kw_only=True)
class IpcPublication(DriverPublication):
    """One log that the clients of this driver publish to and subscribe to directly."""

    stream: IpcStream

    @property
    def media(self) -> str:
        """The media that session ids belong to."""
        return SESSION_MEDIA

    @property
    def channel_status_id(self) -> int:
        """-1, because it has no endpoint."""
        return NO_CHANNEL_STATUS

    @property
    def accepts_subscribers(self) -> bool:
        """Whether a new subscriber may join."""
        if self.stream.cooling_down:
            return False
        if self.stream.state == ACTIVE:
            return True
        return self.stream.state == DRAINING and not self.stream.subscribers_drained
