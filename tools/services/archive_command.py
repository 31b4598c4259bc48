"""``aerolog archive``: run an archive beside a running driver."""

import typer

from aerolog.tools.command_line.help import command
from aerolog.tools.services.service_options import (
    PASS_THROUGH,
    AeronDirProperty,
    ArchiveDirProperty,
    ControlChannelProperty,
    ServiceArguments,
    run_service,
    service_arguments,
)

app = typer.Typer(add_completion=False)


@command(app, context_settings=PASS_THROUGH, examples=("archive --archive-dir aeron-archive",))
def archive(
    arguments: ServiceArguments = None,
    aeron_dir: AeronDirProperty = None,
    archive_dir: ArchiveDirProperty = None,
    control_channel: ControlChannelProperty = None,
) -> None:
    """Run an archive beside the media driver of a directory until SIGINT or SIGTERM.

    Properties have the reference's names, such as -Daeron.archive.dir=DIR; they and properties
    files apply in their order, over AERON_* variables of the environment.
    """
    given = service_arguments(
        arguments,
        {
            "aeron.dir": aeron_dir,
            "aeron.archive.dir": archive_dir,
            "aeron.archive.control.channel": control_channel,
        },
    )
    from aerolog.archive.service import main_archive

    run_service(main_archive, given)
