"""The types of ``counter_types.py`` that native code uses; a test holds the two equal."""

cdef enum:
    CLIENT_HEARTBEAT = 11
