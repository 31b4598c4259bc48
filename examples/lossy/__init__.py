"""A lossy UDP stream, recorded whole and replayed byte by byte: ``make demo-udp``."""
