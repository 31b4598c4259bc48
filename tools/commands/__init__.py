"""One module a command; each has an ``app``."""
