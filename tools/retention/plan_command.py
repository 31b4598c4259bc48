"""``aerolog retention plan``: what would go, and why, and what is kept back."""

from aerolog.tools.command_line.help import command
from aerolog.tools.command_line.options import ArchiveOptions, JsonOption, grouped
from aerolog.tools.retention.options import (
    DEFAULT_FOLDER,
    FolderOption,
    PolicyOptions,
    RunOptions,
    policies_of,
)
from aerolog.tools.retention.retention_group import app


@command(
    app,
    examples=(
        "retention plan --archive-dir aeron-archive --policies retention.toml",
        "retention plan --channel 'aeron:ipc*' --max-age 7d",
        "retention plan --policies retention.toml --json | jq .steps[].reason",
    ),
)
@grouped
def plan(
    *,
    archive_dir: FolderOption = DEFAULT_FOLDER,
    policy: PolicyOptions,
    need: RunOptions,
    as_json: JsonOption = False,
    archive: ArchiveOptions,
) -> None:
    """Print what would go, and why, and what is kept back; change nothing.

    An archive that runs in the folder is asked what it still reads.
    """
    from aerolog.tools.retention import retention_run as shared
    from aerolog.tools.terminal import console

    retention = shared.retention_of(archive_dir, policies_of(policy), need)
    planned = retention.plan(shared.archive_needs(archive_dir, archive))
    if as_json:
        console.print_json(planned.row())
    else:
        shared.show_plan(planned)
