"""Messages that no decent client sends, out of the protocol's own tables."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

    from aerolog.archive import protocol as ap
    from aerolog.transport.protocol.sbe import FixedField, VarField

NUMBERS = {
    "b": [-128, -1, 0, 1, 127],
    "B": [0, 1, 127, 255],
    "i": [-(2**31), -(2**31) + 1, -2, -1, 0, 1, 31, 32, 65536, 2**30, 2**31 - 1],
    "q": [
        *(-(2**63), -(2**63) + 1, -(2**31), -2, -1, 0, 1, 31, 32, 1056, 4096, 65536, 131072),
        *(2**31 - 1, 2**31, 2**62, 2**63 - 32, 2**63 - 1),
    ],
}
TEXTS = [
    *("", "aeron:ipc", "aeron:ipc?term-length=64k", "aeron:ipc?alias=x|tags=1,2", "junk"),
    *("aeron:", "aeron:ipc?", "aeron:ipc?=", "aeron:ipc?term-length=7", "aeron:ipc?mtu=-1"),
    *("aeron:ipc?term-length=64g", "aeron:ipc?session-id=99999999999", "aeron:tcp?x=y"),
    *("aeron:udp", "aeron:udp?endpoint=127.0.0.1:0", "aeron:udp?endpoint=:99999", "aeron-spy:"),
    *("aeron:udp?control-mode=response", "aeron:ipc?control-mode=response|alias=../../x"),
    *("../../../etc/passwd", "/etc/passwd", "0-0.rec", "aeron:ipc?session-id=tag:7"),
    *("aeron:ipc?init-term-id=5|term-id=4|term-offset=33|term-length=64k", "a" * 4000, "\0\0"),
    *("aeron:ipc?alias=" + "y" * 3000, "aeron:ipc|ipc", "aeron:ipc?fc=max,g:1,t:1s|cc=none"),
    *("aeron:ipc?response-correlation-id=1", "aeron:ipc?eos=maybe|linger=-1|rejoin=2"),
]
DATA = [b"", b"\0", b"admin:admin", b"\xff" * 100, b"x" * 3000]
VAR_LENGTHS = [0, 1, 5, 4096, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF]
HEAD = struct.Struct("<HHHH")


def value_of(source: Random, field: FixedField | VarField, session_id: int) -> object:
    """A value for a field: often one that means something, else one at an edge."""
    if not hasattr(field, "kind"):
        return source.choice(TEXTS if field.is_text else DATA)
    if field.name == "control_session_id":
        return source.choice([session_id] * 20 + NUMBERS["q"])
    if field.enum is not None:
        listed = [each for each in field.enum if each != field.kind.null]
        return source.choice(listed * 6 + [field.enum(9), field.enum(field.kind.null)])
    if field.name.endswith("recording_id"):
        return source.choice([0, 0, 1, 1, 2, *NUMBERS["q"]])
    if field.name in {"stream_id", "replay_stream_id", "response_stream_id"}:
        return source.choice([71, 72, 500, 501, *NUMBERS["i"]])
    return source.choice(NUMBERS[field.kind.code])


def message_of(
    source: Random, message: type[ap.Message], session_id: int, correlation_id: int
) -> ap.Message:
    """A message that holds together, with values that may be anything."""
    layout = message.LAYOUT
    values = {f.name: value_of(source, f, session_id) for f in (*layout.fixed, *layout.var)}
    if "correlation_id" in values:
        values["correlation_id"] = correlation_id
    for group in layout.groups:
        count = source.choice([0, 1, 3])
        entries = [message_of(source, group.entry, session_id, 0) for _ in range(count)]
        values[group.name] = tuple(entries)
    return message(**values)


def spoiled(source: Random, encoded: bytes) -> bytes:
    """The bytes with a wrong length, version, schema or template, or cut, or changed anywhere."""
    data = bytearray(encoded)
    block_length, template_id, schema_id, version = HEAD.unpack_from(data)
    kind = source.randrange(9)
    if kind == 0:
        del data[source.randrange(len(data)) :]
    elif kind == 1:
        block_length = source.choice([0, 1, 8, block_length - 1, block_length + 1, 65535])
    elif kind == 2:
        version = source.choice([0, 1, 2, 6, 7, 10, 11, 12, 14, 100, 65535])
    elif kind == 3:
        schema_id = source.choice([0, 100, 102, 111, 65535])
    elif kind == 4:
        template_id = source.choice([0, 25, 49, 69, 100, 108, 999, 65535, source.randrange(110)])
    elif kind == 5:
        at = 8 + block_length
        if at + 4 <= len(data):
            struct.pack_into("<I", data, at, source.choice(VAR_LENGTHS))
    elif kind == 6:
        for _ in range(source.choice([1, 2, 8])):
            data[source.randrange(len(data))] = source.choice([0, 0xFF, 0x7F, 0x80, 0x41])
        return bytes(data)
    elif kind == 7:
        return source.randbytes(source.choice([1, 7, 8, 9, 16, 100, 2000]))
    else:
        data += source.randbytes(source.randrange(1, 64))
    if len(data) >= HEAD.size:
        HEAD.pack_into(data, 0, block_length & 0xFFFF, template_id, schema_id, version)
    return bytes(data)
