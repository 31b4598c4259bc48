"""Commands on the folder of an archive that has stopped: ``compact``, ``checksum`` and others."""

from typing import Annotated

import typer

from aerolog.tools.command_line.exit_codes import EXIT_FAILED
from aerolog.tools.command_line.help import command
from aerolog.tools.command_line.options import (
    DryRunOption,
    JsonOption,
    RecordingArgument,
    grouped,
    option_parser,
)
from aerolog.tools.recordings.folder_options import FolderChangeOptions
from aerolog.tools.recordings.recordings_group import app
from aerolog.tools.retention.options import DEFAULT_FOLDER, FolderOption
from aerolog.transport.config.values import parse_size

OneRecordingArgument = Annotated[
    int | None,
    typer.Argument(
        metavar="[ID]", help="One recording; all by default.", min=0, show_default=False
    ),
]
_CHECKSUMS = ("CRC-32", "CRC-32C")


def _checksum(name: str) -> str:
    if name not in _CHECKSUMS:
        raise typer.BadParameter(f"takes {' or '.join(_CHECKSUMS)}, not {name!r}")
    return name


def _capacity(name: str, text: str) -> int:
    from aerolog.archive.format.layout import CATALOG_HEADER_LENGTH, MAX_I32

    wanted = parse_size(name, text)
    if not CATALOG_HEADER_LENGTH <= wanted <= MAX_I32:
        raise typer.BadParameter(
            f"a catalog has {CATALOG_HEADER_LENGTH} to {MAX_I32} bytes, not {wanted}"
        )
    return wanted


@command(app, "mark-valid", examples=("recordings mark-valid 7 --archive-dir archive",))
@grouped
def mark_valid(recording_id: RecordingArgument, *, how: FolderChangeOptions) -> None:
    """Make a recording of a folder VALID, so that archives serve it again."""
    from aerolog.archive.protocol.enums import RecordingState
    from aerolog.tools.recordings.folder_changes import mark

    mark(how.folder(), recording_id, RecordingState.VALID, how.terminal())


@command(app, "mark-invalid", examples=("recordings mark-invalid 7 --dry-run",))
@grouped
def mark_invalid(recording_id: RecordingArgument, *, how: FolderChangeOptions) -> None:
    """Make a recording of a folder INVALID: no archive serves it, and its files stay."""
    from aerolog.archive.protocol.enums import RecordingState
    from aerolog.tools.recordings.folder_changes import mark

    mark(how.folder(), recording_id, RecordingState.INVALID, how.terminal())


@command(app, "delete-orphaned", examples=("recordings delete-orphaned --dry-run",))
@grouped
def delete_orphaned(recording_id: OneRecordingArgument = None, *, how: FolderChangeOptions) -> None:
    """Delete segment files of a folder that lie outside of their recording's start and stop.

    Detached segments that are to be attached again are such files, too.
    """
    from aerolog.tools.recordings import folder_changes

    folder_changes.delete_orphaned(how.folder(), recording_id, how.terminal())


@command(app, examples=("recordings compact --archive-dir archive --dry-run",))
@grouped
def compact(*, how: FolderChangeOptions) -> None:
    """Remove recordings that are not VALID from a folder's catalog, with their segments."""
    from aerolog.tools.recordings import folder_changes

    folder_changes.compact(how.folder(), how.terminal())


@command(app, examples=("recordings checksum CRC-32C --all",))
@grouped
def checksum(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="CRC-32 or CRC-32C.", callback=_checksum, show_default=False
        ),
    ],
    recording_id: OneRecordingArgument = None,
    *,
    all_segments: Annotated[
        bool, typer.Option("--all", help="Of all segments, not only of each recording's last.")
    ] = False,
    how: FolderChangeOptions,
) -> None:
    """Store checksums of catalog entries and frames in a folder; 1 where a segment has a fault.

    A frame's checksum takes the place of its session id, which is lost.
    """
    from aerolog.tools.archive_files.checksum_stamps import StampChoice
    from aerolog.tools.recordings import folder_changes

    choice = StampChoice(name, recording_id, all_segments)
    if not folder_changes.store_checksums(how.folder(), choice, how.terminal()):
        raise typer.Exit(EXIT_FAILED)


@command(app, examples=("recordings upgrade --archive-dir archive --dry-run",))
@grouped
def upgrade(*, how: FolderChangeOptions) -> None:
    """Bring a folder that an older archive has left up to this version of its files."""
    from aerolog.tools.recordings import folder_upgrade

    folder_upgrade.upgrade(how.folder(), how.terminal())


@command(app, examples=("recordings capacity 64m --archive-dir archive",))
def capacity(
    wanted: Annotated[
        int,
        typer.Argument(
            metavar="[BYTES]",
            help="How long to make it, at least (k, m, g allowed).",
            parser=option_parser(_capacity, "capacity"),
            show_default=False,
        ),
    ] = 0,
    *,
    archive_dir: FolderOption = DEFAULT_FOLDER,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Print the length of a folder's catalog file, or make the file longer."""
    from aerolog.tools.connection.archive_folder import check_folder
    from aerolog.tools.recordings.folder_changes import set_capacity
    from aerolog.tools.terminal.command_terminal import ChangeTerminal

    check_folder(archive_dir)
    set_capacity(archive_dir, wanted, ChangeTerminal(as_json=as_json, dry_run=dry_run))
