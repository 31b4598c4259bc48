"""Agents and their runners, idle strategies, clocks, queues and atomic access to memory."""
