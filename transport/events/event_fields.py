"""From the bytes that a log kept of an event to the text of its line: what all components share.

A number is little endian, a text is its length in four bytes and then its bytes. What was cut short
is shown as far as it goes.
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
    """A record holds no more than was read of it."""


class Fields:
    """Reads a record from its beginning."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, code: str) -> Any:
        """One number.

        Args:
            code: of the module ``struct``.

        Raises:
            CutShortError: the record holds no more.
        """
        form = struct.Struct("<" + code)
        if self._at + form.size > len(self._data):
            raise CutShortError
        (value,) = form.unpack_from(self._data, self._at)
        self._at += form.size
        return value

    def text(self) -> str:
        """A length and as many bytes, as far as there are any."""
        length = self.take("i")
        return self.rest(length).decode(errors="replace")

    def rest(self, length: int | None = None) -> bytes:
        """So many bytes, as far as there are any; all that are left without a length."""
        end = len(self._data) if length is None else self._at + max(0, length)
        data = self._data[self._at : end]
        self._at += len(data)
        return data

    def address(self) -> str:
        """Host and port."""
        port = self.take("i")
        host = host_text(self.rest(self.take("i")))
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def change(self) -> str:
        """A change of state and its reason."""
        states = self.text()
        return f'{states} reason="{self.text()}"'


def host_text(host: bytes) -> str:
    """An address in numbers; nothing is known of one of another length."""
    return str(ipaddress.ip_address(host)) if len(host) in {4, 16} else "unknown-address"


def text_field(text: str) -> bytes:
    """A text as `Fields.text` reads it."""
    data = text.encode()
    return len(data).to_bytes(4, "little") + data


def name_and_text(
    events: type[C], number: int, data: bytes, text_of: Callable[[C, bytes], str]
) -> tuple[str, str]:
    """Name and text of an event's line.

    Args:
        events: the component's.
        number: of the event; one that is not known is shown as a number.
        data: what was kept of it.
        text_of: reads it; it may find it cut short.
    """
    try:
        known = events(number)
    except ValueError:
        return str(number), data.hex()
    try:
        return known.name, text_of(known, data)
    except (CutShortError, AerologError):
        return known.name, f"cut short: {data.hex()}"
