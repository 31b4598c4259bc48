"""Raw: the message's bytes, as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.catalog.decoders.base import Decoded, Decoder, Reject, as_binary, counting
from aerolog.catalog.decoders.options import Options
from aerolog.catalog.extras import require

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa
else:
    pa = require("pyarrow", "decoding messages")


def without_nulls(payloads: pa.BinaryArray) -> tuple[pa.BinaryArray, pa.Int64Array, list[Reject]]:
    """The messages that are not null, their indices, and rejects for the nulls."""
    numbers = counting(0, len(payloads))
    if not payloads.null_count:
        return payloads, numbers, []
    missing = payloads.is_null()
    rejects = [Reject(index.as_py(), "no payload") for index in numbers.filter(missing)]
    present = payloads.is_valid()
    return payloads.filter(present), numbers.filter(present), rejects


class RawDecoder(Decoder):
    """Decodes messages to one binary column; option ``column`` is its name, else ``payload``."""

    name = "raw"

    def __init__(self, options: Mapping[str, str]) -> None:
        checked = Options(self.name, options, ("column",))
        super().__init__(checked.values)
        self._schema = pa.schema([pa.field(checked.text("column", "payload"), pa.binary())])

    @property
    def schema(self) -> pa.Schema:
        """The schema of the one column."""
        return self._schema

    def decode(self, payloads: pa.BinaryArray) -> Decoded:
        """Decode messages; every message is a row."""
        present, source, rejects = without_nulls(as_binary(payloads))
        return Decoded(pa.RecordBatch.from_arrays([present], schema=self._schema), source, rejects)
