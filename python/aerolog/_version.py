"""The one place of the version."""

__version__ = "0.1.0"

AERON_VERSION = "1.51.0"
"""The release of the reference whose bytes and behaviour this version follows."""
