"""The one parser for sizes, durations and numbers, and their shortest written forms.

It reads properties, channel parameters and command line options (spec configuration 2,
spec channel-uri 5). Every error is a `ConfigurationError` that names the property, the value and
the accepted form; its `reference_type` and `reference_message` hold what the reference writes into
an error response for the same value.
"""

from __future__ import annotations

import re
from datetime import timedelta

from aerolog.transport.errors import ConfigurationError
from aerolog.transport.time_units import NS_PER_MS, NS_PER_S, NS_PER_US, UNITS_NS

INT32_MIN = -(1 << 31)
INT32_MAX = (1 << 31) - 1
INT64_MIN = -(1 << 63)
INT64_MAX = (1 << 63) - 1

ILLEGAL_ARGUMENT = "java.lang.IllegalArgumentException"
ILLEGAL_STATE = "java.lang.IllegalStateException"
NUMBER_FORMAT = "java.lang.NumberFormatException"
ASCII_NUMBER_FORMAT = "org.agrona.AsciiNumberFormatException"

_SIZE_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
#: More digits of a fraction than a day has nanoseconds change nothing.
_FRACTION_DIGITS = 18
_LONG_DURATION = re.compile(
    r"([0-9]+(?:\.[0-9]+)?)(ns|us|ms|s|min|m|h|d)", re.ASCII | re.IGNORECASE
)


def parse_size(name: str, text: str) -> int:
    """Parse a size in bytes: digits, optionally one of ``k m g`` in either case (powers of 1024).

    Raises:
        ConfigurationError: if the text is empty, negative, has another suffix, or needs more than
            64 bits.
    """
    _require_unsigned(name, text)
    form = "digits and optionally k, m or g"
    if _is_digit(text[-1]):
        return _parse_digits(name, text, text, form)
    number = _parse_digits(name, text, text[:-1], form)
    unit = _SIZE_UNITS.get(text[-1].lower())
    if unit is None:
        raise _malformed(f"{name}: {text} should end with: k, m, or g.")
    value = number * unit
    if value > INT64_MAX:
        raise _malformed(f"{name} would overflow a long: {text}")
    return value


def parse_duration_ns(name: str, text: str) -> int:
    """Parse a duration: digits, optionally one of ``ns us ms s`` in either case; default ``ns``.

    The result is in nanoseconds and saturates at the largest 64-bit value, as in the reference.

    Raises:
        ConfigurationError: if the text is empty, negative, has another suffix, or if its digits
            need more than 64 bits.
    """
    _require_unsigned(name, text)
    form = "digits and optionally ns, us, ms or s"
    if _is_digit(text[-1]):
        return _parse_digits(name, text, text, form)
    wrong = _malformed(f"{name}: {text} should end with: s, ms, us, or ns.")
    if text[-1] not in "sS" or len(text) < 2:
        raise wrong
    if _is_digit(text[-2]):
        return min(_parse_digits(name, text, text[:-1], form) * NS_PER_S, INT64_MAX)
    if len(text) < 3:
        raise wrong
    number = _parse_digits(name, text, text[:-2], form)  # before the unit, as in the reference
    unit = UNITS_NS.get(text[-2:].lower())
    if unit is None:
        raise wrong
    return min(number * unit, INT64_MAX)


def parse_long_duration_ns(name: str, text: str) -> int:
    """Parse a duration of an operator: ``90s``, ``1.5h``, ``2m`` (minutes), ``500ms``, ``7d``.

    A bare number is seconds. Properties of the reference do not use this form.
    """
    match = _LONG_DURATION.fullmatch(text) or _LONG_DURATION.fullmatch(text + "s")
    if match is None:
        raise ConfigurationError(
            f"{name}: {text!r} is not a duration: a number and one of ns, us, ms, s, m, h, d"
        )
    number, unit = match.group(1), UNITS_NS[match.group(2).lower()]
    whole, _, fraction = number.partition(".")
    whole, fraction = whole.lstrip("0"), fraction[:_FRACTION_DIGITS]
    # Python refuses int() of a very long digit string, so the length is checked first.
    value = int(whole or "0") * unit if len(whole) <= len(str(INT64_MAX)) else INT64_MAX + 1
    value += int(fraction) * unit // 10 ** len(fraction) if fraction else 0
    if value > INT64_MAX:
        raise ConfigurationError(f"{name}: {text!r} is more than 292 years")
    return value


def duration_to_ns(name: str, value: float | timedelta | str) -> int:
    """Convert a duration to ns: float or int seconds, a timedelta, or text with a suffix."""
    if isinstance(value, str):
        return parse_duration_ns(name, value)
    if isinstance(value, timedelta):
        micros = value // timedelta(microseconds=1)
        result = micros * 1_000
    elif isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ConfigurationError(
            f"{name}: {value!r} is not a duration: seconds, a timedelta, or text such as '5s'"
        )
    elif isinstance(value, int):
        result = value * NS_PER_S
    else:
        if not abs(value) < INT64_MAX / NS_PER_S:
            raise ConfigurationError(f"{name}: {value!r} seconds are out of range")
        result = round(value * NS_PER_S)
    if not 0 <= result <= INT64_MAX:
        raise ConfigurationError(f"{name}: {value!r} is negative or too long")
    return result


def size_to_int(name: str, value: int | str) -> int:
    """Convert a size to bytes: an int is in bytes, a text may be such as ``'64k'``."""
    if isinstance(value, str):
        return parse_size(name, value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConfigurationError(f"{name}: {value!r} is not a size: bytes, or text such as '64k'")
    if not 0 <= value <= INT64_MAX:
        raise ConfigurationError(f"{name}: {value} is negative or too large for a size")
    return value


def parse_int32(name: str, text: str) -> int:
    """Parse a 32-bit decimal integer with an optional sign; nothing else is accepted."""
    return _parse_integer(name, text, 32)


def parse_int64(name: str, text: str) -> int:
    """Parse a 64-bit decimal integer with an optional sign; nothing else is accepted."""
    return _parse_integer(name, text, 64)


def whole_number(text: str, largest: int = INT64_MAX) -> int | None:
    """The number that a text of decimal digits says; None for other texts and larger numbers."""
    if not (text.isascii() and text.isdigit()):
        return None
    digits = text.lstrip("0") or "0"
    # Python's int() raises for a very long digit string, so the length is checked first.
    if len(digits) > len(str(largest)) or int(digits) > largest:
        return None
    return int(digits)


def parse_bool(text: str) -> bool:
    """Parse a boolean by the Java driver's rule: ``true`` is true, any other text is false."""
    return text == "true"


def parse_hex_bytes(name: str, text: str) -> bytes:
    """Parse an even number of hexadecimal digits."""
    if len(text) % 2 or re.fullmatch(r"[0-9a-fA-F]*", text, re.ASCII) is None:
        raise ConfigurationError(f"{name}: {text!r} is not an even number of hex digits")
    return bytes.fromhex(text)


def parse_port_range(name: str, text: str) -> tuple[int, int] | None:
    """Parse ``low high``, 0 <= low <= high <= 65535; an empty text gives None."""
    if not text:
        return None
    match = re.fullmatch(r"([0-9]{1,9}) +([0-9]{1,9})", text, re.ASCII)
    if match is None:
        raise ConfigurationError(f"{name}: {text!r} is not a port range: two numbers, 'low high'")
    low, high = int(match.group(1)), int(match.group(2))
    if not low <= high <= 65_535:
        raise ConfigurationError(f"{name}: {text!r}: low must not exceed high, nor high 65535")
    return low, high


def format_size(value: int) -> str:
    """Format a size in its shortest exact form: 65536 is ``64k``."""
    for suffix, unit in (("g", 1 << 30), ("m", 1 << 20), ("k", 1 << 10)):
        if value >= unit and value % unit == 0:
            return f"{value // unit}{suffix}"
    return str(value)


def format_duration(value_ns: int) -> str:
    """Format ns in their shortest exact form: 5,000,000,000 is ``5s``, 0 is ``0ns``."""
    for suffix, unit in (("s", NS_PER_S), ("ms", NS_PER_MS), ("us", NS_PER_US)):
        if value_ns >= unit and value_ns % unit == 0:
            return f"{value_ns // unit}{suffix}"
    return f"{value_ns}ns"


def _parse_integer(name: str, text: str, bits: int) -> int:
    limit = 1 << (bits - 1)
    # Python refuses int() of a very long digit string, so the length is checked first.
    if _INTEGER.fullmatch(text) is not None and len(text.lstrip("+-").lstrip("0")) <= 19:
        value = int(text)
        if -limit <= value < limit:
            return value
    raise ConfigurationError(
        f"{name}: {text!r} is not a signed {bits}-bit decimal number",
        reference_type=NUMBER_FORMAT,
        reference_message=f'For input string: "{text}"',
    )


def _require_unsigned(name: str, text: str) -> None:
    if not text:
        raise _malformed(f"{name} must be non-empty: {text}")
    if text[0] == "-":
        raise _malformed(f"{name} must be positive: {text}")


def _parse_digits(name: str, text: str, digits: str, form: str) -> int:
    if not digits:
        reason = "empty string: index=0 length=0"
    elif not all(map(_is_digit, digits)):
        reason = f"error parsing long: {digits}"
    else:
        significant = digits.lstrip("0")
        value = int(significant or "0") if len(significant) <= 19 else INT64_MAX + 1
        if value <= INT64_MAX:
            return value
        reason = f"long overflow parsing: {digits}"
    raise ConfigurationError(
        f"{name}: {text!r} is not {form}: {reason}",
        reference_type=ASCII_NUMBER_FORMAT,
        reference_message=reason,
    )


def _is_digit(char: str) -> bool:
    return "0" <= char <= "9"


def _malformed(message: str) -> ConfigurationError:
    return ConfigurationError(message, reference_type=NUMBER_FORMAT)
