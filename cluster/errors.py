"""The errors of clusters."""

from __future__ import annotations

from aerolog.transport.errors import AerologError, ErrorCategory


class ClusterError(AerologError):
    """A cluster refused a session, or ended it.

    The text is the cluster's own where it gave one.
    """


class ClusterEvent(AerologError):  # noqa: N818 - it is none
    """Something that an operator may want to know and that is not a fault of the node."""

    category = ErrorCategory.WARN


class ClusterAuthenticationError(ClusterError):
    """The cluster does not accept the client's credentials."""


class SessionClosedError(ClusterError):
    """The session has ended; a new client connects anew."""


#: How a node says in its error log that it ended because a service had; the service's id follows.
SERVICE_LOST = "Aeron client in service closed unexpectedly: serviceId="


class ServiceLostError(ClusterError):
    """A service of the node has ended, so that the node cannot go on.

    Attributes:
        service_id: the service.
    """

    def __init__(self, service_id: int) -> None:
        super().__init__(
            f"{SERVICE_LOST}{service_id}: its container"
            " has ended, or stood still for aeron.client.liveness.timeout; see why in the"
            " container's error log, then start the node and its container again"
        )
        self.service_id = service_id


class ActiveClusterError(AerologError):
    """A live consensus module or service container owns the directory."""
