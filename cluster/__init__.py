"""Aeron Cluster: replicated state machines on the transport and the archive."""
