"""aerolog: archive and replay with a recording catalog, byte-compatible with Aeron 1.51.0.

The names that a first program wants are here, loaded when they are first used: ``Aeron``,
``AeronArchive``, ``MediaDriver``, ``ArchivingMediaDriver`` and ``open_recording``. Everything else
is in ``aerolog.transport``, ``aerolog.archive``, ``aerolog.cluster`` and ``aerolog.catalog``.
"""

import importlib
from typing import TYPE_CHECKING

from aerolog._version import __version__

if TYPE_CHECKING:
    from aerolog.archive.client import AeronArchive
    from aerolog.archive.service import ArchivingMediaDriver
    from aerolog.catalog import open_recording
    from aerolog.transport.client import Aeron
    from aerolog.transport.driver import MediaDriver

_HOMES = {
    "Aeron": "aerolog.transport.client",
    "AeronArchive": "aerolog.archive.client",
    "ArchivingMediaDriver": "aerolog.archive.service",
    "MediaDriver": "aerolog.transport.driver",
    "open_recording": "aerolog.catalog",
}

__all__ = [
    "Aeron",
    "AeronArchive",
    "ArchivingMediaDriver",
    "MediaDriver",
    "__version__",
    "open_recording",
]


def __getattr__(name: str) -> object:
    """Load one of the names above."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
