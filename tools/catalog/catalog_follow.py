"""``aerolog catalog sync --follow``: a catalog that stays as an archive's folder is."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from aerolog.tools.catalog.options import CatalogOptions, open_catalog

if TYPE_CHECKING:
    from aerolog.catalog.index import SyncReport

FollowOption = Annotated[
    bool,
    typer.Option("--follow", help="Go on: follow the archive until interrupted."),
]
LookEveryOption = Annotated[
    float,
    typer.Option(
        "--look-every",
        metavar="SECONDS",
        help="With --follow: look for what no event tells.",
        min=0.01,
    ),
]


def follow_archive(options: CatalogOptions, *, look_every_s: float, as_json: bool) -> None:
    """Keep a catalog current, and print what changes, a line each.

    Args:
        options: which catalog, and the archive's folder.
        look_every_s: how old it may become without a recording event.
        as_json: print JSON lines.
    """
    from aerolog.catalog.index.follower import Follower
    from aerolog.tools.terminal import console

    def tell(report: "SyncReport") -> None:
        if as_json:
            console.print_json_line(asdict(report))
        else:
            console.say(_line(report))
        for problem in report.problems:
            console.remark(f"aerolog: {problem}")

    def complain(error: BaseException) -> None:
        console.remark(f"aerolog: {error}; goes on trying")

    assert options.archive_dir is not None
    with (
        open_catalog(options) as catalog,
        Follower(
            catalog,
            options.archive_dir,
            look_every_s=look_every_s,
            on_report=tell,
            on_problem=complain,
        ) as follower,
    ):
        follower.run(until=lambda: False)


def _line(report: "SyncReport") -> str:
    return (
        f"{report.recordings} looked at: {report.added} new, {report.changed} changed, "
        f"{report.purged} gone, {report.segments_changed} segments changed"
    )
