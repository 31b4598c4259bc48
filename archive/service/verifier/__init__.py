"""Continuous verification: closed segments are read repeatedly at a bounded rate."""
