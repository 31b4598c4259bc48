"""Messages as one line of text: ``[Name](ids):field=value|...``, the reference's form of them."""

from __future__ import annotations

import struct
from typing import Final

from aerolog.archive.format.layout import (
    DESCRIPTOR,
    DESCRIPTOR_BLOCK_LENGTH,
    DESCRIPTOR_STRINGS,
    ENTRY_HEADER_LENGTH,
    MARK_BLOCK,
    MARK_BLOCK_LENGTH,
    MARK_SCHEMA_ID,
    MARK_SCHEMA_VERSION,
    MARK_STRINGS,
    MARK_TEMPLATE_ID,
)
from aerolog.tools.archive_files.entry_texts import DescriptorWriter
from aerolog.tools.command_line.java_error import ILLEGAL_ARGUMENT, JavaError, out_of_bounds
from aerolog.tools.terminal.terminal_text import fit
from aerolog.transport.protocol.fixed_layout import Field, packer

# Of the archive's protocol, whose tables take longer to load than a catalog takes to print; a test
# holds them against those.
SCHEMA_ID: Final = 101
SCHEMA_VERSION: Final = 13
DESCRIPTOR_ID: Final = 22
_ENTRY_HEADER_ID: Final = 21
_STATES: Final = {0: "INVALID", 1: "VALID", 2: "DELETED", -(2**31): "NULL_VAL"}
_length_at = struct.Struct("<i").unpack_from
_HEADER = struct.Struct("<iii19xb")


def camel(name: str) -> str:
    """A field's name in the schema's form."""
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


def _lead(name: str, template: int, schema: int, version: int, block: int) -> str:
    return (
        f"[{name}](sbeTemplateId={template}|sbeSchemaId={schema}|sbeSchemaVersion={version}"
        f"|sbeBlockLength={block}):"
    )


def _fields(fields: tuple[Field, ...], strings: tuple[str, ...]) -> str:
    numbers = [f"{camel(field.name)}=%d" for field in fields]
    return "|".join([*numbers, *(f"{camel(name)}='%s'" for name in strings)])


_DESCRIPTOR_LEAD: Final = _lead(
    "RecordingDescriptor", DESCRIPTOR_ID, SCHEMA_ID, SCHEMA_VERSION, DESCRIPTOR_BLOCK_LENGTH
)
_DESCRIPTOR_TEXT: Final = _DESCRIPTOR_LEAD + _fields(DESCRIPTOR, DESCRIPTOR_STRINGS)
_MARK_TEXT: Final = _lead(
    "MarkFileHeader", MARK_TEMPLATE_ID, MARK_SCHEMA_ID, MARK_SCHEMA_VERSION, MARK_BLOCK_LENGTH
) + _fields(MARK_BLOCK, MARK_STRINGS)
_ENTRY_HEADER_TEXT: Final = (
    _lead(
        "RecordingDescriptorHeader",
        _ENTRY_HEADER_ID,
        SCHEMA_ID,
        SCHEMA_VERSION,
        ENTRY_HEADER_LENGTH,
    )
    + "length=%d|state=%s|checksum=%d|reserved=%d"
)

_DESCRIPTOR_BLOCK = packer(DESCRIPTOR, DESCRIPTOR_BLOCK_LENGTH)
_MARK_BLOCK = packer(MARK_BLOCK, MARK_BLOCK_LENGTH)


def state_name(state: int) -> str:
    """The reference's name of an entry's state.

    Raises:
        JavaError: it has none.
    """
    name = _STATES.get(state)
    if name is None:
        raise JavaError(ILLEGAL_ARGUMENT, f"Unknown value: {state}")
    return name


def state_of(entry: bytes | memoryview) -> int:
    """An entry's state as it stands there."""
    state: int = _HEADER.unpack_from(entry)[1]
    return state


def header_of(entry: bytes | memoryview) -> tuple[int, int]:
    """The state and the checksum in an entry's header."""
    _, state, checksum, _ = _HEADER.unpack_from(entry)
    return state, checksum


def entry_header_text(entry: bytes | memoryview) -> str:
    """The line of an entry's header."""
    length, state, checksum, reserved = _HEADER.unpack_from(entry)
    return _ENTRY_HEADER_TEXT % (length, state_name(state), checksum, reserved)


def descriptor_text(entry: bytes | memoryview) -> str:
    """The line of the descriptor in an entry.

    Raises:
        JavaError: it does not fit in the entry.
    """
    return _text(
        entry, ENTRY_HEADER_LENGTH, _DESCRIPTOR_BLOCK, _DESCRIPTOR_TEXT, len(DESCRIPTOR_STRINGS)
    )


def descriptor_writer(end: str) -> DescriptorWriter:
    """Writes many descriptors at once, as ``descriptor_text`` does, with ``end`` behind each."""
    numbers = [f"|{camel(field.name)}=" for field in DESCRIPTOR]
    numbers[0] = _DESCRIPTOR_LEAD + numbers[0].removeprefix("|")
    lead, *others = (f"|{camel(name)}='" for name in DESCRIPTOR_STRINGS)
    return DescriptorWriter(
        [
            (label.encode(), field.offset, field.size)
            for label, field in zip(numbers, DESCRIPTOR, strict=True)
        ],
        [lead.encode(), *(f"'{other}".encode() for other in others)],
        f"'{end}".encode(),
        DESCRIPTOR_BLOCK_LENGTH,
    )


def descriptor_strings(entry: bytes | memoryview) -> list[str]:
    """Stripped channel, original channel and source of the descriptor in an entry.

    Raises:
        JavaError: they do not fit in the entry.
    """
    return _strings(entry, ENTRY_HEADER_LENGTH + DESCRIPTOR_BLOCK_LENGTH, len(DESCRIPTOR_STRINGS))


def mark_text(mark: bytes | memoryview, base: int) -> str:
    """The line of a mark file's header whose fields begin at ``base``.

    Raises:
        JavaError: it does not fit in the file.
    """
    return _text(mark, base, _MARK_BLOCK, _MARK_TEXT, len(MARK_STRINGS))


def _text(
    data: bytes | memoryview, base: int, block: struct.Struct, form: str, strings: int
) -> str:
    at = base + block.size
    if at > len(data):
        raise out_of_bounds(base, block.size, len(data))
    return form % (*block.unpack_from(data, base), *_strings(data, at, strings))


def _strings(data: bytes | memoryview, at: int, count: int) -> list[str]:
    total = len(data)
    found = []
    for _ in range(count):
        if at + 4 > total:
            raise out_of_bounds(at, 4, total)
        (length,) = _length_at(data, at)
        at += 4
        if not 0 <= length <= total - at:
            raise out_of_bounds(at, length, total)
        found.append(fit(str(data[at : at + length], "ascii", "replace"), tabs=True))
        at += length
    return found
