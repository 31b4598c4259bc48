"""Finds decoders by name: built-in ones in a table, those of users by entry point."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from aerolog.catalog.decoders.base import Decoder, DecoderError

if TYPE_CHECKING:
    from collections.abc import Mapping

ENTRY_POINT_GROUP = "aerolog.decoders"

_MODULES = {
    "raw": ("raw", "RawDecoder"),
    "text": ("text", "TextDecoder"),
    "json": ("json_lines", "JsonDecoder"),
    "arrow": ("arrow_ipc", "ArrowDecoder"),
    "msgpack": ("message_pack", "MessagePackDecoder"),
    "protobuf": ("protobuf", "ProtobufDecoder"),
    "avro": ("avro", "AvroDecoder"),
    "sbe": ("sbe", "SbeDecoder"),
}


def decoder_names() -> list[str]:
    """The names that ``make_decoder`` accepts: built-in ones, then those of entry points."""
    found = {entry.name for entry in entry_points(group=ENTRY_POINT_GROUP)}
    return [*_MODULES, *sorted(found - _MODULES.keys())]


def make_decoder(name: str, options: Mapping[str, str] | None = None) -> Decoder:
    """Make a decoder from strings.

    Args:
        name: one of `decoder_names`. An entry point of the group ``aerolog.decoders`` is a callable
            that takes the options and returns a ``Decoder``, such as a subclass of it.
        options: the decoder's options; files that they name are read now.

    Raises:
        DecoderError: the decoder does not exist, or an option is wrong.
        MissingExtraError: the decoder's package is not installed.
    """
    module, class_name = _MODULES.get(name, ("", ""))
    if module:
        made: type[Decoder] = getattr(
            import_module(f"aerolog.catalog.decoders.{module}"), class_name
        )
        return made(options or {})
    found = list(entry_points(group=ENTRY_POINT_GROUP, name=name))
    if not found:
        raise DecoderError(f"no such decoder: {name!r}; there are {', '.join(decoder_names())}")
    decoder = found[0].load()(dict(options or {}))
    if not isinstance(decoder, Decoder):
        raise DecoderError(
            f"the entry point {found[0].value} of decoder {name} gave no Decoder: {decoder!r}"
        )
    if decoder.name != name:
        raise DecoderError(
            f"the decoder of the entry point {name} says that its name is {decoder.name!r}"
        )
    return decoder
