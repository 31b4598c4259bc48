"""Recordings as Arrow data: batches and tables, lazy datasets of several, and times of rows.

The package needs the optional packages of ``aerolog[arrow]``, which are imported when they are
first used.
"""
