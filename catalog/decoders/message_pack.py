"""MessagePack: a message is a map, or an array of the schema's columns in their order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aerolog.catalog.decoders.base import SCHEMA_CHANGED, Decoded, as_binary
from aerolog.catalog.decoders.json_lines import ObjectDecoder, with_repeated
from aerolog.catalog.extras import require

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa


class MessagePackDecoder(ObjectDecoder):
    """Decodes MessagePack maps and arrays; the options are those of ``ObjectDecoder``."""

    name = "msgpack"

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(options)
        self._unpack = require("msgpack", "decoding MessagePack").unpackb

    def decode(self, payloads: pa.BinaryArray) -> Decoded:
        """Decode messages; one map or array is a row, and anything else or more is a reject."""
        return self.fit_each(as_binary(payloads), 0)

    def parse(self, payload: bytes) -> list[dict[str, Any]] | str:
        """Parse the one map of a message, or its one array of the columns' values."""
        try:
            found = self._unpack(
                payload, raw=False, strict_map_key=False, object_pairs_hook=with_repeated
            )
        except Exception as error:  # noqa: BLE001 (any failure over bytes is a reject)
            return f"not MessagePack: {type(error).__name__}: {error}"
        if isinstance(found, dict):
            if all(type(name) is str for name in found):
                return [found]
            return f"{SCHEMA_CHANGED}a key of the map is no string"
        if type(found) is not list or self.needs_sample:
            return f"{SCHEMA_CHANGED}the message is no map"
        names = self.schema.names
        if len(found) != len(names):
            return f"{SCHEMA_CHANGED}an array of {len(found)}, expected {len(names)} columns"
        return [dict(zip(names, found, strict=True))]
