"""``aerolog retention status``: runs, what went, what is held, what is unfinished."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

from aerolog.tools.command_line.help import command
from aerolog.tools.command_line.options import JsonOption
from aerolog.tools.retention.options import DEFAULT_FOLDER, FolderOption
from aerolog.tools.retention.retention_group import app
from aerolog.transport.time_units import NS_PER_MS

if TYPE_CHECKING:
    from aerolog.archive.retention.status import RetentionStatus

_HOLD_COLUMNS = ("recording", "reason", "since", "until")


@command(app, examples=("retention status --archive-dir aeron-archive", "retention status --json"))
def status(*, archive_dir: FolderOption = DEFAULT_FOLDER, as_json: JsonOption = False) -> None:
    """Print when retention ran, what went, what is held, and what is unfinished.

    The exit code is 1 when holds or journal cannot be read: nothing is deleted then.
    """
    from aerolog.archive.retention.status import retention_status
    from aerolog.tools.command_line.exit_codes import EXIT_FAILED
    from aerolog.tools.connection.archive_folder import check_folder
    from aerolog.tools.terminal import console
    from aerolog.transport.concurrent.clock import SystemClock

    check_folder(archive_dir)
    found = retention_status(archive_dir, SystemClock().now_epoch_ms())
    if as_json:
        console.print_json(asdict(found))
    else:
        console.print_fields(_fields(found))
        if found.holds:
            console.print_table(
                _HOLD_COLUMNS,
                (
                    (one.recording_id, one.reason, _time(one.since_ms), _time(one.until_ms))
                    for one in found.holds
                ),
                right=("recording",),
            )
    for problem in found.problems:
        console.remark(f"aerolog: {problem}")
    if found.problems:
        raise typer.Exit(EXIT_FAILED)


def _fields(found: "RetentionStatus") -> dict[str, Any]:
    run = found.last_run
    last = "never"
    if run is not None:
        last = _time(run.begin_ms)
        if found.running is None:
            ended = run.error or ("cut off" if run.end_ms is None else "done")
            last += f": {run.files} files, {run.bytes} bytes; {ended}"
    return {
        "running": found.running or "no",
        "last run": last,
        "runs": found.runs,
        "files gone": found.files,
        "bytes gone": found.bytes,
        "unfinished steps": len(found.unfinished),
        "held recordings": len({one.recording_id for one in found.holds}),
    }


def _time(milliseconds: int | None) -> str:
    from aerolog.transport.config.times import format_time

    return "" if milliseconds is None else format_time(milliseconds * NS_PER_MS)
