"""Batches of messages from Python memory into a log; native callers only."""
