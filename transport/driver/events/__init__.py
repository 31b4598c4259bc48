"""The driver's event log: its events, its logging ports, and the text of its lines."""
