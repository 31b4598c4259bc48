"""Replications: recordings of other archives, copied (spec archive-protocol 15)."""
