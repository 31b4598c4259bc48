"""Protobuf by a descriptor set, as ``protoc --include_imports --descriptor_set_out`` writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aerolog.catalog.decoders.base import (
    SCHEMA_CHANGED,
    UINT64_FORMS,
    Decoded,
    Decoder,
    DecoderError,
    as_binary,
    lacks_field,
    one_line,
)
from aerolog.catalog.decoders.exact_times import UNITS
from aerolog.catalog.decoders.exact_values import RowFitter, UnknownFieldError
from aerolog.catalog.decoders.misfits import MisfitError
from aerolog.catalog.decoders.options import Options
from aerolog.catalog.decoders.protobuf_types import MessageColumns
from aerolog.catalog.extras import require

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa
else:
    pa = require("pyarrow", "decoding Protobuf")

FILES_MAX = 5000
_KNOWN_FILES = "any", "duration", "empty", "field_mask", "struct", "timestamp", "wrappers"


class ProtobufDecoder(Decoder):
    """Decodes Protobuf messages of one type.

    Options: ``descriptor_file``, or ``descriptor_set`` with its content as base64; ``message`` is
        the full name of the type, which may be left out when the set has only one; ``extra`` is
        ``reject`` (fields that the type lacks make their message a reject) or ``ignore``;
        ``uint64`` is the form of unsigned 64-bit numbers: ``int64`` (larger ones reject their
        message), ``decimal`` or ``uint64``; ``time_unit`` is the unit of ``Timestamp`` and
        ``Duration``: ``ns``, ``us``, ``ms`` or ``s`` (finer ones reject their message).
    """

    name = "protobuf"

    def __init__(self, options: Mapping[str, str]) -> None:
        known = ("descriptor_file", "descriptor_set", "message", "extra", "uint64", "time_unit")
        checked = Options(self.name, options, known)
        what = "the output of protoc --include_imports --descriptor_set_out"
        content = checked.required_file("descriptor_file", "descriptor_set", what, is_text=False)
        ignore = checked.choice("extra", ("reject", "ignore")) == "ignore"
        uint64 = checked.choice("uint64", tuple(UINT64_FORMS))
        time_unit = checked.choice("time_unit", tuple(reversed(UNITS)))
        super().__init__(checked.values)
        descriptor = _message_type(content, checked.text("message", ""))
        self._columns = MessageColumns(
            descriptor, uint64=uint64, time_unit=time_unit, ignore_unknown=ignore
        )
        self._message: Any = _message_class(descriptor)
        self._schema = pa.schema(self._columns.fields)
        if not len(self._schema):
            raise DecoderError(f"the Protobuf message {descriptor.full_name} has no fields")
        if self._columns.has_times:
            # What is exported says so: earlier versions had microseconds, and no option.
            self.options["time_unit"] = time_unit
        self._fitter = RowFitter(self._schema, extra=False)

    @property
    def schema(self) -> pa.Schema:
        """The columns that the message type describes."""
        return self._schema

    def decode(self, payloads: pa.BinaryArray) -> Decoded:
        """Decode messages; every message is a row, and the empty message has all defaults."""
        return self._fitter.fit_each(as_binary(payloads).to_pylist(), self._rows)

    def _rows(self, payload: bytes | None) -> list[dict[str, Any]] | str:
        try:
            if payload is None:
                raise ValueError("no payload")
            return [self._columns.row(self._message.FromString(payload))]
        except UnknownFieldError as error:
            return lacks_field(one_line(error))
        except MisfitError as error:
            return SCHEMA_CHANGED + one_line(error)
        except Exception as error:  # noqa: BLE001 (any failure over bytes is a reject)
            return f"not Protobuf: {one_line(error)}"


def _message_type(content: bytes, name: str) -> Any:
    """The descriptor of a message type in a descriptor set.

    Raises:
        DecoderError: the content is no descriptor set, is not complete, or has no such message.
    """
    descriptors = require("google.protobuf.descriptor_pb2", "decoding Protobuf")
    pools = require("google.protobuf.descriptor_pool", "decoding Protobuf")
    try:
        found = descriptors.FileDescriptorSet.FromString(content)
    except Exception as error:
        raise DecoderError(f"not a Protobuf descriptor set: {one_line(error)}") from error
    if len(found.file) > FILES_MAX:
        raise DecoderError(f"a descriptor set of more than {FILES_MAX} files")
    files = {one.name: one for one in found.file}
    pool = pools.DescriptorPool()
    for one in _in_order(files):
        try:
            pool.Add(one)
        except Exception as error:
            raise DecoderError(f"descriptor of {one.name}: {one_line(error)}") from error
    names = [
        f"{one.package}.{message.name}" if one.package else message.name
        for one in found.file
        for message in one.message_type
        if not one.name.startswith("google/protobuf/")
    ]
    if not name:
        if len(names) != 1:
            raise DecoderError(
                f"decoder protobuf needs the option message: one of {', '.join(names)[:500]}"
            )
        name = names[0]
    try:
        return pool.FindMessageTypeByName(name)
    except KeyError as error:
        raise DecoderError(
            f"the descriptor set has no message {name!r}; there are {', '.join(names)[:500]}"
        ) from error


def _message_class(descriptor: Any) -> Any:
    factory = require("google.protobuf.message_factory", "decoding Protobuf")
    try:
        return factory.GetMessageClass(descriptor)
    except RecursionError as error:  # by extensions, which are no columns
        raise DecoderError(
            f"the Protobuf message {descriptor.full_name} has too many or too deep types"
        ) from error


def _in_order(files: dict[str, Any]) -> list[Any]:
    """The files, each behind those that it imports; missing well-known files are added."""
    ordered: list[Any] = []
    done: set[str] = set()
    waiting = list(reversed(files))
    opened: set[str] = set()
    while waiting:
        name = waiting[-1]
        if name in done:
            waiting.pop()
            continue
        file = files.get(name) or _known_file(name)
        missing = [one for one in file.dependency if one not in done]
        if not missing:
            done.add(waiting.pop())
            ordered.append(file)
            continue
        if name in opened:
            raise DecoderError(f"the descriptor set imports {name} in a circle")
        opened.add(name)
        waiting.extend(missing)
    return ordered


def _known_file(name: str) -> Any:
    stem = name.removeprefix("google/protobuf/").removesuffix(".proto")
    if stem not in _KNOWN_FILES or name == stem:
        raise DecoderError(
            f"the descriptor set lacks {name}: make it with protoc --include_imports"
        )
    module = require(f"google.protobuf.{stem}_pb2", "decoding Protobuf")
    descriptors = require("google.protobuf.descriptor_pb2", "decoding Protobuf")
    return descriptors.FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb)
