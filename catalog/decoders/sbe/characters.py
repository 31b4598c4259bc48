"""Converts the bytes of character fields to strings."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, Any

from aerolog.catalog.decoders.base import DecoderError, split_failures
from aerolog.catalog.extras import require

if TYPE_CHECKING:
    import pyarrow as pa

    from aerolog.catalog.decoders.sbe.context import Rows
else:
    pa = require("pyarrow", "decoding SBE")

np: Any = require("numpy", "decoding SBE")

# ASCII is read as UTF-8, which includes it: bytes that encoders do put in such fields are accepted.
_UTF8 = frozenset({"utf-8", "ascii"})


def codec_of(charset: str) -> str:
    """Python's name of a character encoding.

    Raises:
        DecoderError: the encoding is unknown, or it does not decode text.
    """
    try:
        found = codecs.lookup(charset)
        if isinstance(b"".decode(charset), str):
            return found.name
    except (LookupError, ValueError) as error:
        raise DecoderError(f"there is no character encoding {charset!r}") from error
    raise DecoderError(f"there is no character encoding {charset!r}")


def text_array(values: pa.BinaryArray, charset: str, rows: Rows, path: str) -> pa.StringArray:
    """Make strings of all rows; rows with malformed bytes reject their message and are null.

    Args:
        values: the value of each row.
        charset: the character encoding of the field.
        rows: the rows that the values belong to.
        path: the field's name.
    """
    codec = codec_of(charset)
    if codec not in _UTF8:
        return _recoded(values, codec, rows, path)
    parts, bad = split_failures(
        0,
        len(values),
        lambda first, last: values.slice(first, last - first).cast(pa.string()),
        pa.ArrowInvalid,
    )
    if not bad:
        return parts[0][2] if parts else pa.array([], pa.string())
    mask = np.zeros(len(values), dtype=bool)
    mask[[index for index, _ in bad]] = True
    rows.reject(mask, f"{path} is not {charset}")
    found = pa.concat_arrays([part for _, _, part in parts] or [pa.array([], pa.string())])
    places = np.cumsum(~mask) - 1
    return found.take(pa.array(places, mask=mask))


def _recoded(values: pa.BinaryArray, codec: str, rows: Rows, path: str) -> pa.StringArray:
    """Decode an encoding that Arrow does not know, value by value."""
    texts: list[str | None] = []
    mask = np.zeros(len(values), dtype=bool)
    for index, value in enumerate(values.to_pylist()):
        try:
            texts.append(None if value is None else value.decode(codec))
        except UnicodeError:
            texts.append(None)
            mask[index] = True
    if mask.any():
        rows.reject(mask, f"{path} is not {codec}")
    return pa.array(texts, pa.string())
