"""The one parser for points in time."""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo
from typing import Final

from aerolog.transport.config.values import INT64_MAX, INT64_MIN
from aerolog.transport.errors import ConfigurationError

_NS_PER_SECOND: Final = 1_000_000_000
_EPOCH: Final = re.compile(r"([+-]?[0-9]{1,19})(?:\.([0-9]{1,9}))?(s|ms|us|ns)?", re.ASCII)
_ISO_FRACTION: Final = re.compile(r"(?<=:[0-9]{2})[.,]([0-9]+)(?=$|[Zz+-])", re.ASCII)
_FRACTION_DIGITS_MAX: Final = 9
_UNITS_NS: Final = {"s": _NS_PER_SECOND, "ms": 1_000_000, "us": 1_000, "ns": 1}
#: A number without a unit: the first unit in which it lies before the year 5138.
_MAGNITUDES: Final = ((10**11, "s"), (10**14, "ms"), (10**17, "us"))


def parse_time_ns(name: str, text: str, *, zone: tzinfo | None = None) -> int:
    """A point in time as nanoseconds since the Unix epoch.

    Accepted: ISO 8601 (``2026-11-20``, ``2026-11-20T10:00``, ``…:30.123456789``, ``…Z``,
    ``…+01:00``, a blank for the ``T``), and numbers since the epoch with ``s``, ``ms``, ``us`` or
    ``ns``. A number without a unit is taken for seconds below 10^11, milliseconds below 10^14,
    microseconds below 10^17, else nanoseconds.

    Args:
        name: what the time is for, in messages.
        text: the time.
        zone: zone of an ISO time that names none; the machine's when None.

    Raises:
        ConfigurationError: none of these forms, or outside 1677 to 2262.
    """
    text = text.strip()
    match = _EPOCH.fullmatch(text)
    value = _from_epoch(match) if match is not None else _from_iso(name, text, zone)
    if not INT64_MIN <= value <= INT64_MAX:
        raise ConfigurationError(f"{name}: {text!r} is outside the years 1677 to 2262")
    return value


def format_time(time_ns: int) -> str:
    """UTC, ISO 8601, with as many digits as it takes to be exact."""
    seconds, fraction = divmod(time_ns, _NS_PER_SECOND)
    shown = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return shown + (f".{fraction:09}".rstrip("0") if fraction else "") + "Z"


def _from_epoch(match: re.Match[str]) -> int:
    whole, fraction, suffix = match.groups()
    number = int(whole)
    if suffix is None:
        suffix = next((unit for limit, unit in _MAGNITUDES if abs(number) < limit), "ns")
    unit = _UNITS_NS[suffix]
    part = int(fraction) * unit // 10 ** len(fraction) if fraction else 0
    return number * unit + (-part if whole.startswith("-") else part)


def _from_iso(name: str, text: str, zone: tzinfo | None) -> int:
    # datetime keeps microseconds only: the fraction is read apart.
    fraction = _ISO_FRACTION.search(text)
    whole = text[: fraction.start()] + text[fraction.end() :] if fraction else text
    try:
        moment = datetime.fromisoformat(whole)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=zone) if zone is not None else moment.astimezone()
        seconds = int(moment.timestamp())
        if fraction and len(fraction.group(1)) > _FRACTION_DIGITS_MAX:
            raise ValueError(fraction.group(1))
    except (ValueError, OverflowError, OSError) as error:
        raise ConfigurationError(
            f"{name}: {text!r} is not a time: ISO 8601 such as 2026-11-20T10:00:00Z, "
            "or a number since the epoch with s, ms, us or ns"
        ) from error
    return seconds * _NS_PER_SECOND + (int(fraction.group(1).ljust(9, "0")) if fraction else 0)
