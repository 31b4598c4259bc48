"""``aerolog retention hold`` and ``release``: recordings that nothing goes of."""

from dataclasses import asdict
from typing import Annotated

import typer

from aerolog.tools.command_line.help import command
from aerolog.tools.command_line.options import TIME_RULE, JsonOption
from aerolog.tools.retention.options import DEFAULT_FOLDER, FolderOption
from aerolog.tools.retention.retention_group import app
from aerolog.transport.time_units import NS_PER_MS

IdsArgument = Annotated[
    list[int], typer.Argument(metavar="ID...", help="Recording ids.", show_default=False)
]


@command(
    app,
    examples=(
        "retention hold 7 --reason 'incident 4711'",
        "retention hold 7 8 --reason audit --until 2027-01-01",
    ),
)
def hold(
    recording_ids: IdsArgument,
    *,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why, for people.")],
    until: Annotated[
        str | None,
        typer.Option(
            "--until",
            metavar="TIME",
            help=f"When it ends by itself; never by default. {TIME_RULE}",
        ),
    ] = None,
    archive_dir: FolderOption = DEFAULT_FOLDER,
    as_json: JsonOption = False,
) -> None:
    """Keep recordings, whatever the policies say.

    It holds when the command has ended; a run that is under way heeds it from its next request on.
    """
    from aerolog.archive.retention.holds import Holds
    from aerolog.tools.connection.archive_folder import check_folder, check_recordings
    from aerolog.tools.terminal import console
    from aerolog.transport.concurrent.clock import SystemClock
    from aerolog.transport.config.times import parse_time_ns

    check_folder(archive_dir)
    check_recordings(archive_dir, recording_ids)
    until_ms = None if until is None else parse_time_ns("--until", until) // NS_PER_MS
    holds = Holds.open(archive_dir)
    now_ms = SystemClock().now_epoch_ms()
    made = [holds.add(one, reason, until_ms, now_ms=now_ms) for one in recording_ids]
    if as_json:
        console.print_json([asdict(one) for one in made])
    else:
        for one in made:
            console.say(f"recording {one.recording_id} is held: {reason}")


@command(app, examples=("retention release 7", "retention release 7 --reason 'incident 4711'"))
def release(
    recording_ids: IdsArgument,
    *,
    reason: Annotated[
        str | None,
        typer.Option("--reason", metavar="TEXT", help="Only the hold for this reason."),
    ] = None,
    archive_dir: FolderOption = DEFAULT_FOLDER,
    as_json: JsonOption = False,
) -> None:
    """End the holds of recordings. Fails when one is not held."""
    from aerolog.archive.retention.holds import Holds
    from aerolog.tools.connection.archive_folder import check_folder
    from aerolog.tools.terminal import console
    from aerolog.transport.errors import AerologError

    check_folder(archive_dir)
    holds = Holds.open(archive_dir)
    for recording_id in recording_ids:
        if not any(
            one.recording_id == recording_id and reason in (None, one.reason) for one in holds
        ):
            why = "" if reason is None else f" for {reason!r}"
            raise AerologError(f"recording {recording_id} is not held{why}")
    gone = [one for recording_id in recording_ids for one in holds.remove(recording_id, reason)]
    if as_json:
        console.print_json([asdict(one) for one in gone])
    else:
        for one in gone:
            console.say(f"recording {one.recording_id} is released: {one.reason}")
