"""Bringing a catalog up to a folder, making it anew, and its tables: ``sync, rebuild, migrate``."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aerolog.archive.format.layout import CATALOG_NAME
from aerolog.tools.catalog.catalog_follow import (
    FollowOption,
    LookEveryOption,
    follow_archive,
)
from aerolog.tools.catalog.catalog_group import app
from aerolog.tools.catalog.options import CatalogOptions, open_catalog
from aerolog.tools.command_line.help import command
from aerolog.tools.command_line.options import JsonOption, grouped

if TYPE_CHECKING:
    from aerolog.catalog.index import SyncReport

_SHOWN_MAX = 20
FingerprintsOption = Annotated[
    bool,
    typer.Option("--fingerprints", help="Also compute xxh3 of closed segments that have none."),
]


@command(
    app,
    examples=(
        "catalog sync --archive-dir aeron-archive",
        "catalog sync --archive-dir archive --fingerprints --json",
        "catalog sync --archive-dir archive --follow",
        "catalog sync --archive-dir archive --catalog postgresql://u@host/db",
    ),
)
@grouped
def sync(
    *,
    fingerprints: FingerprintsOption = False,
    follow: FollowOption = False,
    look_every: LookEveryOption = 1.0,
    as_json: JsonOption = False,
    options: CatalogOptions,
) -> None:
    """Bring a catalog up to an archive's folder, once or for as long as this runs.

    The folder is only read, beside a running archive or without one; what is damaged is named and
    passed over. A sync may be broken off and done again at any time.
    """
    from aerolog.catalog.index import sync_folder
    from aerolog.tools.terminal.console import progress

    folder = _folder(options)
    if follow:
        if fingerprints:
            raise typer.BadParameter("--fingerprints is for a sync without --follow")
        follow_archive(options, look_every_s=look_every, as_json=as_json)
        return
    with open_catalog(options) as catalog, progress("recordings", None, quiet=as_json) as bar:
        report = sync_folder(catalog, folder, fingerprints=fingerprints, progress=bar.update)
    _show(report, as_json=as_json)


@command(
    app,
    examples=(
        "catalog rebuild --archive-dir aeron-archive",
        "catalog rebuild --archive-dir archive --catalog sqlite:///fleet.db",
    ),
)
@grouped
def rebuild(
    *,
    fingerprints: FingerprintsOption = False,
    without_journal: Annotated[
        bool,
        typer.Option("--without-journal", help="Lose tags and names whose journal is gone."),
    ] = False,
    as_json: JsonOption = False,
    options: CatalogOptions,
) -> None:
    """Make an archive's part of a catalog anew, with the same content.

    Recordings and segments come from the folder; tags, names, exports, lineage and the marks of
    jobs from the journal in it. Fingerprints are computed again if there were any.
    """
    from aerolog.catalog.index import rebuild as build
    from aerolog.tools.terminal.console import progress

    folder = _folder(options)
    with open_catalog(options) as catalog, progress("recordings", None, quiet=as_json) as bar:
        report = build(
            catalog,
            folder,
            fingerprints=fingerprints or None,
            without_journal=without_journal,
            progress=bar.update,
        )
    _show(report, as_json=as_json)


@command(
    app,
    examples=(
        "catalog migrate --archive-dir aeron-archive",
        "catalog migrate --catalog postgresql://u@host/db --json",
    ),
)
@grouped
def migrate(*, as_json: JsonOption = False, options: CatalogOptions) -> None:
    """Bring a catalog's tables to the version of this aerolog; a new database gets them."""
    from aerolog.catalog.index.migration import migrate as bring_up
    from aerolog.catalog.index.recording_catalog import open_engine
    from aerolog.tools.terminal import console

    if options.catalog is None and options.archive_dir is None:
        raise typer.BadParameter("pass --catalog URL or --archive-dir DIR")
    engine = open_engine(options.catalog, options.archive_dir)
    try:
        before, after = bring_up(engine)
    finally:
        engine.dispose()
    if as_json:
        console.print_json({"from": before, "to": after})
    elif before == after:
        console.say(f"the tables have revision {after} already")
    else:
        console.say(f"the tables went from revision {before or 'none'} to {after}")


def _folder(options: CatalogOptions) -> str:
    if options.archive_dir is None:
        raise typer.BadParameter("pass --archive-dir DIR, the archive's folder")
    # Before a database is made in a folder that is none.
    Path(options.archive_dir, CATALOG_NAME).stat()
    return options.archive_dir


def _show(report: "SyncReport", *, as_json: bool) -> None:
    from aerolog.tools.terminal import console

    values: dict[str, Any] = asdict(report)
    problems: list[str] = values["problems"]
    if as_json:
        console.print_json(values)
        return
    console.print_fields({**values, "problems": len(problems)})
    for problem in problems[:_SHOWN_MAX]:
        console.remark(f"passed over: {problem}")
    if len(problems) > _SHOWN_MAX:
        console.remark(f"and {len(problems) - _SHOWN_MAX} more, see --json")
