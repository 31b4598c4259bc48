"""The units of ``time_units.py`` for native code; a test holds the two equal."""

cdef enum:
    NS_PER_US = 1_000
    NS_PER_MS = 1_000_000
    NS_PER_S = 1_000_000_000
