"""Replications, which copy recordings of other archives (spec archive-protocol 15)."""
