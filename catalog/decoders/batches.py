"""Decodes scanned batches to rejects, and to rows that tell where they are from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aerolog.catalog.arrow.schema import arrow_schema
from aerolog.catalog.decoders.base import Decoded, Decoder, DecoderError, as_binary, one_line
from aerolog.catalog.extras import require

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
else:
    pa = require("pyarrow", "decoding messages")

PLACE_COLUMNS = ("recording_id", "position", "session_id", "stream_id", "record_time")
#: The columns of the scan that decoding needs.
SCANNED_COLUMNS = (*PLACE_COLUMNS, "payload")
TAKEN_NAME_PREFIX = "payload_"

REJECTS_SCHEMA = pa.schema(
    [
        pa.field("recording_id", pa.int64(), nullable=False),
        pa.field("position", pa.int64(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("payload", pa.binary(), nullable=True),
    ]
)


@dataclass(slots=True)
class DecodeTotals:
    """The totals of a decoding.

    Attributes:
        messages: the number of messages, with rows or rejected.
        rows: the number of rows.
        rejects: the number of messages without rows.
        schema_changes: the number of rejects that are well formed but have another schema.
        first_change: recording id, position and reason of the first of those.
    """

    messages: int = 0
    rows: int = 0
    rejects: int = 0
    schema_changes: int = 0
    first_change: tuple[int, int, str] | None = None


def decoded_schema(decoder: Decoder) -> pa.Schema:
    """The schema of the rows of ``decoded_batches``: place columns, then the decoded columns.

    The place columns tell where a row is from. A decoded column with the name of a place column, in
    any case of letters, gets ``payload_`` before its name. All decoded columns are nullable.

    Raises:
        SchemaUnknownError: the decoder needs a sample.
        DecoderError: two columns have the same name.
    """
    fields = list(arrow_schema(PLACE_COLUMNS))
    taken = set(PLACE_COLUMNS)
    for column in decoder.schema:
        name = column.name
        if name.casefold() in PLACE_COLUMNS:
            name = TAKEN_NAME_PREFIX + name
        if name in taken:
            raise DecoderError(f"decoder {decoder.name} gives two columns the name {name!r}")
        taken.add(name)
        fields.append(pa.field(name, column.type, nullable=True))
    return pa.schema(fields)


def decoded_batches(
    batches: Iterable[pa.RecordBatch], decoder: Decoder, *, totals: DecodeTotals | None = None
) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    """Decode the payloads of scanned batches.

    A decoder that needs a sample gets the first messages; batches are held back until there are
    enough of them, or no more.

    Args:
        batches: batches with ``SCANNED_COLUMNS``, such as those of ``record_batches``.
        decoder: the decoder of the payloads.
        totals: totals that are updated while reading.

    Yields:
        For each batch, rows with ``decoded_schema(decoder)`` and rejects with ``REJECTS_SCHEMA``.

    Raises:
        DecoderError: a column is missing, no message of a sample can be decoded, or the decoder
            lost messages or returned other columns than its schema has.
    """
    totals = DecodeTotals() if totals is None else totals
    source = iter(batches)
    waiting: list[pa.RecordBatch] = []
    if decoder.needs_sample:
        waiting = _first_messages(source, decoder.sample_size)
        if not waiting:
            return
        decoder = decoder.with_sample(_payloads(waiting))
    schema = decoded_schema(decoder)
    for batch in waiting:
        yield _decode(batch, decoder, schema, totals)
    for batch in source:
        yield _decode(batch, decoder, schema, totals)


def sampled_decoder(decoder: Decoder, batches: Iterable[pa.RecordBatch]) -> Decoder:
    """Return the decoder itself if its schema is known, else one with the first messages' schema.

    Args:
        decoder: the decoder to prepare.
        batches: batches with ``payload``; no more are read than the sample needs.

    Raises:
        DecoderError: a sample is needed, and there is no message, or none that can be decoded.
    """
    if not decoder.needs_sample:
        return decoder
    first = _first_messages(iter(batches), decoder.sample_size)
    return decoder.with_sample(_payloads(first))


def _first_messages(source: Iterator[pa.RecordBatch], count: int) -> list[pa.RecordBatch]:
    first: list[pa.RecordBatch] = []
    found = 0
    while found < count:
        batch = next(source, None)
        if batch is None:
            break
        first.append(batch)
        found += batch.num_rows
    return first


def _payloads(batches: list[pa.RecordBatch]) -> pa.BinaryArray:
    parts = [as_binary(_column(batch, "payload")) for batch in batches]
    return pa.concat_arrays(parts) if parts else pa.array([], pa.binary())


def _column(batch: pa.RecordBatch, name: str) -> pa.Array:
    index = batch.schema.get_field_index(name)
    if index < 0:
        raise DecoderError(f"decoding needs the column {name} of the scan, which was not asked for")
    return batch.column(index)


def _decode(
    batch: pa.RecordBatch, decoder: Decoder, schema: pa.Schema, totals: DecodeTotals
) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    places = [_column(batch, name) for name in PLACE_COLUMNS]
    payloads = as_binary(_column(batch, "payload"))
    decoded = decoder.decode(payloads)
    check_decoded(decoded, decoder, len(payloads))
    if decoded.rejects or len(decoded.source) != len(payloads):
        places = [place.take(decoded.source) for place in places]
    rows = pa.RecordBatch.from_arrays([*places, *decoded.columns.columns], schema=schema)
    at = pa.array([reject.index for reject in decoded.rejects], pa.int64())
    reasons = [one_line(reject.reason) for reject in decoded.rejects]
    rejected = [_column(batch, name).take(at) for name in ("recording_id", "position")]
    rejects = pa.RecordBatch.from_arrays(
        [*rejected, pa.array(reasons, pa.string()), payloads.take(at)], schema=REJECTS_SCHEMA
    )
    _add(totals, decoded, rejects, len(payloads))
    return rows, rejects


def _add(totals: DecodeTotals, decoded: Decoded, rejects: pa.RecordBatch, messages: int) -> None:
    totals.messages += messages
    totals.rows += len(decoded.source)
    totals.rejects += len(decoded.rejects)
    for at, reject in enumerate(decoded.rejects):
        if reject.schema_changed:
            totals.schema_changes += 1
            if totals.first_change is None:
                place = (rejects.column(index)[at].as_py() for index in range(3))
                totals.first_change = (next(place), next(place), next(place))


def check_decoded(decoded: Decoded, decoder: Decoder, messages: int) -> None:
    """Check what every decoder promises: each message has either rows or a reject.

    Args:
        decoded: the decoder's result.
        decoder: the decoder, for its schema and for the error's text.
        messages: the number of messages that it was given.

    Raises:
        DecoderError: a promise is broken.
    """
    if not decoded.columns.schema.equals(decoder.schema):
        raise DecoderError(
            f"decoder {decoder.name} gave other columns than its schema has: "
            f"{one_line(decoded.columns.schema)}"
        )
    rows = len(decoded.source)
    if decoded.columns.num_columns and decoded.columns.num_rows != rows:
        raise DecoderError(
            f"decoder {decoder.name} gave {decoded.columns.num_rows} rows and {rows} sources"
        )
    numpy = require("numpy", "decoding messages")
    source = numpy.asarray(decoded.source)
    seen = numpy.zeros(messages, dtype=numpy.int8)
    rejected = [reject.index for reject in decoded.rejects]
    inside = all(0 <= index < messages for index in rejected)
    if rows:
        inside = inside and bool(source[0] >= 0) and bool(source[-1] < messages)
    ascending = not bool((numpy.diff(source) < 0).any())
    if inside and ascending:
        seen[source] = 1
        numpy.add.at(seen, rejected, 1)
    if not (inside and ascending and bool((seen == 1).all())):
        raise DecoderError(
            f"decoder {decoder.name} did not give each of {messages} messages either rows or one "
            "reject"
        )
