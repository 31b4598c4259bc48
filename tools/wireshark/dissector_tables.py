"""The Lua tables of the dissector, from the tables by which this package itself reads and writes.

So the dissector cannot differ from them: what is added to a message or a frame is in the next file
that is made.
"""

from __future__ import annotations

import struct
from importlib import resources
from typing import TYPE_CHECKING, Final

from aerolog.archive.protocol import MESSAGES, CatalogHeader, RecordingDescriptorHeader
from aerolog.transport.protocol import frames
from aerolog.transport.protocol.frame_codec import (
    DataFrame,
    ErrorFrame,
    Nak,
    PadFrame,
    ResponseSetup,
    RttMeasurement,
    SetupFrame,
    StatusMessage,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aerolog.transport.protocol.frame_codec import Frame
    from aerolog.transport.protocol.sbe import FixedField, MessageLayout, WireEnum

PLACEHOLDER: Final = "--@TABLES@\n"
_KINDS: Final = {"b": "int8", "i": "int32", "q": "int64"}
_NAMES: Final = {
    frames.FRAME_PAD: "PAD",
    frames.FRAME_DATA: "DATA",
    frames.FRAME_NAK: "NAK",
    frames.FRAME_STATUS_MESSAGE: "SM",
    frames.FRAME_ERROR: "ERR",
    frames.FRAME_SETUP: "SETUP",
    frames.FRAME_RTTM: "RTTM",
    frames.FRAME_RESOLUTION: "RES",
    frames.FRAME_RESPONSE_SETUP: "RSP_SETUP",
    frames.FRAME_EXTENSION: "EXT",
}
_LENGTHS: Final = {
    frames.FRAME_NAK: frames.NAK_LENGTH,
    frames.FRAME_STATUS_MESSAGE: frames.STATUS_LENGTH,
    frames.FRAME_ERROR: frames.ERROR_LENGTH,
    frames.FRAME_SETUP: frames.SETUP_LENGTH,
    frames.FRAME_RTTM: frames.RTTM_LENGTH,
    frames.FRAME_RESOLUTION: frames.COMMON_HEADER_LENGTH,
    frames.FRAME_RESPONSE_SETUP: frames.RESPONSE_SETUP_LENGTH,
    frames.FRAME_EXTENSION: frames.COMMON_HEADER_LENGTH,
}
_FRAMES: Final[tuple[type[Frame], ...]] = (
    PadFrame,
    DataFrame,
    Nak,
    StatusMessage,
    ErrorFrame,
    SetupFrame,
    RttMeasurement,
    ResponseSetup,
)
# What has a field of its own in the dissector.
_OWN: Final = frozenset({"text", "group_tag"})


def dissector() -> str:
    """The whole dissector, as Lua."""
    static = resources.files("aerolog.tools.wireshark").joinpath("dissector.lua").read_text()
    head, found, tail = static.partition(PLACEHOLDER)
    assert found, "the dissector has no place for its tables"
    return head + tables() + tail


def tables() -> str:
    """The generated tables alone."""
    layouts = [MESSAGES[number].LAYOUT for number in sorted(MESSAGES) if _is_sent(number)]
    return "\n".join(
        (
            *_enums(layouts),
            *_fields(layouts),
            *_messages(layouts),
            *_frames(),
            "",
        )
    )


def _is_sent(template_id: int) -> bool:
    """Whether a message is one between processes, and not of the catalog's file."""
    return MESSAGES[template_id] not in {CatalogHeader, RecordingDescriptorHeader}


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _title(name: str) -> str:
    return " ".join(word.capitalize() for word in name.split("_"))


def _enums(layouts: list[MessageLayout]) -> Iterable[str]:
    found: dict[str, type[WireEnum]] = {
        enum.__name__: enum for layout in layouts for _, enum in layout.enums
    }
    yield "local ENUMS = {"
    for name in sorted(found):
        members = ", ".join(f"[{int(m)}] = {_quoted(m.name)}" for m in found[name])
        yield f"  {name} = {{ {members} }},"
    yield "}"


def _kind(field: FixedField) -> str:
    enum = "" if field.enum is None else f", enum = {_quoted(field.enum.__name__)}"
    return f"kind = {_quoted(_KINDS[field.kind.code])}{enum}"


def _fields(layouts: list[MessageLayout]) -> Iterable[str]:
    """Every field once, by its name.

    Raises:
        ValueError: messages differ in what a field of that name is.
    """
    kinds: dict[str, str] = {}
    for layout in layouts:
        described = [(field.name, _kind(field)) for field in layout.fixed]
        described += [
            (var.name, f"kind = {_quoted('text' if var.is_text else 'bytes')}")
            for var in layout.var
        ]
        for name, kind in described:
            if kinds.setdefault(name, kind) != kind:
                raise ValueError(
                    f"field {name} of {layout.name} is {kind}, elsewhere {kinds[name]}"
                )
    yield "local FIELDS = {"
    for name in sorted(kinds):
        yield f"  {name} = {{ label = {_quoted(_title(name))}, {kinds[name]} }},"
    yield "}"


def _messages(layouts: list[MessageLayout]) -> Iterable[str]:
    yield "local MESSAGES = {"
    for layout in layouts:
        yield f"  [{layout.template_id}] = {{ name = {_quoted(layout.name)},"
        yield "    fixed = {"
        for field in layout.fixed:
            length = struct.calcsize("<" + field.kind.code)
            yield (
                f"      {{ name = {_quoted(field.name)}, offset = {field.offset}, "
                f"length = {length}, since = {field.since} }},"
            )
        yield "    },"
        var = ", ".join(f"{{ name = {_quoted(v.name)}, since = {v.since} }}" for v in layout.var)
        yield f"    var = {{ {var} }} }},"
    yield "}"
    yield "local TEMPLATES = {"
    for layout in layouts:
        yield f"  [{layout.template_id}] = {_quoted(layout.name)},"
    yield "}"


def _frames() -> Iterable[str]:
    names = ", ".join(f"[{number}] = {_quoted(name)}" for number, name in _NAMES.items())
    yield f"local FRAME_NAMES = {{ {names} }}"
    lengths = ", ".join(f"[{number}] = {length}" for number, length in _LENGTHS.items())
    yield f"local FRAME_LENGTHS = {{ {lengths} }}"
    yield "local FRAMES = {"
    kinds: dict[str, str] = {}
    for frame in _FRAMES:
        entries = []
        for name, (offset, code) in sorted(frame.LAYOUT.items(), key=lambda item: item[1]):
            length = struct.calcsize(code)
            entries.append(
                f"    {{ name = {_quoted(name)}, offset = {offset}, length = {length} }},"
            )
            if name not in _OWN:
                kinds[name] = _KINDS[code[-1]]
        yield f"  [{int(frame.TYPE)}] = {{"
        yield from entries
        yield "  },"
    yield "}"
    yield "local FRAME_FIELDS = {"
    for name, kind in sorted(kinds.items()):
        yield f"  {name} = {{ kind = {_quoted(kind)}, label = {_quoted(_title(name))} }},"
    yield "}"
    for name in ("STATUS_TAGGED_LENGTH", "STATUS_GROUP_TAG_AT", "ERROR_LENGTH"):
        yield f"local {name} = {int(getattr(frames, name))}"
    yield f"local ERROR_TEXT_LENGTH_AT = {int(frames.ERROR_TEXT_LENGTH_AT)}"
    yield f"local TYPE_ERROR = {int(frames.FRAME_ERROR)}"
