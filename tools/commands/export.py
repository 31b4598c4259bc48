"""``aerolog export``: write recordings as Parquet."""

from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aerolog.tools.help import command
from aerolog.tools.options import ArchiveDirOption, ArchiveOptions, JsonOption, grouped

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.catalog.export import ExportProgress, ExportResult

app = typer.Typer(add_completion=False)

_COLUMNS = ("recording_id", "path", "file_bytes", "rows", "payload_bytes", "seconds")
_RIGHT = ("recording_id", "file_bytes", "rows", "payload_bytes", "seconds")


@command(
    app,
    examples=(
        "export 7 8 --to exported",
        "export 7 --to exported --archive-dir aeron-archive",
    ),
)
@grouped
def export(
    ids: Annotated[
        list[int],
        typer.Argument(metavar="ID...", help="Recording ids.", min=0, show_default=False),
    ],
    *,
    to: Annotated[
        Path, typer.Option("--to", metavar="DIR", help="Folder of the files, made if missing.")
    ],
    fragments: Annotated[
        bool, typer.Option("--fragments", help="A row a fragment as it was sent, not a message.")
    ] = False,
    as_json: JsonOption = False,
    archive_dir: ArchiveDirOption = None,
    archive: ArchiveOptions,
) -> None:
    """Write recordings as Parquet, a file each.

    Columns: recording_id, position (after the message), term_id, term_offset, session_id,
    stream_id, flags, reserved_value, payload, record_time. A file appears when it is complete.
    """
    from aerolog.tools import console

    with ExitStack() as stack:
        progress = _progress(stack)
        if archive_dir is not None:
            from aerolog.catalog.export import export_recordings

            results = export_recordings(
                archive_dir, ids, to, raw_fragments=fragments, progress=progress
            )
        else:
            results = _from_archive(archive, ids, to, fragments, progress)
    for result in results:
        _warn(result)
    if as_json:
        console.print_json([asdict(result) for result in results])
        return
    console.print_table(_COLUMNS, (_cells(result) for result in results), right=_RIGHT)


def _from_archive(
    options: ArchiveOptions,
    ids: list[int],
    to: Path,
    fragments: bool,
    progress: "Callable[[ExportProgress], None]",
) -> "list[ExportResult]":
    from aerolog.tools.archive_export import export_from_archive
    from aerolog.tools.connecting import connect_archive, connect_driver

    with connect_driver(options) as aeron, connect_archive(aeron, options) as client:
        return export_from_archive(client, ids, to, raw_fragments=fragments, progress=progress)


def _progress(stack: ExitStack) -> "Callable[[ExportProgress], None]":
    """A bar for each recording in turn."""
    from aerolog.tools.console import position_progress

    bars: dict[int, Callable[[int], None]] = {}

    def update(state: "ExportProgress") -> None:
        bar = bars.get(state.recording_id)
        if bar is None:
            stack.close()
            length = state.until_position - state.from_position
            bar = bars[state.recording_id] = stack.enter_context(
                position_progress(f"recording {state.recording_id}", state.from_position, length)
            )
        bar(state.position)

    return update


def _cells(result: "ExportResult") -> list[Any]:
    values = asdict(result) | {"seconds": f"{result.seconds:.3f}"}
    return [values[name] for name in _COLUMNS]


def _warn(result: "ExportResult") -> None:
    from aerolog.tools.console import remark

    if result.skipped_fragments:
        remark(
            f"recording {result.recording_id}: {result.skipped_fragments} fragments belong to "
            "messages that it does not have whole; they are left out"
        )
    if result.checksum_mismatches:
        remark(
            f"recording {result.recording_id}: {result.checksum_mismatches} frames do not match "
            "their checksum"
        )
