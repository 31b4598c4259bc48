"""Finding recordings in a catalog, and looking at one: ``search``, ``show``."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from aerolog.tools.catalog.catalog_group import app
from aerolog.tools.catalog.options import CatalogOptions, chosen_archive, open_catalog
from aerolog.tools.command_line.help import command
from aerolog.tools.command_line.options import TIME_RULE, JsonOption, StreamOption, grouped

if TYPE_CHECKING:
    from aerolog.catalog.index import RecordingCatalog
    from aerolog.catalog.index.search import Search

LIMIT = 100
ArchiveOption = Annotated[
    str | None,
    typer.Option("--archive", metavar="PLACE", help="Its folder, its URL, or its archive id."),
]


@command(
    app,
    examples=(
        "catalog search --archive-dir aeron-archive --stream 1001",
        "catalog search --archive-dir archive --since 2026-11-20T10:00",
        "catalog search --tag carrier=AA --min-size 1g --catalog sqlite:///f.db",
    ),
)
@grouped
def search(
    *,
    stream: StreamOption = None,
    channel: Annotated[
        str | None, typer.Option("--channel", metavar="TEXT", help="Channels with this in them.")
    ] = None,
    tag: Annotated[
        list[str] | None,
        typer.Option("--tag", metavar="KEY[=VALUE]", help="Has this tag; may be repeated."),
    ] = None,
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="Its name.")] = None,
    state: Annotated[
        str | None,
        typer.Option(
            "--state", metavar="STATE", help="active, stopped, invalid, deleted or purged."
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since", metavar="TIME", help=f"Recorded at that time or later. {TIME_RULE}"
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option("--until", metavar="TIME", help=f"Recorded before that time. {TIME_RULE}"),
    ] = None,
    min_size: Annotated[
        str | None, typer.Option("--min-size", metavar="BYTES", help="At least (k, m, g allowed).")
    ] = None,
    max_size: Annotated[
        str | None, typer.Option("--max-size", metavar="BYTES", help="At most (k, m, g allowed).")
    ] = None,
    archive: ArchiveOption = None,
    ids: Annotated[
        list[int] | None,
        typer.Option("--id", metavar="ID", help="Recording id; may be repeated."),
    ] = None,
    order: Annotated[
        str,
        typer.Option("--order", metavar="O", help="newest, oldest, largest, smallest or id."),
    ] = "newest",
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="How many.", min=0)] = LIMIT,
    offset: Annotated[
        int, typer.Option("--offset", metavar="N", help="Leave out the first N.", min=0)
    ] = 0,
    as_json: JsonOption = False,
    catalog: CatalogOptions,
) -> None:
    """Find recordings that meet all conditions.

    Times are ISO 8601 or numbers since the epoch. What the catalog knows is as old as its last
    sync.
    """
    from aerolog.tools.catalog import catalog_rows as view
    from aerolog.tools.terminal import console

    wanted = _parsed(
        {
            "stream": stream,
            "channel": channel,
            "tag": tag or None,
            "name": name,
            "state": state,
            "since": since,
            "until": until,
            "min-size": min_size,
            "max-size": max_size,
            "archive": chosen_archive(catalog, archive),
            "id": ids or None,
            "order": order,
            "limit": limit + 1,  # one more tells whether there are more
            "offset": offset,
        }
    )
    with open_catalog(catalog) as opened:
        found = _search(opened, wanted)
        if not (found or as_json) and (since, until) != (None, None):
            _say_when(opened, wanted)
    shown = found[:limit]
    if as_json:
        console.print_json([view.as_json(one) for one in shown])
    else:
        rows = [view.cells(one) for one in shown]
        several = len({one.place for one in shown}) > 1
        columns = ("place", *view.COLUMNS) if several else view.COLUMNS
        console.print_table(
            columns, ([row[name] for name in columns] for row in rows), right=view.RIGHT
        )
    if len(found) > limit:
        console.remark(f"there are more: --offset {offset + limit} shows the next, or --limit")


def _parsed(given: dict[str, Any]) -> "Search":
    from aerolog.catalog.index.errors import SearchError
    from aerolog.catalog.index.search_text import parse_search

    try:
        return parse_search(given)
    except SearchError as error:
        raise typer.BadParameter(str(error)) from error


def _say_when(catalog: "RecordingCatalog", wanted: "Search") -> None:
    """Remark when something was recorded that meets all but the times."""
    from dataclasses import replace

    from aerolog.catalog.index.search import search as find
    from aerolog.tools.catalog.catalog_rows import shown_time
    from aerolog.tools.terminal import console

    timeless = replace(wanted, since_ms=None, until_ms=None, offset=0, limit=1)
    oldest = find(catalog, replace(timeless, order="oldest"))
    if oldest:
        [newest] = find(catalog, replace(timeless, order="newest"))
        end = newest.stop_time_ms
        until = "is being recorded now" if end is None else f"ended at {shown_time(end)}"
        console.remark(
            "nothing was recorded in that time; the oldest recording that meets the other "
            f"conditions began at {shown_time(oldest[0].start_time_ms)}, the newest {until}"
        )


def _search(catalog: "RecordingCatalog", wanted: "Search") -> list[Any]:
    from aerolog.catalog.index.search import search as find
    from aerolog.tools.terminal import console

    found = find(catalog, wanted)
    if not found and not has_archives(catalog):
        console.remark(
            "the catalog has no archive yet; run: aerolog catalog sync --archive-dir DIR"
        )
    return list(found)


def has_archives(catalog: "RecordingCatalog") -> bool:
    """Whether the catalog was ever synced."""
    from sqlalchemy import select

    from aerolog.catalog.index.models import Archive

    with catalog.session() as session:
        return session.scalar(select(Archive.id).limit(1)) is not None


@command(
    app,
    examples=(
        "catalog show 7 --archive-dir aeron-archive",
        "catalog show first-flight --catalog sqlite:///fleet.db --json",
    ),
)
@grouped
def show(
    recording: Annotated[
        str, typer.Argument(metavar="ID|NAME", help="Recording id or name.", show_default=False)
    ],
    *,
    archive: ArchiveOption = None,
    as_json: JsonOption = False,
    catalog: CatalogOptions,
) -> None:
    """Print everything the catalog knows of one recording.

    Segments with their sizes, fingerprints and places, tags and names, where it came from, what
    was exported, how far jobs have come.
    """
    from aerolog.catalog.index.labels import resolve
    from aerolog.catalog.index.recording_details import details
    from aerolog.tools.catalog import catalog_rows as view
    from aerolog.tools.terminal import console

    with open_catalog(catalog) as opened:
        place = chosen_archive(catalog, archive)
        values = details(opened, resolve(opened, recording, place))
    if as_json:
        console.print_json(values)
        return
    tables = {name: values.pop(name) for name in ("segments", "lineage", "exports", "marks")}
    values["tags"] = view.shown_tags(values["tags"])
    for name in ("names", "holds"):
        values[name] = ", ".join(values[name])
    for name in ("start_time", "stop_time"):
        values[name] = view.shown_time(values.pop(f"{name}_ms"))
    console.print_fields(values)
    for name, rows in tables.items():
        if rows:
            columns = [column for column in rows[0] if column != "files"]
            console.say("")
            console.say(name)
            console.print_table(columns, ([row[column] for column in columns] for row in rows))
