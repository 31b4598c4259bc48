"""Saying what recordings are: ``tag``."""

from typing import Annotated, Any

import typer

from aerolog.tools.catalog.catalog_group import app
from aerolog.tools.catalog.options import CatalogOptions, chosen_archive, open_catalog
from aerolog.tools.catalog.search_commands import ArchiveOption
from aerolog.tools.command_line.help import command
from aerolog.tools.command_line.options import JsonOption, grouped


@command(
    app,
    examples=(
        "catalog tag 7 8 --set carrier=AA --archive-dir archive",
        "catalog tag 7 --name first-flight --archive-dir archive",
        "catalog tag first-flight --remove season --archive-dir archive",
    ),
)
@grouped
def tag(
    recordings: Annotated[
        list[str],
        typer.Argument(metavar="ID|NAME...", help="Recording ids or names.", show_default=False),
    ],
    *,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Give a tag; may be repeated."),
    ] = None,
    remove: Annotated[
        list[str] | None,
        typer.Option("--remove", metavar="KEY", help="Take a tag away; may be repeated."),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Give the recording a name.")
    ] = None,
    unname: Annotated[
        list[str] | None,
        typer.Option("--unname", metavar="NAME", help="Take a name away; may be repeated."),
    ] = None,
    move: Annotated[
        bool, typer.Option("--move", help="Take the name from the recording that has it.")
    ] = False,
    archive: ArchiveOption = None,
    as_json: JsonOption = False,
    catalog: CatalogOptions,
) -> None:
    """Give recordings tags and a name, or take them away: all of it or nothing.

    They are kept in the archive's folder too (aerolog-catalog.journal), where a rebuild and other
    catalogs find them. Without changes, what there is is printed.
    """
    from aerolog.catalog.index.labels import label, resolve
    from aerolog.catalog.index.search import Search
    from aerolog.catalog.index.search import search as find
    from aerolog.tools.catalog import catalog_rows as view
    from aerolog.tools.terminal import console

    tags = dict(_pair(word) for word in set_ or ())
    with open_catalog(catalog) as opened:
        place = chosen_archive(catalog, archive)
        chosen = [resolve(opened, one, place) for one in recordings]
        places = {one.place for one in chosen}
        if len(places) > 1:
            raise typer.BadParameter("the recordings are of several archives: pass --archive")
        ids = sorted({one.recording_id for one in chosen})
        where = chosen[0].place
        if tags or remove or name is not None or unname:
            label(
                opened,
                where,
                ids,
                tags=tags,
                untag=remove or (),
                name=name,
                unname=unname or (),
                move=move,
            )
        rows: list[dict[str, Any]] = [
            {"recording_id": one.recording_id, "names": list(one.names), "tags": dict(one.tags)}
            for one in find(opened, Search(archive=where, recording_ids=ids, order="id"))
        ]
    if as_json:
        console.print_json(rows)
    else:
        console.print_table(
            ("recording_id", "names", "tags"),
            (
                [row["recording_id"], ", ".join(row["names"]), view.shown_tags(row["tags"])]
                for row in rows
            ),
            right=("recording_id",),
        )


def _pair(word: str) -> tuple[str, str]:
    key, equals, value = word.partition("=")
    if not equals:
        raise typer.BadParameter(f"{word!r} is no tag: write KEY=VALUE")
    return key, value
