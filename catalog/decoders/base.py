"""The interface of decoders: a schema known before the first message, rows or a reject for each.

A decoder is made from strings (``make_decoder(name, options)``) and pickles as those strings, so
that a command line, a TOML file and a Spark job can carry it. Files that its options name are read
when it is made, and ``options`` carries their content from then on: a worker needs none of the
files.

``decode`` returns rows for the messages that fit and a reject for each one that does not: every
message is in exactly one of the two.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from aerolog.catalog.extras import require
from aerolog.transport.errors import AerologError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa
else:
    pa = require("pyarrow", "decoding messages")

SCHEMA_CHANGED = "schema changed: "
SCHEMA_LACKS = "the schema lacks the field "
REASON_LENGTH_MAX = 300
#: Values of the option ``uint64`` -> types of columns of unsigned 64-bit numbers.
UINT64_FORMS = {"int64": pa.int64(), "decimal": pa.decimal128(20, 0), "uint64": pa.uint64()}
#: Bytes of a value that a schema gives to its rows: a default, a constant or the name of an enum.
SCHEMA_VALUE_MAX = 1024
_NAME_LENGTH_MAX = 200
_ADDRESS = re.compile(r"<([\w.]+) object at 0x[0-9a-f]+>")


class DecoderError(AerologError, ValueError):
    """A decoder cannot be made or used as asked; the text names the option or schema at fault."""


class SchemaUnknownError(DecoderError):
    """The schema is to be inferred, and the decoder has not been given a sample of messages yet."""


@dataclass(frozen=True, slots=True)
class Reject:
    """A message that could not be decoded.

    Attributes:
        index: the message's index in the payloads that were given to ``decode``.
        reason: one line of text, which begins with ``schema changed:`` when the message is well
            formed and only does not fit the schema, and with ``the schema lacks the field`` when
            the schema was given and not inferred, and has no such field.
    """

    index: int
    reason: str

    @property
    def schema_changed(self) -> bool:
        """Whether the message is well formed but has another schema."""
        return self.reason.startswith((SCHEMA_CHANGED, SCHEMA_LACKS))


@dataclass(frozen=True, slots=True)
class Decoded:
    """The result of decoding a batch of messages.

    Attributes:
        columns: the rows with the decoder's schema, in the order of their messages.
        source: int64, for each row the index of its message, ascending.
        rejects: the rejects of the messages without rows, ascending by index.
    """

    columns: pa.RecordBatch
    source: pa.Int64Array
    rejects: list[Reject] = field(default_factory=list)


class Decoder(ABC):
    """Decodes messages of one format to Arrow columns; made by ``make_decoder`` or an entry point.

    Attributes:
        name: the name for ``make_decoder``; a class behind an entry point has the entry's name.
        options: the strings that make an equal decoder on any machine.
    """

    name: ClassVar[str] = ""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.options: dict[str, str] = dict(options)

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """The Arrow schema of the decoded columns.

        Raises:
            SchemaUnknownError: ``needs_sample`` is True.
        """

    @abstractmethod
    def decode(self, payloads: pa.BinaryArray) -> Decoded:
        """Decode messages; malformed bytes are rejected and raise no error.

        Args:
            payloads: the messages, one in each item; a null is rejected.

        Raises:
            SchemaUnknownError: ``needs_sample`` is True.
        """

    @property
    def needs_sample(self) -> bool:
        """Whether the schema is to be inferred; ``with_sample`` makes a decoder that has one."""
        return False

    @property
    def sample_size(self) -> int:
        """The number of messages that ``with_sample`` needs; 0 where it needs none."""
        return 0

    def with_sample(self, payloads: pa.BinaryArray) -> Decoder:  # noqa: ARG002 (overrides use it)
        """Make a decoder with the schema of these messages; the same decoder if it has a schema.

        Raises:
            DecoderError: none of the messages can be decoded.
        """
        return self

    def __reduce__(self) -> tuple[Callable[..., Decoder], tuple[str, dict[str, str]]]:
        from aerolog.catalog.decoders.registry import make_decoder

        return make_decoder, (self.name, self.options)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Decoder):
            return NotImplemented
        return type(self) is type(other) and self.options == other.options

    def __hash__(self) -> int:
        return hash((type(self), tuple(sorted(self.options.items()))))

    def __repr__(self) -> str:
        return f"make_decoder({self.name!r}, {self.options!r})"


def check_schema_value(value: str, path: str) -> None:
    """Check a value that a schema gives to rows: messages of a few bytes may repeat it at will.

    Raises:
        DecoderError: it is longer than ``SCHEMA_VALUE_MAX``.
    """
    if len(value.encode("utf-8", "surrogatepass")) > SCHEMA_VALUE_MAX:
        raise DecoderError(
            f"{path}: a default, a constant or the name of an enum's value in a schema has at most "
            f"{SCHEMA_VALUE_MAX} bytes, and this one has {len(value)} characters"
        )


def lacks_field(name: str) -> str:
    """The reason of a reject with a field that the given schema has not."""
    name = name if len(name) <= _NAME_LENGTH_MAX else name[: _NAME_LENGTH_MAX - 3] + "..."
    return f'{SCHEMA_LACKS}{name} of the message: add it, or set extra = "ignore"'


def one_line(text: object) -> str:
    """Shorten a text to one line of limited length, which is the same each time."""
    line = _ADDRESS.sub(r"\1", " ".join(str(text).split()))
    line = line.encode("utf-8", "backslashreplace").decode()
    return line if len(line) <= REASON_LENGTH_MAX else line[: REASON_LENGTH_MAX - 3] + "..."


def as_binary(payloads: Any) -> pa.BinaryArray:
    """Convert payloads to one array of ``binary``.

    Raises:
        TypeError: the payloads are not bytes.
    """
    if isinstance(payloads, pa.ChunkedArray):
        payloads = payloads.combine_chunks()
    if payloads.type == pa.binary():
        return payloads
    kinds = (pa.types.is_large_binary, pa.types.is_binary_view, pa.types.is_fixed_size_binary)
    if not any(is_kind(payloads.type) for is_kind in kinds):
        raise TypeError(f"payloads are to be binary, and are {payloads.type}")
    return payloads.cast(pa.binary())


def split_failures(
    first: int,
    last: int,
    attempt: Callable[[int, int], Any],
    failures: type[BaseException] | tuple[type[BaseException], ...],
) -> tuple[list[tuple[int, int, Any]], list[tuple[int, BaseException]]]:
    """Convert a range of items at once, and where that fails, find the items that cause it.

    The result for an item is always that of ``attempt`` on a range that contains it, and does not
    depend on its neighbours. A range without bad items costs one attempt.

    Args:
        first: the index of the first item.
        last: the index behind the last item.
        attempt: converts the items from its first argument up to, but not including, its second.
        failures: the errors that it raises for a range with a bad item.

    Returns:
        The converted ranges (first, last, result), ascending, and the bad items with their errors.
    """
    good: list[tuple[int, int, Any]] = []
    bad: list[tuple[int, BaseException]] = []
    waiting = [(first, last)]
    while waiting:
        low, high = waiting.pop()
        if low == high:
            continue
        try:
            good.append((low, high, attempt(low, high)))
        except failures as error:
            if high - low == 1:
                bad.append((low, error))
            elif high - low <= 8:  # Bad items are often neighbours.
                waiting.extend((index, index + 1) for index in reversed(range(low, high)))
            else:
                middle = (low + high) // 2
                waiting.extend(((middle, high), (low, middle)))
    return good, bad


def empty_batch(schema: pa.Schema) -> pa.RecordBatch:
    """An empty batch of a schema."""
    return pa.RecordBatch.from_arrays([pa.array([], kind) for kind in schema.types], schema=schema)


def counting(first: int, last: int) -> pa.Int64Array:
    """The numbers from ``first`` up to, but not including, ``last``."""
    numpy = require("numpy", "decoding messages")
    return pa.array(numpy.arange(first, last, dtype=numpy.int64))


def int64_array(values: Sequence[int]) -> pa.Int64Array:
    """Convert message indices to the array that ``Decoded`` holds."""
    return pa.array(values, pa.int64())
