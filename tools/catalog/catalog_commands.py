"""``aerolog catalog``: which recordings there are, and what is known about them.

A module adds its commands to the group when it is imported; the overview lists them in the order
of the imports here.
"""

# isort: off
from aerolog.tools.catalog import (  # noqa: F401 - each adds its commands to the group
    sql_command,
    search_commands,
    sync_commands,
    tag_command,
)

# isort: on
from aerolog.tools.catalog.catalog_group import app

__all__ = ["app"]
