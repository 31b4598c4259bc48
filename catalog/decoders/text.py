"""UTF-8 text: a message is a string."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.catalog.decoders.base import (
    Decoded,
    Decoder,
    Reject,
    as_binary,
    counting,
    split_failures,
)
from aerolog.catalog.decoders.options import Options
from aerolog.catalog.extras import require

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa
else:
    pa = require("pyarrow", "decoding messages")


def not_utf8(payload: bytes) -> str:
    """The reason why bytes are not UTF-8."""
    try:
        payload.decode()
    except UnicodeDecodeError as error:
        return f"not UTF-8: byte 0x{payload[error.start]:02x} at {error.start}: {error.reason}"
    return "not UTF-8"


class TextDecoder(Decoder):
    """Decodes messages to one string column; option ``column`` is its name, else ``text``."""

    name = "text"

    def __init__(self, options: Mapping[str, str]) -> None:
        checked = Options(self.name, options, ("column",))
        super().__init__(checked.values)
        self._schema = pa.schema([pa.field(checked.text("column", "text"), pa.string())])

    @property
    def schema(self) -> pa.Schema:
        """The schema of the one column."""
        return self._schema

    def decode(self, payloads: pa.BinaryArray) -> Decoded:
        """Decode messages; every message that is UTF-8 is a row, the empty message too."""
        messages = as_binary(payloads)
        texts, bad = split_failures(
            0,
            len(messages),
            lambda first, last: _cast(messages.slice(first, last - first)),
            pa.ArrowInvalid,
        )
        rejects = [
            Reject(index, not_utf8(value) if (value := messages[index].as_py()) is not None
                   else "no payload")
            for index, _ in bad
        ]  # fmt: skip
        source = [counting(first, last) for first, last, _ in texts] or [counting(0, 0)]
        column = pa.concat_arrays([part for _, _, part in texts] or [pa.array([], pa.string())])
        return Decoded(
            pa.RecordBatch.from_arrays([column], schema=self._schema),
            pa.concat_arrays(source),
            rejects,
        )


def _cast(messages: pa.BinaryArray) -> pa.StringArray:
    if messages.null_count:
        raise pa.ArrowInvalid("a message is null")
    return messages.cast(pa.string())
