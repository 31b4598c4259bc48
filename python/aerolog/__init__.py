"""aerolog: archive and replay with a recording catalog, byte-compatible with Aeron 1.51.0."""

from aerolog._version import __version__

__all__ = ["__version__"]
