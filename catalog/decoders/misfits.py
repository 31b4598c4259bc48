"""What a value that does not fit its column is called in the reason of a reject."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Fit = Callable[[Any], Any]

_NAMES = {
    "NoneType": "null", "dict": "an object", "list": "a list", "str": "a string",
    "int": "an integer", "float": "a float", "Decimal": "a float", "bool": "a boolean",
    "bytes": "binary", "Timestamp": "a timestamp",
}  # fmt: skip


class MisfitError(ValueError):
    """A value does not fit its column; the text has the column's path and the value's kind."""


def misfit(path: str, wanted: object, value: object) -> MisfitError:
    """The error of a value of another kind than its column."""
    found = _NAMES.get(type(value).__name__, type(value).__name__)
    return MisfitError(f"{path} is {found}, expected {wanted}")


def out_of_range(path: str, kind: object, value: object = "") -> MisfitError:
    """The error of a number or a time that its column's type cannot hold."""
    shown = f": {value}"[:42] if value != "" else ""
    return MisfitError(f"{path} is out of the range of {kind}{shown}")
