"""The errors of clusters."""

from __future__ import annotations

from aerolog.transport.errors import AerologError


class ClusterError(AerologError):
    """A cluster refused a session, or ended it.

    The text is the cluster's own where it gave one.
    """


class ClusterAuthenticationError(ClusterError):
    """The cluster does not accept the client's credentials."""


class SessionClosedError(ClusterError):
    """The session has ended; a new client connects anew."""


class ActiveClusterError(AerologError):
    """A live consensus module or service container owns the directory."""
