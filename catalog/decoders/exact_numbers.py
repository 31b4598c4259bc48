"""Fits numbers to Arrow types exactly, with bounds before they reach Arrow.

Arrow's own conversions are not used for numbers from outside: that of decimals ends the process
where an exponent is large, and that of floats rounds integers.

A number that is written with a fraction or an exponent becomes the nearest float, as in every
reader of such numbers. An integer that a float column cannot hold is a misfit, and so is a number
that would become infinite, or zero where it is not.
"""

from __future__ import annotations

import decimal
import math
import re
import struct
from typing import TYPE_CHECKING, Any

from aerolog.catalog.decoders.misfits import Fit, MisfitError, misfit, out_of_range
from aerolog.catalog.extras import require

if TYPE_CHECKING:
    import pyarrow as pa
else:
    pa = require("pyarrow", "decoding messages")

_DIGITS_MAX = 4000  # of an integer: more than any column holds, less than Python refuses
_EXPONENT_MAX = 10**17  # within the limits of decimal.Decimal, beyond those of every column
_FLOAT32 = struct.Struct("<f")  # native packing does not check the range
_DECIMAL_TEXT = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_EXACT = decimal.Context(
    prec=100,
    Emin=decimal.MIN_EMIN,
    Emax=decimal.MAX_EMAX,
    traps=[decimal.Inexact, decimal.InvalidOperation],
)


def written_integer(text: str) -> int | decimal.Decimal:
    """The value of an integer in JSON; one with more digits than any column holds is a Decimal."""
    return int(text) if len(text) <= _DIGITS_MAX else decimal.Decimal(text)


def written_number(text: str) -> decimal.Decimal:
    """The value of a number with a fraction or an exponent.

    An exponent beyond those of ``decimal.Decimal`` is replaced by one that no column has either.
    """
    try:
        return decimal.Decimal(text)
    except decimal.InvalidOperation:
        digits, _, exponent = text.lower().partition("e")
        sign = "-" if exponent.startswith("-") else ""
        return decimal.Decimal(f"{digits}e{sign}{_EXPONENT_MAX}")


def fit_integer(kind: pa.DataType, path: str) -> Fit:
    """Fit integers."""
    bits = kind.bit_width
    signed = pa.types.is_signed_integer(kind)
    least = -(1 << bits - 1) if signed else 0
    most = (1 << bits - 1) - 1 if signed else (1 << bits) - 1

    def fit(value: Any) -> Any:
        if type(value) is not int:
            raise misfit(path, kind, value)
        if not least <= value <= most:
            raise out_of_range(path, kind, value)
        return value

    return fit


def fit_floating(kind: pa.DataType, path: str) -> Fit:
    """Fit floats; infinity and NaN are values in the formats that have them."""
    convert = _float32 if pa.types.is_float32(kind) else float

    def fit(value: Any) -> Any:
        form = type(value)
        if form not in {int, float, decimal.Decimal}:
            raise misfit(path, kind, value)
        try:
            found = convert(value)
        except OverflowError as error:
            raise out_of_range(path, kind, value) from error
        if form is int and found != value:
            raise MisfitError(f"{path} is {value}, which is not exact as {kind}")
        if (found == 0 and value) or (form is decimal.Decimal and math.isinf(found)):
            raise out_of_range(path, kind, value)
        return found

    return fit


def _float32(value: float | decimal.Decimal) -> float:
    """The nearest float32.

    Raises:
        OverflowError: it would be infinite.
    """
    found = float(value)
    if type(value) is decimal.Decimal and math.isfinite(found) and found != value:
        # Rounded twice, a number close to the middle of two float32 may become the farther one.
        # The neighbour with an odd last bit is never the middle.
        (bits,) = struct.unpack("q", struct.pack("d", found))
        if bits % 2 == 0:
            found = math.nextafter(found, math.inf if found < value else -math.inf)
    (narrow,) = _FLOAT32.unpack(_FLOAT32.pack(found))
    return float(narrow)


def fit_decimal(kind: pa.DataType, path: str) -> Fit:
    """Fit integers, decimals and text of them."""
    places = decimal.Decimal((0, (1,), -kind.scale))
    whole_digits = kind.precision - kind.scale

    def fit(value: Any) -> Any:
        number = value
        if type(value) is str:
            if not _DECIMAL_TEXT.fullmatch(value):
                raise MisfitError(f"{path} is not {kind}: {value[:40]!r}")
            number = written_number(value)
        elif type(value) is int:
            number = _decimal_of(value, path, kind)
        elif type(value) is not decimal.Decimal:
            raise misfit(path, kind, value)
        try:
            found = _EXACT.quantize(number, places)
        except decimal.DecimalException as error:
            raise MisfitError(f"{path} is not {kind}: {str(value)[:40]}") from error
        if not found.is_finite() or (found and found.adjusted() >= whole_digits):
            raise MisfitError(f"{path} is not {kind}: {str(value)[:40]}")
        return found

    return fit


def _decimal_of(value: int, path: str, kind: pa.DataType) -> decimal.Decimal:
    if value.bit_length() > 256:  # no column holds it, and it may take long to convert
        raise out_of_range(path, kind)
    return decimal.Decimal(value)
