"""SQL queries over a catalog's tables and the frames of its recordings, in this process by DuckDB.

The tables of the SQL catalog are read from its database and ``frames`` from the segments, both when
a query asks for them, with its columns and bounds handed down. Queries come from people and
programs and can only read these tables: they reach no files, network, extensions or variables of
the program, and change no settings.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, Integer, select

from aerolog.catalog.arrow.dataset import ArchiveDataset
from aerolog.catalog.arrow.lazy_dataset import LazyDataset
from aerolog.catalog.arrow.pushdown import HIGHEST, LOWEST, Bounds
from aerolog.catalog.extras import require
from aerolog.catalog.index.models import Archive, Base
from aerolog.transport.errors import AerologError
from aerolog.transport.resource import Resource

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from sqlalchemy import Table

    from aerolog.archive.format.recording_read import Gap
    from aerolog.catalog.decoders import Decoder
    from aerolog.catalog.index import RecordingCatalog
    from aerolog.catalog.locations import PlacedRecording

FRAMES, MESSAGES, REJECTS = "frames", "messages", "rejects"
MEMORY_LIMIT = "2GB"
_PAYLOAD = "payload"
_PURPOSE = "asking a catalog in SQL"
_ROWS = 10_000
# These settings close DuckDB's ways to files, extensions, secrets and variables of the program.
_CLOSED = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_persistent_secrets": "false",
    "python_enable_replacements": "false",
    "temp_directory": "",
}


# DuckDB casts bytes to JSON without an error, as null, when a function of JSON gets them.
_BYTES_ARE_NO_JSON = (
    "these are bytes and no JSON: write decode(payload) in place of payload, or pass --decoder json"
    " and query the table messages"
)
_MACROS = tuple(
    f"""CREATE MACRO "{name}"(value, path) AS CASE WHEN typeof(value) = 'BLOB'
    THEN error('{_BYTES_ARE_NO_JSON}') ELSE system.main.{function}(value, path) END"""
    for name, function in (
        ("->>", "json_extract_string"),
        ("json_extract_string", "json_extract_string"),
    )
)

# Functions that read JSON in their first argument, and take bytes for one text in quotes.
_JSON_READERS = frozenset(
    f"json_{name}"
    for name in [
        "array_length",
        "contains",
        "each",
        "exists",
        "extract",
        "extract_path",
        "extract_path_text",
        "keys",
        "pretty",
        "structure",
        "transform",
        "transform_strict",
        "tree",
        "type",
        "valid",
        "value",
    ]
) | {"from_json", "from_json_strict", "json"}
# DuckDB gives the syntax tree of a query, but none of a COPY.
_COPY = re.compile(r"\s*copy\s*\((.*)\)\s*to\b", re.IGNORECASE | re.DOTALL)
# DuckDB's text for an error that one of our streams raised.
_OURS = re.compile(r"failed: [\w ]+: (.*)\. Detail: Python exception")


class QueryError(AerologError, ValueError):
    """A query is wrong or not allowed, or it failed while it was reading."""


class CatalogTable(LazyDataset):
    """A table of the SQL catalog as an Arrow dataset."""

    def __init__(self, catalog: RecordingCatalog, table: Table) -> None:
        self._catalog = catalog
        self._table = table
        pyarrow = require("pyarrow", _PURPOSE)
        self._numbers = frozenset(
            column.name for column in table.columns if isinstance(column.type, BigInteger | Integer)
        )
        super().__init__(
            pyarrow.schema(
                [
                    pyarrow.field(
                        name, pyarrow.int64() if name in self._numbers else pyarrow.utf8()
                    )
                    for name in table.columns.keys()  # noqa: SIM118 - not a dictionary
                ]
            )
        )

    def answers(self, bounds: Bounds) -> bool:
        """Whether ``read`` returns just the matching rows; nullable columns may prevent that."""
        return bounds.exact and not bounds.columns

    def read(
        self, columns: Sequence[str], bounds: Bounds, **options: int
    ) -> Iterator[pa.RecordBatch]:
        """Read the table's present rows as batches."""
        pyarrow = require("pyarrow", _PURPOSE)
        schema = pyarrow.schema([self.schema.field(name) for name in columns])
        query = select(*(self._table.columns[name] for name in columns))
        for name in self._numbers & set(bounds.columns):
            column, bound = self._table.columns[name], bounds.of(name)
            if bound.low > LOWEST:
                query = query.where(column >= bound.low)
            if bound.high < HIGHEST:
                query = query.where(column <= bound.high)
        with self._catalog.session() as session:
            found = session.execute(query.execution_options(yield_per=_ROWS))
            for rows in found.partitions(options.get("rows_max", _ROWS)):
                arrays = [
                    pyarrow.array(values, field.type)
                    for values, field in zip(zip(*rows, strict=True), schema, strict=True)
                ]
                yield pyarrow.RecordBatch.from_arrays(arrays, schema=schema)


class CatalogQueries(Resource):
    """A DuckDB instance over one catalog. A context manager."""

    def __init__(
        self,
        catalog: RecordingCatalog,
        *,
        allowed_dirs: Sequence[str | Path] = (),
        memory_limit: str = MEMORY_LIMIT,
        skip_damage: bool = False,
        decoder: Decoder | None = None,
    ) -> None:
        """Register the tables; nothing is read yet.

        Args:
            catalog: the catalog, which must stay open while queries run; the caller closes it.
            allowed_dirs: folders whose files queries may read, and to which they may COPY.
            memory_limit: the most memory that DuckDB may use, such as ``2GB``.
            skip_damage: True goes on behind what is damaged or missing, which is then in ``gaps``.
            decoder: of payloads; queries then have the tables ``messages``, with the columns that
                it decodes, and ``rejects``. One that infers its schema reads messages for that.

        Raises:
            MissingExtraError: DuckDB or Arrow is not installed.
            QueryError: DuckDB rejects the limit or a folder.
            DecoderError: the decoder's schema cannot be inferred.
        """
        self._duckdb = require("duckdb", _PURPOSE)
        self._allows_files = bool(allowed_dirs)
        with catalog.session() as session:
            rows = session.execute(select(Archive.place, Archive.id)).all()
        places: dict[str, int] = {place: key for place, key in rows}  # noqa: C416 - typed rows
        self._frames = ArchiveDataset(catalog, archive_keys=places, skip_damage=skip_damage)
        try:
            self._connection = self._duckdb.connect(
                ":memory:", config=_CLOSED | {"memory_limit": memory_limit}
            )
            for table in Base.metadata.sorted_tables:
                self._connection.register(table.name, CatalogTable(catalog, table))
            self._connection.register(FRAMES, self._frames)
            for name, dataset in self._decoded(decoder).items():
                self._connection.register(name, dataset)
            for macro in _MACROS:
                self._connection.execute(macro)
            folders = [str(Path(folder).absolute()) for folder in allowed_dirs]
            self._connection.execute("SET allowed_directories = ?", [folders])
            self._connection.execute("SET enable_external_access = false")
            self._connection.execute("SET lock_configuration = true")
        except self._duckdb.Error as error:
            raise QueryError(_first_line(error)) from error

    def _decoded(self, decoder: Decoder | None) -> dict[str, LazyDataset]:
        """The tables of decoded messages and of rejects."""
        if decoder is None:
            return {}
        from aerolog.catalog.arrow.decoded_dataset import DecodedDataset

        messages = DecodedDataset(self._frames, decoder)
        return {
            MESSAGES: messages,
            REJECTS: DecodedDataset(self._frames, messages.decoder, rejects=True),
        }

    @property
    def gaps(self) -> dict[PlacedRecording, list[Gap]]:
        """By recording, what queries have skipped as damaged when they read it last."""
        return self._frames.gaps

    def query(self, sql: str) -> pa.RecordBatchReader:
        """Execute one query; its result is streamed.

        Args:
            sql: one SELECT (or WITH, FROM, VALUES, DESCRIBE, SHOW, SUMMARIZE) or EXPLAIN; with
                allowed folders also a COPY.

        Raises:
            QueryError: the text is not one such statement, is wrong or not allowed, or the data is
                damaged; reading the result may raise it too.
        """
        pyarrow = require("pyarrow", _PURPOSE)
        kind = self._kind_of(sql)
        self._refuse_bytes_as_json(sql)
        try:
            if kind == self._duckdb.StatementType.COPY:
                (written,) = self._connection.execute(sql).fetchone()
                return pyarrow.table({"rows": [written]}).to_reader()
            reader = self._connection.sql(sql).to_arrow_reader(_ROWS)
        except self._duckdb.Error as error:
            raise QueryError(_first_line(error)) from error
        return pyarrow.RecordBatchReader.from_batches(reader.schema, _read(reader))

    def _kind_of(self, sql: str) -> Any:
        kinds = self._duckdb.StatementType
        allowed = [kinds.SELECT, kinds.EXPLAIN, *([kinds.COPY] if self._allows_files else [])]
        try:
            statements = self._connection.extract_statements(sql)
        except self._duckdb.Error as error:
            raise QueryError(_first_line(error)) from error
        except TypeError as error:  # DuckDB's binding raises it for halves of surrogate pairs
            raise QueryError("the text of the query is not UTF-8") from error
        if len(statements) != 1:
            raise QueryError(f"one statement at a time, not {len(statements)}")
        if statements[0].type not in allowed:
            raise QueryError(
                f"{statements[0].type.name} is not allowed: a catalog is read with SELECT,"
                " EXPLAIN, DESCRIBE or SHOW (COPY ... TO with allowed folders)"
            )
        return statements[0].type

    def _refuse_bytes_as_json(self, sql: str) -> None:
        """Refuse ``payload->'x'``, ``payload::JSON`` and functions that read JSON, on bytes.

        No macro can take their place.

        Raises:
            QueryError: the query has one of them, and no column that it names payload itself.
        """
        copied = _COPY.match(sql)
        query = copied[1] if copied else sql
        try:
            with self._connection.cursor() as cursor:  # the connection streams another result
                (text,) = cursor.execute("SELECT json_serialize_sql(?)", [query]).fetchone()
            nodes: list[Any] = [json.loads(text)]
        except self._duckdb.Error as error:
            raise QueryError(_first_line(error)) from error
        except RecursionError:  # hundreds of operators in a row: DuckDB itself takes them
            return
        found = False
        while nodes:
            node = nodes.pop()
            if isinstance(node, list):
                nodes += node
            elif isinstance(node, dict):
                nodes += node.values()
                if _is_bytes_as_json(node):
                    found = True
                elif node.get("alias") == _PAYLOAD:
                    return
        if found:
            raise QueryError(_BYTES_ARE_NO_JSON)

    def close(self) -> None:
        """Close the connection to DuckDB; a second call does nothing."""
        self._connection.close()


def _is_bytes_as_json(node: dict[str, Any]) -> bool:
    """Whether an expression of DuckDB's syntax tree takes the column of payloads for JSON."""
    if node.get("syntax_type") == "SINGLE_ARROW":
        return _is_payload(node["lhs"])
    if node.get("function_name") in _JSON_READERS and node["arguments"]:
        return _is_payload(node["arguments"][0]["expression"])
    if node.get("class") != "CAST":
        return False
    kind = node.get("type_expr", {}).get("type_name", "")
    return bool(kind.upper() == "JSON" and _is_payload(node["child"]))


def _is_payload(node: dict[str, Any]) -> bool:
    """Whether an expression of DuckDB's syntax tree is the column of payloads."""
    return node.get("class") == "COLUMN_REF" and node["column_names"][-1].lower() == _PAYLOAD


def _read(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    try:
        yield from reader
    except OSError as error:  # Arrow raises it for an error in a stream
        raise QueryError(_first_line(error)) from error


def _first_line(error: Any) -> str:
    """The first line of DuckDB's error, or the text of our own error when DuckDB wraps one."""
    line = str(error).partition("\n")[0]
    ours = _OURS.search(line)
    return ours[1] if ours else line
