"""Asking a catalog and its recordings in SQL: ``sql``."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from aerolog.tools.catalog.catalog_group import app
from aerolog.tools.catalog.options import CatalogOptions, open_catalog
from aerolog.tools.command_line.help import command
from aerolog.tools.command_line.options import DecoderOptions, JsonOption, SkipDamageOption, grouped

if TYPE_CHECKING:
    import pyarrow as pa

    from aerolog.catalog.duckdb import CatalogQueries

#: Characters of a query from standard input, as of job files.
_QUERY_MAX = 1024 * 1024
#: What Arrow raises for values that no type of Python holds.
_OUT_OF_RANGE = (ArithmeticError, ValueError)


@command(
    app,
    examples=(
        'catalog sql "SELECT * FROM recordings" --archive-dir archive',
        'catalog sql "SELECT count(*) FROM frames" --archive-dir archive',
        'catalog sql "SELECT * FROM messages" --decoder json --archive-dir DIR',
        "catalog sql - --catalog sqlite:///fleet.db --json < question.sql",
    ),
)
@grouped
def sql(
    query: Annotated[
        str,
        typer.Argument(
            metavar="SQL", help="One SELECT; - reads it from stdin.", show_default=False
        ),
    ],
    *,
    allow_files: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-files",
            metavar="DIR",
            help="Files in this folder may be read and written; may be repeated.",
        ),
    ] = None,
    memory: Annotated[
        str, typer.Option("--memory", metavar="SIZE", help="Memory that DuckDB may use.")
    ] = "2GB",
    skip_damage: SkipDamageOption = False,
    decoding: DecoderOptions,
    as_json: JsonOption = False,
    catalog: CatalogOptions,
) -> None:
    """Ask tables of the catalog, and the messages themselves, in DuckDB's SQL.

    Tables: recordings, segments, streams, archives, tags, names, lineage, exports, ... and frames,
    whose rows are messages: recording_id, position, session_id, stream_id, payload, ...,
    archive_fk. A payload is bytes: decode(payload)->>'NAME' gets at a field of JSON, and with
    --decoder the tables messages and rejects have what is decoded. Bounds of recording, stream,
    session and position choose what is read. Other files and settings are out of reach. JSON: an
    object a line; bytes that are no text are in base64.
    """
    from aerolog.catalog.duckdb import CatalogQueries
    from aerolog.tools.terminal.standard_input import stdin_text

    text = stdin_text(_QUERY_MAX) if query == "-" else query
    with (
        open_catalog(catalog) as opened,
        CatalogQueries(
            opened,
            allowed_dirs=allow_files or (),
            memory_limit=memory,
            skip_damage=skip_damage,
            decoder=decoding.make_decoder(),
        ) as queries,
    ):
        try:
            _print(queries.query(text), as_json)
        finally:
            _tell_gaps(queries)


def _tell_gaps(queries: "CatalogQueries") -> None:
    from aerolog.tools.terminal.console import remark
    from aerolog.transport.secrets import without_secrets

    for placed, gaps in queries.gaps.items():
        for gap in gaps:
            remark(
                f"recording {placed.recording_id} of {without_secrets(placed.place)}: {gap.text}"
            )


def _print(answer: "pa.RecordBatchReader", as_json: bool) -> None:
    from aerolog.tools.terminal import console

    names = answer.schema.names
    if as_json:
        for batch in answer:
            for row in _rows(batch):
                document = dict(zip(names, map(_jsonable, row), strict=True))
                console.print_json_line(document, exact=True)
        return
    numbers = [
        field.name for field in answer.schema if str(field.type).startswith(("int", "uint", "dou"))
    ]
    rows = ([_shown(value) for value in row] for batch in answer for row in _rows(batch))
    console.print_table(names, rows, right=numbers, exact=True)


def _rows(batch: "pa.RecordBatch") -> Any:
    """Rows as tuples; columns may have the same name."""
    columns = [_values(column) for column in batch.columns]
    return zip(*columns, strict=True) if columns else ()


def _values(column: "pa.Array") -> list[Any]:
    try:
        found: list[Any] = column.to_pylist()
    except _OUT_OF_RANGE:
        found = [_value(scalar) for scalar in column]
    return found


def _value(scalar: Any) -> Any:
    """A value; what Python's types do not hold, such as times after the year 9999, as text."""
    import pyarrow as pa

    try:
        return scalar.as_py()
    except _OUT_OF_RANGE:
        if isinstance(scalar, pa.StructScalar):
            return {name: _value(scalar[name]) for name in scalar}
        if isinstance(scalar, pa.MapScalar):
            return [(_value(one["key"]), _value(one["value"])) for one in scalar.values]
        if isinstance(scalar, pa.ListScalar):
            return [_value(one) for one in scalar.values]
        if isinstance(scalar, pa.UnionScalar):
            return _value(scalar.value)
        return scalar.cast(pa.string()).as_py()


def _shown(value: Any) -> Any:
    """A value for people: bytes as text where they are some."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return f"x'{value.hex()}'"
    return value


def _jsonable(value: Any) -> Any:
    """A value for programs."""
    from base64 import b64encode

    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return b64encode(value).decode()
    if isinstance(value, dict):
        return {str(name): _jsonable(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(one) for one in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)
