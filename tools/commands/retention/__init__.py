"""``aerolog retention``: letting old data go by policy, and never what somebody still needs.

The overview lists the commands in the order in which these modules are imported.
"""

from aerolog.tools.commands.retention import (  # noqa: F401 - each adds its commands to the group
    applying,
    holding,
    planning,
    standing,
)
from aerolog.tools.commands.retention.group import app

__all__ = ["app"]
