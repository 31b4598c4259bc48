"""The links of clients to IPC streams that they subscribe to (spec cnc-and-commands 15)."""

from __future__ import annotations

from dataclasses import dataclass

from aerolog.transport.driver.conductor.local_subscriptions import LocalSubscriptionLink
from aerolog.transport.driver.ipc.ipc_publication import IpcPublication


@dataclass(slots=True, eq=False, kw_only=True)
class IpcSubscriptionLink(LocalSubscriptionLink[IpcPublication]):
    """A client's subscription to an IPC stream."""

    def matches(self, publication: IpcPublication) -> bool:
        """Return whether a publication has the stream and the session of this subscription."""
        return self.stream_id == publication.stream_id and self.matches_session(
            publication.session_id
        )
