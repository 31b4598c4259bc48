"""Frame header offsets, flags and types (spec log-buffers 4) as Python integers.

The table stands in frames.pxd, once, where native code reads it.
"""
