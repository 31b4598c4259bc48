"""Payload decoders, which turn a recording's messages into Arrow columns or reject them.

``make_decoder("json", {"schema": "carrier string, dep_delay int64"})`` makes a decoder from
strings; ``decoded_batches(record_batches(recording), decoder)`` yields rows and rejects.
``docs/catalog/decoders.md`` describes formats and options. The package needs ``aerolog[decoders]``.
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
