"""``aerolog retention``: letting old data go by policy, and never what somebody still needs.

The overview lists the commands in the order in which these modules are imported.
"""

from aerolog.tools.retention import (  # noqa: F401 - each adds its commands to the group
    apply_command,
    hold_commands,
    plan_command,
    status_command,
)
from aerolog.tools.retention.retention_group import app

__all__ = ["app"]
