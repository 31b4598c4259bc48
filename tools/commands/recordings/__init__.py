"""``aerolog recordings``: what an archive has, and what can be done about it.

The overview lists the commands in the order in which these modules are imported.
"""

from aerolog.tools.commands.recordings import (  # noqa: F401 - each adds its commands to the group
    looking,
    running,
    segments,
    shortening,
    times,
    transferring,
)
from aerolog.tools.commands.recordings.group import app

__all__ = ["app"]
