"""``aerolog export``: write recordings as Parquet, and verify what was written."""

import sys
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aerolog.tools.command_line.exit_codes import EXIT_FAILED
from aerolog.tools.command_line.help import command
from aerolog.tools.command_line.options import (
    ArchiveDirOption,
    ArchiveOptions,
    DecoderOptions,
    JsonOption,
    SkipDamageOption,
    grouped,
    option_parser,
)
from aerolog.transport.config.values import parse_size, whole_number

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.catalog.export import CheckReport, ExportProgress, ExportReport, ExportResult

app = typer.Typer(add_completion=False)

_COLUMNS = ("recording_id", "path", "file_bytes", "rows", "payload_bytes", "seconds")
_RIGHT = ("recording_id", "file_bytes", "rows", "payload_bytes", "seconds")
_FORMATS = {
    *("parquet", "csv", "tsv", "json", "jsonl", "ndjson", "arrow", "feather", "ipc", "orc"),
    *("avro", "iceberg", "delta"),
}
_PROBLEMS = ("path", "recording_id", "problem")


@dataclass(frozen=True, slots=True)
class LayoutOptions:
    """Which files an export makes."""

    format: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="Of the files: parquet.")
    ] = "parquet"
    partition_by: Annotated[
        str | None,
        typer.Option(
            "--partition-by",
            metavar="KEYS",
            help="Folders: recording_id,date,stream_id,archive_id.",
        ),
    ] = None
    fragments: Annotated[
        bool, typer.Option("--fragments", help="A row a fragment, not a message.")
    ] = False
    compression: Annotated[
        str, typer.Option("--compression", metavar="CODEC[:LEVEL]", help="Of the files.")
    ] = "zstd:1"
    file_size: Annotated[
        str, typer.Option("--file-size", metavar="BYTES", help="Recorded bytes a file.")
    ] = "512m"
    time_source: Annotated[
        str,
        typer.Option(
            "--time-source",
            metavar="WHERE",
            help="none, channel, reserved, OFFSET.",
        ),
    ] = "index"

    def export_options(self) -> dict[str, Any]:
        """Arguments of `export_parquet`, which are also those of `ExportOptions`.

        Raises:
            ConfigurationError: they make no sense.
        """
        from aerolog.catalog.export.options import check_compression
        from aerolog.catalog.times import TimeSource
        from aerolog.transport.errors import ConfigurationError

        codec, colon, level = self.compression.partition(":")
        if colon and whole_number(level) is None:
            raise typer.BadParameter(f"--compression takes CODEC:LEVEL, not {self.compression!r}")
        try:
            check_compression(codec, int(level) if colon else None)
        except ConfigurationError as error:
            raise typer.BadParameter(f"--compression: {error}") from error
        if self.format != "parquet":
            raise typer.BadParameter(f"--format {self.format!r} is not known; there is parquet")
        keys = [key.strip() for key in (self.partition_by or "").split(",")]
        return {
            "partition_by": tuple(key for key in keys if key),
            "assemble": not self.fragments,
            "compression": codec,
            "compression_level": int(level) if colon else None,
            "file_length": option_parser(parse_size, "--file-size")(self.file_size),
            "time_source": TimeSource.parse(self.time_source),
        }


@command(
    app,
    examples=(
        "export 7 8 --to exported",
        "export --all --to s3://bucket/prefix --partition-by recording_id",
        "export --to exported --check",
    ),
)
@grouped
def export(
    ids: Annotated[
        list[int] | None,
        typer.Argument(metavar="ID...", help="Recording ids.", min=0, show_default=False),
    ] = None,
    *,
    to: Annotated[
        str,
        typer.Option("--to", metavar="DIR", help="Folder or URL (s3://...)."),
    ],
    every: Annotated[bool, typer.Option("--all", help="All recordings.")] = False,
    search: Annotated[
        list[str] | None,
        typer.Option(
            "--search",
            metavar="NAME=VALUE",
            help="What a SQL catalog finds; repeatable.",
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Compare files with their manifest.")
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Write anew what was exported of them.")
    ] = False,
    skip_damage: SkipDamageOption = False,
    layout: LayoutOptions,
    decoding: DecoderOptions,
    as_json: JsonOption = False,
    catalog: Annotated[
        str | None,
        typer.Option(
            "--catalog",
            metavar="URL",
            help="SQL catalog to search, and to note it in.",
        ),
    ] = None,
    archive_dir: ArchiveDirOption = None,
    archive: ArchiveOptions,
) -> int:
    """Write recordings as Parquet, a file each or many (--partition-by).

    Goes on where an earlier export ended. Damage ends it; the exit code is then 1.

    Columns: position, payload, record_time, ...; with --decoder those it decodes.
    """
    if check:
        return _check(to, as_json)
    if bool(ids) + every + bool(search) != 1:
        raise typer.BadParameter("pass recording ids, --all or --search")
    laid_out = layout.export_options()
    decoder = decoding.make_decoder()
    _check_place(to)
    with ExitStack() as stack:
        progress = _progress(stack)
        if archive_dir is None and catalog is None:
            if search:
                raise typer.BadParameter("--search needs --catalog or --archive-dir")
            if skip_damage:
                raise typer.BadParameter(
                    "--skip-damage needs --archive-dir or --catalog: an archive replays nothing"
                    " behind damage"
                )
            report = _from_archive(archive, ids, to, laid_out, progress, decoder, replace=replace)
        else:
            recordings = _searched(search) if search else ids
            chosen = {"skip_damage": skip_damage, "replace": replace, "decoder": decoder}
            report = _from_folder(archive_dir, catalog, recordings, to, laid_out, progress, chosen)
    for result in report.results:
        _warn(result)
    _warn_of(report)
    _print(report, as_json)
    return 0 if report.complete else EXIT_FAILED


def _check_place(to: str) -> None:
    """Ask, or warn where nobody can be asked, about a new folder named like a format or a file.

    Raises:
        typer.Exit: with 1, the answer was no.
    """
    from aerolog.tools.terminal.confirmation import confirm
    from aerolog.tools.terminal.console import remark

    path = Path(to)
    if "://" in to or path.is_dir():
        return
    if to.lower() in _FORMATS:
        kind = "a format, which --format names"
    elif path.suffix.lower().removeprefix(".") in _FORMATS:
        kind = "a file"
    else:
        return
    text = f"--to {to} looks like {kind}, and is a place: the files go to a new folder {to}"
    if sys.stdin.isatty():
        confirm(f"{text}\n")
    else:
        remark(text)


def _from_folder(
    archive_dir: str | None,
    catalog: str | None,
    recordings: Any,
    to: str,
    layout: dict[str, Any],
    progress: "Callable[[ExportProgress], None]",
    chosen: dict[str, Any],
) -> "ExportReport":
    from aerolog.catalog.export import export_parquet

    place = archive_dir if archive_dir is not None else catalog
    assert place is not None
    return export_parquet(
        place,
        recordings,
        to,
        catalog=catalog,
        progress=progress,
        **chosen,
        **layout,
    )


def _searched(search: list[str]) -> Any:
    from aerolog.catalog.index.search_text import parse_search

    return parse_search(search)


def _from_archive(
    options: ArchiveOptions,
    ids: list[int] | None,
    to: str,
    layout: dict[str, Any],
    progress: "Callable[[ExportProgress], None]",
    decoder: Any,
    *,
    replace: bool,
) -> "ExportReport":
    from aerolog.catalog.export import ExportOptions
    from aerolog.catalog.export.local_runner import export as export_sources
    from aerolog.catalog.export.plan import Request
    from aerolog.catalog.export.store import open_store
    from aerolog.tools.connection.clients import open_archive
    from aerolog.tools.export.replayed_recordings import ReplaySource

    with open_archive(options) as client:
        source = ReplaySource(client)
        wanted = dict.fromkeys(source.ids() if ids is None else ids)
        return export_sources(
            [(source, recording_id) for recording_id in wanted],
            open_store(to),
            ExportOptions(**layout),
            decoder=decoder,
            request=Request(progress=progress, replace=replace),
        )


def _check(to: str, as_json: bool) -> int:
    from aerolog.catalog.export import check_export
    from aerolog.tools.terminal import console

    with console.progress("checking", None, bytes_=True) as bar:
        report = check_export(to, progress=lambda done, _: bar.update(done))
    if as_json:
        console.print_json(asdict(report))
    else:
        _print_check(report)
    return 0 if report.sound and report.complete else EXIT_FAILED


def _print_check(report: "CheckReport") -> None:
    from aerolog.tools.terminal import console

    if report.problems:
        console.print_table(
            _PROBLEMS, ([getattr(one, name) for name in _PROBLEMS] for one in report.problems)
        )
    for recording_id in report.unfinished:
        console.say(f"the export of recording {recording_id} is not finished: run it again")
    for one in report.missing:
        until = "its end" if one.until_position is None else f"position {one.until_position}"
        console.say(
            f"recording {one.recording_id} lacks the rows from position {one.from_position} to"
            f" {until}: {one.reason}"
        )
    words = ["sound" if report.sound else "not sound", *(["incomplete"] * (not report.complete))]
    console.say(
        f"{report.files} files with {report.rows} rows and {report.bytes} bytes: {', '.join(words)}"
    )


def _progress(stack: ExitStack) -> "Callable[[ExportProgress], None]":
    """A bar for each recording in turn."""
    from aerolog.tools.terminal.console import position_progress

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


def _print(report: "ExportReport", as_json: bool) -> None:
    from aerolog.tools.terminal import console

    if as_json:
        console.print_json([asdict(result) for result in report.results])
        return
    console.print_table(_COLUMNS, (_cells(result) for result in report.results), right=_RIGHT)


def _cells(result: "ExportResult") -> list[Any]:
    values = asdict(result) | {"seconds": f"{result.seconds:.3f}"}
    return [values[name] for name in _COLUMNS]


def _warn(result: "ExportResult") -> None:
    from aerolog.tools.terminal.console import remark

    head = f"recording {result.recording_id}:"
    if result.damage is not None:
        remark(f"{head} exported up to position {result.until_position} only: {result.damage}")
    for lost in result.purged:
        remark(
            f"{head} positions {lost.from_position} to {lost.until_position} were purged before"
            " they were exported"
        )
    for gap in result.gaps:
        remark(
            f"{head} positions {gap.from_position} to {gap.until_position} are damaged and were"
            " skipped; the rejects say why"
        )
    if result.rejected:
        remark(f"{head} {result.rejected} messages could not be decoded; they are in rejects/")
    if result.skipped_fragments:
        remark(
            f"{head} {result.skipped_fragments} fragments belong to messages that it does not have"
            " whole; they are left out"
        )
    if result.checksum_mismatches:
        remark(f"{head} {result.checksum_mismatches} frames do not match their checksum")


def _warn_of(report: "ExportReport") -> None:
    from aerolog.tools.terminal.console import remark

    for name in report.abandoned:
        remark(f"an export was killed while it wrote {name}; what was left of it is gone")
    for upload in report.uploads:
        remark(
            f"an export was killed, and the store may keep parts of {upload}: a lifecycle rule that"
            " ends incomplete uploads removes them"
        )
    for folder in report.unnoted:
        remark(
            f"the export is not noted in the catalog: {folder} is read-only; retention does not"
            " know of it"
        )
