"""Recordings as Arrow data: batches and tables of one, lazy datasets of many, times of their rows.

Needs the optional packages of ``aerolog[arrow]``, which are imported when they are first used.
"""
