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
from aerolog.catalog.arrow.pushdown import HIGHEST, LOWEST, ColumnBounds
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


# DuckDB casts bytes to JSON without an error, as null or as one text in quotes. Around what a query
# takes for JSON, this macro asks for a field that is there but where the type is one of bytes: an
# error as soon as DuckDB knows the types, before it reads a row.
_BYTES_ARE_NO_JSON = (
    "these are bytes and no JSON: write decode(payload) in place of payload, or pass --decoder json"
    " and query the table messages"
)
_NO_BYTES = "aerolog_no_bytes"
_MACRO = f"""CREATE MACRO {_NO_BYTES}(value) AS list_transform([value], lambda one: CASE
    WHEN struct_extract({{'text': true}}, CASE typeof(one)
        WHEN 'BLOB' THEN '{_BYTES_ARE_NO_JSON}' ELSE 'text' END)
    THEN one END)[1]"""

# Functions that read JSON in their first argument.
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
        "extract_string",
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
) | {"->>", "from_json", "from_json_strict", "json"}
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

    def read(
        self, columns: Sequence[str], bounds: ColumnBounds, **options: int
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
            self._connection.execute(_MACRO)
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
        """Refuse ``bytes->'x'``, ``bytes::JSON`` and functions that read JSON, on bytes.

        DuckDB plans the query with the macro around each of these, and so knows the type behind
        every alias, subquery, CTE and join; what runs is the query as it was written.

        Raises:
            QueryError: the query has one of them.
        """
        copied = _COPY.match(sql)
        query = copied[1] if copied else sql

        def ask(question: str, *values: str) -> tuple[str, ...]:
            answer: list[tuple[str, ...]] = self._connection.execute(question, values).fetchall()
            return answer[0]

        try:
            text, macro = ask(
                "SELECT json_serialize_sql($1), json_serialize_sql($2)",
                query,
                f"SELECT {_NO_BYTES}(NULL)",
            )
            tree = json.loads(text)
            (call,) = json.loads(macro)["statements"][0]["node"]["select_list"]
            if not _guard_json(tree, call):
                return
            (text,) = ask("SELECT json_deserialize_sql($1)", json.dumps(tree))
            ask(f"EXPLAIN {text}")
        except self._duckdb.Error as error:  # for any other, the query itself gives the error
            if _BYTES_ARE_NO_JSON in str(error):
                raise QueryError(_BYTES_ARE_NO_JSON) from None
        except RecursionError:  # hundreds of operators in a row: DuckDB itself takes them
            return

    def close(self) -> None:
        """Close the connection to DuckDB; a second call does nothing."""
        self._connection.close()


def _guard_json(tree: dict[str, Any], call: dict[str, Any]) -> bool:
    """Put a call around all that DuckDB's syntax tree takes for JSON; False when that is nothing.

    Args:
        tree: of the query, which changes.
        call: the tree of a call with one argument.
    """
    found = False
    nodes: list[Any] = [tree]
    while nodes:
        node = nodes.pop()
        inner = node.values() if isinstance(node, dict) else node
        nodes += [one for one in inner if isinstance(one, dict | list)]
        if isinstance(node, list):
            continue
        if node.get("syntax_type") == "SINGLE_ARROW":
            holder, key = node, "lhs"
        elif node.get("function_name") in _JSON_READERS and node["arguments"]:
            holder, key = node["arguments"][0], "expression"
        elif node.get("type_expr", {}).get("type_name", "").upper() == "JSON":
            holder, key = node, "child"
        else:
            continue
        holder[key] = {**call, "arguments": [{"name": "", "expression": holder[key]}]}
        found = True
    return found


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
