"""Fits dates and times to Arrow types exactly: a part finer than the column's unit is a misfit."""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING, Any

from aerolog.catalog.decoders.misfits import Fit, MisfitError, misfit, out_of_range
from aerolog.catalog.extras import require

if TYPE_CHECKING:
    import pyarrow as pa
else:
    pa = require("pyarrow", "decoding messages")

#: Units of Arrow's times -> their number in a second.
UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_NS = UNITS["ns"]
_DAY_S = 86_400
_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097  # after which the calendar repeats itself
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
_TIME = re.compile(
    r"[ T]([01]\d|2[0-3])(?::([0-5]\d)(?::([0-5]\d)(?:\.(\d{1,9}))?)?)?"
    r"(Z|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)?",
    re.ASCII,
)


def moment_ns(value: Any) -> int | None:
    """The epoch nanoseconds of MessagePack's timestamps; None for other values."""
    found = getattr(value, "to_unix_nano", None)
    return None if found is None else int(found())


def whole(value_ns: int, kind: pa.DataType, path: str) -> int:
    """A time in the unit of a column.

    Raises:
        MisfitError: it is no whole number of that unit.
    """
    found, rest = divmod(value_ns, _NS // UNITS[kind.unit])
    if rest:
        raise MisfitError(f"{path} is not {kind}: {value_ns} ns are no whole number of {kind.unit}")
    return found


def int64_bounds(kind: pa.DataType) -> tuple[int, int]:
    """The least and the greatest number of a timestamp or a duration.

    Parquet has no seconds, and Spark no milliseconds: a coarse time has to fit into microseconds.
    """
    factor = max(UNITS["us"] // UNITS[kind.unit], 1)
    return -(2**63 // factor), (2**63 - 1) // factor


def _bounded(value: int, least: int, most: int, kind: pa.DataType, path: str) -> int:
    if not least <= value <= most:
        raise out_of_range(path, kind, value)
    return value


def fit_timestamp(kind: pa.DataType, path: str) -> Fit:
    """Fit numbers of the column's unit, points in time, and text of them as Arrow reads it."""

    def fit(value: Any) -> Any:
        form = type(value)
        if form is int:
            found = value
        elif form is str:
            found = whole(_written_ns(value, kind, path), kind, path)
        elif form is dt.datetime:
            aware = value if value.tzinfo else value.replace(tzinfo=dt.UTC)
            found = whole((aware - _EPOCH) // _MICROSECOND * 1000, kind, path)
        elif (value_ns := moment_ns(value)) is not None:
            found = whole(value_ns, kind, path)
        else:
            raise misfit(path, kind, value)
        return _bounded(found, *int64_bounds(kind), kind, path)

    return fit


def _written_ns(text: str, kind: pa.DataType, path: str) -> int:
    day = _DATE.match(text)
    clock = _TIME.fullmatch(text, day.end()) if day else None
    hour, minute, second, fraction, zone = clock.groups() if clock else (None,) * 5
    if day is None or (clock is None and day.end() < len(text)):
        raise MisfitError(f"{path} is not {kind}: {text[:40]!r}")
    if (zone is None) != (kind.tz is None):
        needed = "no zone" if kind.tz is None else "a zone such as Z or +01:00"
        raise MisfitError(f"{path} is not {kind}: {text[:40]!r}, {needed} is expected")
    seconds = _written_day(day, kind, path) * _DAY_S
    seconds += int(hour or 0) * 3600 + int(minute or 0) * 60 + int(second or 0)
    if zone not in {None, "Z"}:
        digits = zone[1:].replace(":", "").ljust(4, "0")
        offset = int(digits[:2]) * 3600 + int(digits[2:]) * 60
        seconds += offset if zone[0] == "-" else -offset
    return seconds * _NS + int((fraction or "0").ljust(9, "0"))


def _written_day(found: re.Match[str], kind: pa.DataType, path: str) -> int:
    """The days since the epoch; the calendar is that of datetime, and has a year 0 too."""
    year, month, day = map(int, found.groups())
    try:
        ordinal = dt.date(year or _CYCLE_YEARS, month, day).toordinal()
    except ValueError as error:
        raise MisfitError(f"{path} is not {kind}: {error}") from error
    return ordinal - _EPOCH_DAY - (0 if year else _CYCLE_DAYS)


def fit_date(kind: pa.DataType, path: str) -> Fit:
    """Fit days since the epoch, dates, and text such as 2024-02-29."""

    def fit(value: Any) -> Any:
        form = type(value)
        if form is int:
            return _bounded(value, -(2**31), 2**31 - 1, kind, path)
        if form is dt.date:
            return value.toordinal() - _EPOCH_DAY
        if form is not str:
            raise misfit(path, kind, value)
        day = _DATE.fullmatch(value)
        if day is None:
            raise MisfitError(f"{path} is not {kind}: {value[:40]!r}")
        return _written_day(day, kind, path)

    return fit


def fit_time(kind: pa.DataType, path: str) -> Fit:
    """Fit times of the day, and numbers of the column's unit since midnight."""
    most = _DAY_S * UNITS[kind.unit] - 1

    def fit(value: Any) -> Any:
        if type(value) is int:
            return _bounded(value, 0, most, kind, path)
        if type(value) is not dt.time:
            raise misfit(path, kind, value)
        seconds = value.hour * 3600 + value.minute * 60 + value.second
        return whole(seconds * _NS + value.microsecond * 1000, kind, path)

    return fit


def fit_duration(kind: pa.DataType, path: str) -> Fit:
    """Fit durations, and numbers of the column's unit."""

    def fit(value: Any) -> Any:
        if type(value) is int:
            return _bounded(value, *int64_bounds(kind), kind, path)
        if type(value) is not dt.timedelta:
            raise misfit(path, kind, value)
        return whole(value // _MICROSECOND * 1000, kind, path)

    return fit
