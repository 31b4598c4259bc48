"""Congestion control: the strategies for an image's receiver window, and their choice."""
