"""The parser for points in time, which properties, commands and the API share."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Final

from aerolog.transport.concurrent.clock import Clock, SystemClock
from aerolog.transport.config.values import INT64_MAX, INT64_MIN
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.time_units import NS_PER_S, UNITS_NS

_UNIX_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_EPOCH: Final = re.compile(r"([+-]?[0-9]{1,19})(?:\.([0-9]{1,9}))?(s|ms|us|ns)?", re.ASCII)
_FRACTION_DIGITS_MAX: Final = 9
#: A number without a unit has the first of these units in which it lies before the year 5138.
_MAGNITUDES: Final = ((10**11, "s"), (10**14, "ms"), (10**17, "us"))
#: A smaller number with a unit means how long ago, since no recording is older than 1973.
_EPOCH_FROM_NS: Final = 10**8 * NS_PER_S
_SPAN: Final = re.compile(r"([0-9]{1,18})(?:\.([0-9]{1,9}))?(ms|us|ns|s|m|h|d|w)", re.ASCII)
_RELATIVE: Final = re.compile(r"(now)?\s*([+-])?\s*((?:[0-9.]+[a-z]+)+)", re.ASCII)
_DAYS: Final = {"today": 0, "yesterday": -1, "tomorrow": 1}
_CLOCK: Final = r"[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?(?:[Zz]|[+-][0-9]{2}:?[0-9]{2})?"
_DAY: Final = re.compile(rf"(today|yesterday|tomorrow)?[ T]*({_CLOCK})?", re.ASCII | re.IGNORECASE)
_ISO_FRACTION: Final = re.compile(r"(?<=:[0-9]{2})[.,]([0-9]+)(?=$|[Zz+-])", re.ASCII)
_DATE_LENGTHS: Final = (8, 10)
_FORMS: Final = (
    "ISO 8601 such as 2026-11-20T10:00:00Z, a number since the epoch with s, ms, us or ns, "
    "or a relative time such as 5m, now-1h, today, yesterday 10:00"
)


def parse_time_ns(
    name: str,
    text: str,
    *,
    zone: tzinfo | None = None,
    now_ns: int | None = None,
    clock: Clock | None = None,
) -> int:
    """Parse a point in time and return it as nanoseconds since the Unix epoch.

    Accepted are:

    - ISO 8601: ``2026-11-20``, ``2026-11-20T10:00``, ``…:30.123456789``, ``…Z``, ``…+01:00``, a
      blank for the ``T``;
    - numbers since the epoch with ``s``, ``ms``, ``us`` or ``ns``. A number without a unit is
      taken for seconds below 10^11, milliseconds below 10^14, microseconds below 10^17, else
      nanoseconds;
    - how long ago, in ``w``, ``d``, ``h``, ``m``, ``s``, ``ms``, ``us``, ``ns``: ``5m``, ``-5m``,
      ``1h30m``, ``now-5m``; ahead: ``+5m``, ``now+5m``. Seconds and less are a duration when they
      are less than 10^8 s, as a time since the epoch that is before March 1973;
    - ``now``, ``today``, ``yesterday``, ``tomorrow`` (their first moment), the same with a time of
      the day, as ``yesterday 10:00``, and a time alone, which is today's.

    Args:
        name: the name of the time in messages.
        text: the time in one of these forms.
        zone: zone of a time that names none; the machine's if None.
        now_ns: the present time, nanoseconds since the epoch; the clock's if None.
        clock: gives the present time; the machine's clock if None.

    Raises:
        ConfigurationError: if the text has none of these forms, if the time is outside 1677 to
            2262, or if it is a local time that the zone does not have or has twice.
    """
    text = text.strip()
    now = (clock or SystemClock()).now_epoch_ns() if now_ns is None else now_ns
    value = _from_epoch(text)
    if value is None:
        value = _from_relative(text, now)
    if value is None:
        value = _from_date(name, text, zone, now)
    if not INT64_MIN <= value <= INT64_MAX:
        raise ConfigurationError(f"{name}: {text!r} is outside the years 1677 to 2262")
    return value


def datetime_ns(moment: datetime) -> int:
    """Return a datetime as nanoseconds since the Unix epoch; one without a zone is UTC.

    That holds for every datetime that a program gives, whatever the machine's zone is. Texts that
    people write are local unless they have an offset, see `parse_time_ns`.
    """
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return (aware - _UNIX_EPOCH) // _MICROSECOND * 1000


def format_time(time_ns: int) -> str:
    """Format a time as ISO 8601 in UTC, with as many digits as are needed to be exact."""
    seconds, fraction = divmod(time_ns, NS_PER_S)
    shown = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return shown + (f".{fraction:09}".rstrip("0") if fraction else "") + "Z"


def _from_epoch(text: str) -> int | None:
    match = _EPOCH.fullmatch(text)
    if match is None:
        return None
    whole, fraction, suffix = match.groups()
    number = int(whole)
    unit_name = suffix
    if unit_name is None:
        unit_name = next((unit for limit, unit in _MAGNITUDES if abs(number) < limit), "ns")
    unit = UNITS_NS[unit_name]
    part = int(fraction) * unit // 10 ** len(fraction) if fraction else 0
    value = number * unit + (-part if whole.startswith("-") else part)
    if suffix is not None and abs(value) < _EPOCH_FROM_NS:
        return None  # a duration
    return value


def _from_relative(text: str, now_ns: int) -> int | None:
    if text.lower() == "now":
        return now_ns
    match = _RELATIVE.fullmatch(text.lower())
    if match is None:
        return None
    word, sign, spans = match.groups()
    if word and not sign:
        return None
    found = list(_SPAN.finditer(spans))
    if "".join(span.group() for span in found) != spans:
        return None
    total = 0
    for span in found:
        whole, fraction, unit = span.groups()
        total += int(whole) * UNITS_NS[unit]
        total += int(fraction) * UNITS_NS[unit] // 10 ** len(fraction) if fraction else 0
    return now_ns + total if sign == "+" else now_ns - total


def _from_date(name: str, text: str, zone: tzinfo | None, now_ns: int) -> int:
    # datetime has only microseconds, so the fraction is read separately.
    fraction = _ISO_FRACTION.search(text)
    whole = text[: fraction.start()] + text[fraction.end() :] if fraction else text
    try:
        moment, is_date = _moment(whole, zone, now_ns)
        if moment.tzinfo is None:
            moment = _placed(name, text, moment, zone, is_date=is_date)
        seconds = int(moment.timestamp())
        if fraction and len(fraction.group(1)) > _FRACTION_DIGITS_MAX:
            raise ValueError(fraction.group(1))
    except ConfigurationError:
        raise
    except (ValueError, OverflowError, OSError) as error:
        raise ConfigurationError(f"{name}: {text!r} is not a time: {_FORMS}") from error
    return seconds * NS_PER_S + (int(fraction.group(1).ljust(9, "0")) if fraction else 0)


def _moment(text: str, zone: tzinfo | None, now_ns: int) -> tuple[datetime, bool]:
    """Parse a text; returns the moment, naive if it names no zone, and whether it is a date."""
    match = _DAY.fullmatch(text)
    if match is None or not text:
        return datetime.fromisoformat(text), len(text) in _DATE_LENGTHS
    word, clock = match.groups()
    today = datetime.fromtimestamp(now_ns // NS_PER_S, UTC).astimezone(zone).date()
    day: date = today + timedelta(days=_DAYS[word.lower()] if word else 0)
    return datetime.fromisoformat(f"{day.isoformat()}T{clock or '00:00'}"), clock is None


def _placed(
    name: str, text: str, moment: datetime, zone: tzinfo | None, *, is_date: bool
) -> datetime:
    """Return a local time in its zone.

    Raises:
        ConfigurationError: if clocks were turned forward or back over this time. The first moment
            of a date is always defined.
    """
    first, second = (_in_zone(moment.replace(fold=fold), zone) for fold in (0, 1))
    if first.utcoffset() == second.utcoffset():
        return first
    back = _in_zone(first.astimezone(UTC), zone).replace(tzinfo=None, fold=0)
    if back == moment:
        if is_date:
            return first
        raise ConfigurationError(
            f"{name}: {text!r} is there twice, for clocks were turned back: say "
            f"{first.isoformat()} or {second.isoformat()}"
        )
    # With the offset after the gap the time is before it, and the other way round.
    both = (_in_zone(one.astimezone(UTC), zone) for one in (first, second))
    before, behind = sorted(both, key=datetime.timestamp)
    if is_date:
        return _first_behind(before, behind, zone)
    raise ConfigurationError(
        f"{name}: {text!r} is not there, for clocks were turned forward: say "
        f"{before.isoformat()} or {behind.isoformat()}"
    )


def _first_behind(before: datetime, behind: datetime, zone: tzinfo | None) -> datetime:
    """Find the first moment between two that has the UTC offset of the second one."""
    low, high = int(before.timestamp()), int(behind.timestamp())
    while high - low > 1:
        middle = (low + high) // 2
        there = datetime.fromtimestamp(middle, UTC).astimezone(zone)
        if there.utcoffset() == behind.utcoffset():
            high = middle
        else:
            low = middle
    return datetime.fromtimestamp(high, UTC)


def _in_zone(moment: datetime, zone: tzinfo | None) -> datetime:
    if moment.tzinfo is not None:
        return moment.astimezone(zone)
    return moment.astimezone() if zone is None else moment.replace(tzinfo=zone)
