"""When recordings were recorded: ``times``."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from aerolog.tools.command_line.help import command
from aerolog.tools.command_line.options import (
    TIME_RULE,
    ArchiveDirOption,
    ArchiveOptions,
    JsonOption,
    RecordingArgument,
    grouped,
)
from aerolog.tools.recordings.recordings_group import app

if TYPE_CHECKING:
    from aerolog.archive.time_index import TimeIndex


@command(
    app,
    examples=(
        "recordings times 7",
        "recordings times 7 --at 2026-11-20T10:00",
        "recordings times 7 --archive-dir aeron-archive --rebuild",
    ),
)
@grouped
def times(
    recording_id: RecordingArgument,
    *,
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="TIME",
            help=f"Say between which positions a time lies. {TIME_RULE}",
        ),
    ] = None,
    rebuild: Annotated[
        bool,
        typer.Option(
            "--rebuild", help="Write the index of a stopped recording anew; with --archive-dir."
        ),
    ] = False,
    as_json: JsonOption = False,
    archive_dir: ArchiveDirOption = None,
    archive: ArchiveOptions,
) -> None:
    """Print what the time index of a recording knows, and how good it is.

    source is clock (the archive's), channel (times in messages) or descriptor: without an index
    only the start and the stop are known. --rebuild keeps the times that there are; without any it
    takes those that the channel put into the messages, or the descriptor's as bounds, by which
    nothing is deleted. What is wrong with an index is said on standard error, and the exit code is
    1.
    """
    from aerolog.tools.command_line.exit_codes import EXIT_FAILED
    from aerolog.tools.terminal import console
    from aerolog.transport.config.times import parse_time_ns

    at_ns = None if at is None else parse_time_ns("--at", at)
    if archive_dir is None:
        if rebuild:
            raise typer.BadParameter(
                "--rebuild works on files: name their folder with --archive-dir"
            )
        from aerolog.tools.connection.clients import open_archive

        with open_archive(archive) as client:
            values, problems = _values(client.time_index(recording_id), at_ns)
    else:
        values, problems = _of_folder(archive_dir, recording_id, at_ns, rebuild=rebuild)
    if as_json:
        console.print_json(values | {"problems": problems})
    else:
        console.print_fields(values)
    for problem in problems:
        console.remark(f"aerolog: {problem}")
    if problems:
        raise typer.Exit(EXIT_FAILED)


def _of_folder(
    archive_dir: str, recording_id: int, at_ns: int | None, *, rebuild: bool
) -> tuple[dict[str, Any], list[str]]:
    from aerolog.archive.format.archive_folder import ArchiveFolder
    from aerolog.archive.time_index import TimeIndex

    with ArchiveFolder(archive_dir) as folder:
        recording = folder.recording(recording_id)
        if rebuild:
            from aerolog.archive.time_index.channel_times import channel_time_offset
            from aerolog.archive.time_index.notes import TIME_OF_CLOCK
            from aerolog.archive.time_index.rebuild import rebuild_index

            offset = channel_time_offset(recording.descriptor.original_channel)
            rebuild_index(recording, TIME_OF_CLOCK if offset is None else offset)
        with TimeIndex.of(recording) as index:
            return _values(index, at_ns)


def _values(index: "TimeIndex", at_ns: int | None) -> tuple[dict[str, Any], list[str]]:
    """What is printed, and what is wrong."""
    from aerolog.transport.config.times import format_time

    values: dict[str, Any] = {
        "recording_id": index.recording_id,
        "source": index.source,
        "is_rebuilt": index.is_rebuilt,
        "entries": index.entries,
        "size_bytes": index.size_bytes,
        "first_time": format_time(index.first_time_ns),
        "last_time": format_time(index.last_time_ns),
        "last_position": index.last_position,
        "clock_steps_back": index.clock_steps_back,
    }
    if at_ns is not None:
        values |= {
            "at": format_time(at_ns),
            "from_position": index.position_at(at_ns),
            "until_position": index.end_position_at(at_ns),
        }
    # Last, for the file may be cut while the values are read.
    return values, list(index.check())
