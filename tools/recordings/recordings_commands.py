"""``aerolog recordings``: what an archive has, and what can be done about it.

The overview lists the commands in the order in which these modules are imported.
"""

# isort: off
from aerolog.tools.recordings import (  # noqa: F401 - each adds its commands to the group
    recording_list,
    recording_control,
    segment_commands,
    truncation,
    recording_times,
    replication_commands,
    folder_commands,
)

# isort: on
from aerolog.tools.recordings.recordings_group import app

__all__ = ["app"]
