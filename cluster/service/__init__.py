"""Clustered services: the container, and what a service sees of its cluster (spec cluster 11)."""

from aerolog.cluster.counter_types import Role
from aerolog.cluster.errors import ActiveClusterError, ClusterError
from aerolog.cluster.numbered_messages import SeenNumbers, numbered_message
from aerolog.cluster.service.client_session import ClientSession, UnsentClaim
from aerolog.cluster.service.cluster import Cluster
from aerolog.cluster.service.clustered_service import (
    ClusteredService,
    Serializer,
)
from aerolog.cluster.service.message_batch import MessageBatch, SessionMessage
from aerolog.cluster.service.native_service import NativeService
from aerolog.cluster.service.options import ServiceContainerOptions
from aerolog.cluster.service.service_container import ServiceContainer
from aerolog.cluster.service.snapshot_file import SnapshotReader, SnapshotWriter

__all__ = [
    "ActiveClusterError",
    "ClientSession",
    "Cluster",
    "ClusterError",
    "ClusteredService",
    "MessageBatch",
    "NativeService",
    "Role",
    "SeenNumbers",
    "Serializer",
    "ServiceContainer",
    "ServiceContainerOptions",
    "SessionMessage",
    "SnapshotReader",
    "SnapshotWriter",
    "UnsentClaim",
    "numbered_message",
]
