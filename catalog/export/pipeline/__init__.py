"""Batch loads of recordings into tables: jobs in TOML files, run through Spark, exactly once.

Needs the optional packages of ``aerolog[sql,spark]``.
"""
