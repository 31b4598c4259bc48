"""Payload decoders turn a recording's messages into Arrow columns, and list those that they reject.

``make_decoder("json", {"schema": "carrier string, dep_delay int64"})`` makes one from strings;
``decoded_batches(record_batches(recording), decoder)`` gives the rows and the rejects.
See ``docs/catalog/decoders.md`` for formats and options. Needs ``aerolog[decoders]``.
"""

from aerolog.catalog.decoders.base import (
    Decoded,
    Decoder,
    DecoderError,
    Reject,
    SchemaUnknownError,
)
from aerolog.catalog.decoders.batches import (
    PLACE_COLUMNS,
    REJECTS_SCHEMA,
    DecodeTotals,
    check_decoded,
    decoded_batches,
    decoded_schema,
    sampled_decoder,
)
from aerolog.catalog.decoders.registry import ENTRY_POINT_GROUP, decoder_names, make_decoder

__all__ = [
    "ENTRY_POINT_GROUP",
    "PLACE_COLUMNS",
    "REJECTS_SCHEMA",
    "DecodeTotals",
    "Decoded",
    "Decoder",
    "DecoderError",
    "Reject",
    "SchemaUnknownError",
    "check_decoded",
    "decoded_batches",
    "decoded_schema",
    "decoder_names",
    "make_decoder",
    "sampled_decoder",
]
