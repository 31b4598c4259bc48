"""Parses a schema's XML to a tree; what no schema needs is refused before it costs anything.

Document types, entities, processing instructions and includes let XML read other files and grow
without bound. A message schema needs none of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import NoReturn
from xml.parsers import expat

from aerolog.catalog.decoders.base import DecoderError

ELEMENTS_MAX = 50_000
DEPTH_MAX = 32
TEXT_MAX = 100_000
#: Handlers of the XML parser -> what they are called for, which is refused.
_REFUSED = {
    "StartDoctypeDeclHandler": "a document type declaration, which no schema needs",
    "EntityDeclHandler": "an entity declaration, which no schema needs",
    "ExternalEntityRefHandler": "an external entity, which is not read",
    "ProcessingInstructionHandler": "a processing instruction, which no schema needs",
}


@dataclass(slots=True)
class Element:
    """An element, named without its namespace.

    Attributes:
        line: the line in the document, for messages.
    """

    tag: str
    attributes: dict[str, str]
    line: int
    text: str = ""
    children: list[Element] = field(default_factory=list)

    def named(self, *tags: str) -> list[Element]:
        """The children with one of these tags, in their order."""
        return [child for child in self.children if child.tag in tags]

    def get(self, name: str, default: str = "") -> str:
        """The stripped text of an attribute."""
        return self.attributes.get(name, default).strip()

    def required(self, name: str) -> str:
        """The text of an attribute that must be given.

        Raises:
            DecoderError: the attribute is missing or empty.
        """
        value = self.get(name)
        if not value:
            raise self.error(f"<{self.tag}> needs the attribute {name}")
        return value

    def number(self, name: str, default: int | None = None, *, most: int = 2**31 - 1) -> int:
        """An attribute that is a number from 0 to ``most``.

        Raises:
            DecoderError: the attribute is not a number, too large, or missing without a default.
        """
        text = self.get(name)
        if not text and default is not None:
            return default
        if not (text.isascii() and text.isdecimal() and len(text) < 12 and int(text) <= most):
            raise self.error(f"{name} of <{self.tag}> is a number from 0 to {most}, not {text!r}")
        return int(text)

    def error(self, what: str) -> DecoderError:
        """Make an error that names this element's line."""
        return DecoderError(f"SBE schema, line {self.line}: {what}")


class _Builder:
    """The handlers of the XML parser, which build the tree from ``root``."""

    def __init__(self, parser: expat.XMLParserType) -> None:
        self.root = Element("", {}, 0)
        self._open = [self.root]
        self._parser = parser
        self._elements = 0
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        for handler, what in _REFUSED.items():
            setattr(parser, handler, partial(self._refuse, what))

    def _error(self, what: str) -> DecoderError:
        return DecoderError(f"SBE schema, line {self._parser.CurrentLineNumber}: {what}")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        tag = name.rpartition("}")[2].rpartition(":")[2]
        self._elements += 1
        if self._elements > ELEMENTS_MAX:
            raise self._error(f"more than {ELEMENTS_MAX} elements")
        if len(self._open) > DEPTH_MAX:
            raise self._error(f"elements nested deeper than {DEPTH_MAX}")
        if tag == "include":
            raise self._error("includes are not followed: give one file with everything in it")
        element = Element(tag, attributes, self._parser.CurrentLineNumber)
        self._open[-1].children.append(element)
        self._open.append(element)

    def _end(self, _name: str) -> None:
        self._open.pop()

    def _text(self, text: str) -> None:
        element = self._open[-1]
        if len(element.text) + len(text) > TEXT_MAX:
            raise self._error(f"a text of more than {TEXT_MAX} characters")
        element.text += text

    def _refuse(self, what: str, *_arguments: object) -> NoReturn:
        raise self._error(what)


def parse_xml(content: bytes) -> Element:
    """Parse a document and return its root element.

    Raises:
        DecoderError: the document is not XML, or has something that no schema needs.
    """
    parser = expat.ParserCreate()
    builder = _Builder(parser)
    try:
        parser.Parse(content, True)
    except (expat.ExpatError, UnicodeError, LookupError, ValueError) as error:
        if isinstance(error, DecoderError):
            raise
        raise DecoderError(f"the SBE schema is not XML: {error}") from error
    return builder.root.children[0]
