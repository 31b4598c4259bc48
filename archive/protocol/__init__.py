"""Messages between an archive and its clients: SBE schema 101, version 13.

A message is a slotted dataclass with ``encode()``; ``decode(buffer)`` gives one back. The classes
are made when one is first asked for here, because reading a catalog takes only three of fifty.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aerolog.archive.protocol.messages import *  # noqa: F403 - its list of names is the package's


def __getattr__(name: str) -> object:
    """Make all messages, and keep their names here."""
    if name.startswith("__") and name != "__all__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    messages = importlib.import_module("aerolog.archive.protocol.messages")
    globals().update({each: getattr(messages, each) for each in ("__all__", *messages.__all__)})
    if name not in globals():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals()[name]
