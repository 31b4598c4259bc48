"""The driver's event log: what is logged, and the text of its lines."""
