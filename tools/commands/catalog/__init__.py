"""``aerolog catalog``: which recordings there are, and what is known about them.

A module adds its commands to the group when it is imported; the overview lists them in the order
of the imports here.
"""

from aerolog.tools.commands.catalog import (  # noqa: F401 - each adds its commands to the group
    querying,
    searching,
    syncing,
    tagging,
)
from aerolog.tools.commands.catalog.group import app

__all__ = ["app"]
