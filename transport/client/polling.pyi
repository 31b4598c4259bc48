"""Batches of messages from logs into Python memory; native callers only."""
