"""What `aerolog publish` sends: lines, fixed-size records, or generated messages, in batches."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from aerolog.transport.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator

_CHUNK_LENGTH = 256 * 1024
_GENERATED_BATCH = 512
#: Bytes of the longest message, whatever the term's length.
LINE_LENGTH_MAX = 16 * 1024 * 1024


@contextmanager
def open_input(name: str) -> Iterator[BinaryIO]:
    """Opens a file for reading, ``-`` for standard input."""
    if name == "-":
        # Unbuffered: what a person has typed goes out at once.
        with os.fdopen(os.dup(0), "rb", buffering=0) as stdin:
            yield stdin
    else:
        with Path(name).open("rb", buffering=0) as file:
            yield file


def read_lines(file: BinaryIO) -> Iterator[list[bytes]]:
    """Lines without their ends, as they come in; the last one needs no end.

    Raises:
        ConfigurationError: a line is longer than a message may be; those before it have been given
            out.
    """
    rest: list[bytes] = []
    length = 0
    while chunk := file.read(_CHUNK_LENGTH):
        head, end, tail = chunk.rpartition(b"\n")
        if not end:
            rest.append(chunk)
            length += len(chunk)
            if length > LINE_LENGTH_MAX:
                raise ConfigurationError(
                    f"a line of the input is longer than {LINE_LENGTH_MAX} bytes, which no message"
                    " is: pass --frame-size to send records of one length"
                )
            continue
        lines = b"".join([*rest, head]).split(b"\n")
        rest, length = [tail] if tail else [], len(tail)
        yield lines
    if rest:
        yield [b"".join(rest)]


def read_records(file: BinaryIO, length: int) -> Iterator[list[bytes]]:
    """Records of one length.

    Raises:
        ConfigurationError: the input ends within a record; the whole ones have been given out.
    """
    rest = b""
    while chunk := file.read(max(_CHUNK_LENGTH, length)):
        data = rest + chunk
        whole = len(data) - len(data) % length
        rest = data[whole:]
        if whole:
            yield [data[at : at + length] for at in range(0, whole, length)]
    if rest:
        raise ConfigurationError(
            f"the input ends with {len(rest)} bytes, less than a record of {length}"
        )


def generate(size: int, count: int | None) -> Iterator[list[bytes]]:
    """Messages of one size that hold their number from 0 in decimal, zeros before it."""
    number = 0
    modulus = 10**size if size < 20 else None
    while count is None or number < count:
        batch = _GENERATED_BATCH if count is None else min(_GENERATED_BATCH, count - number)
        numbers = range(number, number + batch)
        shown = (value if modulus is None else value % modulus for value in numbers)
        yield [b"%0*d" % (size, value) for value in shown]
        number += batch


def first(batches: Iterator[list[bytes]], count: int) -> Iterator[list[bytes]]:
    """The first messages of a source; the source is not read beyond them."""
    for batch in batches:
        yield batch[:count]
        count -= len(batch)
        if count <= 0:
            return
