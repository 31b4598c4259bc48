"""Avro: a message is one datum, bare or with the header of the single-object encoding."""

from __future__ import annotations

import io
import json
import uuid
from typing import TYPE_CHECKING, Any

from aerolog.catalog.decoders.avro_bytes import AvroWalk
from aerolog.catalog.decoders.avro_types import arrow_schema_of, check_finite
from aerolog.catalog.decoders.base import (
    Decoded,
    Decoder,
    DecoderError,
    as_binary,
    one_line,
)
from aerolog.catalog.decoders.exact_values import RowFitter
from aerolog.catalog.decoders.options import Options
from aerolog.catalog.extras import require

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

SINGLE_OBJECT_MARK = b"\xc3\x01"
SINGLE_OBJECT_HEADER = 10
VALUE_COLUMN = "value"
_EMPTY = 0xC15D213AA4D7A795


def _crc_table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = (value >> 1) ^ (_EMPTY if value & 1 else 0)
        table.append(value)
    return tuple(table)


_CRC = _crc_table()


def fingerprint(canonical: str) -> int:
    """Compute the CRC-64-AVRO of a schema's parsing canonical form."""
    value = _EMPTY
    for byte in canonical.encode():
        value = (value >> 8) ^ _CRC[(value ^ byte) & 0xFF]
    return value


class AvroDecoder(Decoder):
    """Decodes Avro data by schema.

    Options: ``schema`` (JSON) or ``schema_file`` gives the schema of the columns.
        ``writer_schemas`` (a JSON list) or ``writer_schema_files`` (separated by commas) gives the
        schemas of writers with other versions of it, which are selected by their fingerprints.
        ``encoding`` is ``auto`` (single-object where the header has a known fingerprint, else
        bare), ``single`` or ``bare``.

    A bare datum has the one writer schema when exactly one is given, else ``schema``. A record's
    fields are the columns; any other schema gives the one column ``value``.
    """

    name = "avro"

    def __init__(self, options: Mapping[str, str]) -> None:
        known = ("schema", "schema_file", "writer_schemas", "writer_schema_files", "encoding")
        checked = Options(self.name, options, known)
        content = checked.required_file("schema_file", "schema", "the schema's JSON", is_text=True)
        self._encoding = checked.choice("encoding", ("auto", "single", "bare"))
        self._inline_writers(checked)
        super().__init__(checked.values)
        self._avro = require("fastavro", "decoding Avro")
        self._rules = require("fastavro.schema", "decoding Avro")
        self._reader = self._parse(content.decode())
        writers = self._writers(checked.text("writer_schemas", "[]"))
        self._known = {
            self._fingerprint(one): (one, AvroWalk(one)) for one in (self._reader, *writers)
        }
        bare = writers[0] if len(writers) == 1 else self._reader
        self._bare = bare, AvroWalk(bare)
        self._is_record = isinstance(self._reader, dict) and self._reader.get("type") == "record"
        self._schema = arrow_schema_of(self._reader, VALUE_COLUMN)
        self._fitter = RowFitter(self._schema, extra=False)

    @staticmethod
    def _inline_writers(checked: Options) -> None:
        paths = checked.values.pop("writer_schema_files", "")
        if not paths:
            return
        if "writer_schemas" in checked.values:
            raise DecoderError(
                "decoder avro takes one of writer_schemas and writer_schema_files, not both"
            )
        found = []
        for path in paths.split(","):
            one = Options("avro", {"file": path.strip()}, ("file", "text"))
            one.inline_file("file", "text", is_text=True)
            found.append(_json(one.values["text"]))
        checked.values["writer_schemas"] = json.dumps(found)

    def _writers(self, text: str) -> list[Any]:
        found = _json(text)
        if not isinstance(found, list):
            raise DecoderError("option writer_schemas of decoder avro is a JSON list of schemas")
        return [self._parse(json.dumps(one)) for one in found]

    def _parse(self, text: str) -> Any:
        schema = _json(text)
        try:
            json.dumps(schema, ensure_ascii=False).encode()  # names have no halves of pairs
            parsed = self._avro.parse_schema(schema)
        except Exception as error:
            raise DecoderError(f"not an Avro schema: {one_line(error)}") from error
        check_finite(parsed)
        return parsed

    def _fingerprint(self, schema: Any) -> bytes:
        canonical = self._rules.to_parsing_canonical_form(schema)
        return fingerprint(canonical).to_bytes(8, "little")

    @property
    def schema(self) -> pa.Schema:
        """The columns that the Avro schema describes."""
        return self._schema

    def decode(self, payloads: pa.BinaryArray) -> Decoded:
        """Decode messages; every datum is a row, and bytes behind it make its message a reject."""
        return self._fitter.fit_each(as_binary(payloads).to_pylist(), self._rows)

    def _rows(self, payload: bytes | None) -> list[dict[str, Any]] | str:
        try:
            return [self._datum(payload)]
        except Exception as error:  # noqa: BLE001 (any failure over bytes is a reject)
            return f"not Avro of this schema: {one_line(error) or type(error).__name__}"

    def _datum(self, payload: bytes | None) -> dict[str, Any]:
        if payload is None:
            raise ValueError("no payload")
        (writer, walk), body = self._bare, payload
        single = payload.startswith(SINGLE_OBJECT_MARK) and len(payload) >= SINGLE_OBJECT_HEADER
        if self._encoding == "single" and not single:
            raise ValueError("no header of the single-object encoding")
        if single and self._encoding != "bare":
            known = self._known.get(payload[2:SINGLE_OBJECT_HEADER])
            if known is not None:
                (writer, walk), body = known, payload[SINGLE_OBJECT_HEADER:]
            elif self._encoding == "single":
                number = int.from_bytes(payload[2:SINGLE_OBJECT_HEADER], "little")
                raise ValueError(f"unknown fingerprint {number:#018x}")
        walk.check(body)
        found = _plain(self._avro.schemaless_reader(io.BytesIO(body), writer, self._reader))
        return found if self._is_record else {VALUE_COLUMN: found}


def _plain(value: Any) -> Any:
    """Convert a value to the form that columns take: UUIDs become text."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return str(value) if isinstance(value, uuid.UUID) else value


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DecoderError(f"not an Avro schema: {error}") from error
