"""The client of a cluster: sessions, ingress and egress (spec cluster 8)."""

from aerolog.cluster.client.aeron_cluster import AeronCluster, AsyncAeronCluster
from aerolog.cluster.client.cluster_session import ClientState
from aerolog.cluster.client.egress_batch import EgressBatch
from aerolog.cluster.client.egress_message import EgressMessage
from aerolog.cluster.client.numbered_offers import AsyncNumberedOffers, NumberedOffers
from aerolog.cluster.client.options import ClusterClientOptions
from aerolog.cluster.errors import (
    ClusterAuthenticationError,
    ClusterError,
    SessionClosedError,
)
from aerolog.cluster.numbered_messages import NumberedMessage

__all__ = [
    "AeronCluster",
    "AsyncAeronCluster",
    "AsyncNumberedOffers",
    "ClientState",
    "ClusterAuthenticationError",
    "ClusterClientOptions",
    "ClusterError",
    "EgressBatch",
    "EgressMessage",
    "NumberedMessage",
    "NumberedOffers",
    "SessionClosedError",
]
