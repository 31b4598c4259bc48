"""Reading of an event's record and the text of its line, for all components.

Numbers are little-endian; a text is its length in four bytes, followed by its bytes. Of a truncated
record, the part that was kept is shown.
"""

from __future__ import annotations

import ipaddress
import struct
from typing import TYPE_CHECKING, Any, TypeVar

from aerolog.transport.errors import AerologError

if TYPE_CHECKING:
    from collections.abc import Callable
    from enum import IntEnum

C = TypeVar("C", bound="IntEnum")


class CutShortError(Exception):
    """A truncated record has no bytes left to read."""


class Fields:
    """Reads the fields of a record in order."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, code: str) -> Any:
        """Read one number.

        Args:
            code: a format of the module ``struct``.

        Raises:
            CutShortError: if the record has too few bytes left.
        """
        form = struct.Struct("<" + code)
        if self._at + form.size > len(self._data):
            raise CutShortError
        (value,) = form.unpack_from(self._data, self._at)
        self._at += form.size
        return value

    def text(self) -> str:
        """Read a length and as many bytes, or all that are left if they are fewer."""
        length = self.take("i")
        return self.rest(length).decode(errors="replace")

    def rest(self, length: int | None = None) -> bytes:
        """Read ``length`` bytes, or all that are left if they are fewer or no length is given."""
        end = len(self._data) if length is None else self._at + max(0, length)
        data = self._data[self._at : end]
        self._at += len(data)
        return data

    def address(self) -> str:
        """Read an address; returns the text of host and port."""
        port = self.take("i")
        host = host_text(self.rest(self.take("i")))
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def change(self) -> str:
        """Read a change of state and its reason."""
        states = self.text()
        return f'{states} reason="{self.text()}"'


def host_text(host: bytes) -> str:
    """Format the bytes of a host as a numeric address, or say that it is neither IPv4 nor IPv6."""
    return str(ipaddress.ip_address(host)) if len(host) in {4, 16} else "unknown-address"


def text_field(text: str) -> bytes:
    """Encode a text as `Fields.text` reads it."""
    data = text.encode()
    return len(data).to_bytes(4, "little") + data


def name_and_text(
    events: type[C], number: int, data: bytes, text_of: Callable[[C, bytes], str]
) -> tuple[str, str]:
    """Return the name and the text of an event's line.

    Args:
        events: the events of the component.
        number: number of the event; an unknown event has its number as name.
        data: the bytes of the event that were kept.
        text_of: makes the text from these bytes; it may raise CutShortError.
    """
    try:
        known = events(number)
    except ValueError:
        return str(number), data.hex()
    try:
        return known.name, text_of(known, data)
    except (CutShortError, AerologError):
        return known.name, f"cut short: {data.hex()}"
