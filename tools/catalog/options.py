"""The options by which a command reaches a SQL catalog, and the catalog that they name."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from aerolog.transport.secrets import repr_without_secrets

if TYPE_CHECKING:
    from aerolog.catalog.index import RecordingCatalog


@repr_without_secrets
@dataclass(frozen=True, slots=True)
class CatalogOptions:
    """Which catalog: a database by its URL, or the one in an archive's folder."""

    catalog: Annotated[
        str | None,
        typer.Option(
            "--catalog",
            metavar="URL",
            envvar="AEROLOG_CATALOG",
            help="Database; default SQLite in the folder.",
        ),
    ] = None
    archive_dir: Annotated[
        str | None,
        typer.Option("--archive-dir", metavar="DIR", help="The archive's folder."),
    ] = None


def open_catalog(options: CatalogOptions) -> "RecordingCatalog":
    """The catalog; a context manager.

    Raises:
        CatalogError: it cannot be opened; what to do is in the text.
    """
    from aerolog.catalog.index import RecordingCatalog
    from aerolog.catalog.index.recording_catalog import check_archive_dir

    if options.catalog is None and options.archive_dir is None:
        raise typer.BadParameter("pass --catalog URL, --archive-dir DIR or both")
    check_archive_dir(options.catalog, options.archive_dir)
    return RecordingCatalog.open(options.catalog, archive_dir=options.archive_dir)


def chosen_archive(options: CatalogOptions, archive: str | None) -> str | int | None:
    """Which archive of the catalog is meant: that of ``--archive``, or the folder's.

    The database in a folder has that archive alone, unless others were synced into it.
    """
    from aerolog.catalog.index.journal import place_of
    from aerolog.catalog.index.search_text import parse_archive

    if archive is not None:
        return parse_archive("--archive", archive)
    if options.catalog is not None and options.archive_dir is not None:
        return place_of(options.archive_dir)
    return None
