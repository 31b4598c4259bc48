"""Replays: where messages come from, and what is done with them on the way.

Sources are recordings of folders and of running archives, and live streams. Operators over them
give messages by time, at a pace, merged with others, or followed by the live stream.
"""
