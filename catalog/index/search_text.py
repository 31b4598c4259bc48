"""Parses searches written as options of a command, as a TOML table or as words of an option."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime, time
from typing import Any, Final

from aerolog.catalog.index.errors import SearchError
from aerolog.catalog.index.search import Search
from aerolog.catalog.index.search_checks import IDS_MAX, checked
from aerolog.transport.config.times import datetime_ns, parse_time_ns
from aerolog.transport.config.values import parse_size
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.time_units import NS_PER_MS


def parse_search(given: Mapping[str, Any] | Iterable[str]) -> Search:
    """Make a search from its conditions by name.

    The names are those of the options of ``aerolog catalog search`` without the dashes in front:
    ``stream``, ``channel``, ``tag``, ``name``, ``state``, ``since``, ``until``, ``min-size``,
    ``max-size``, ``archive``, ``id``, ``limit``, ``offset``, ``order``. Underscores are accepted in
    place of dashes, and conditions that are None are ignored.

    Args:
        given: name -> value, as in a TOML table: ``tag`` is a table itself or a list of
            ``KEY=VALUE`` and ``KEY``, ``id`` a number or a list, times are text, dates or numbers
            since the epoch, sizes numbers or text such as ``64k``. A text is local time unless it
            has an offset; a date or datetime without a zone is UTC. It may also be a list of
            ``NAME=VALUE``, in which ``tag`` and ``id`` may occur more than once.

    Raises:
        SearchError: a name is unknown or a value is malformed.
    """
    table = given if isinstance(given, Mapping) else _table(given)
    found: dict[str, Any] = {}
    for name, value in table.items():
        known = _READERS.get(str(name).replace("_", "-"))
        if known is None:
            raise SearchError(f"there is no condition {name!r}; there are {', '.join(_READERS)}")
        if value is not None:
            field, read = known
            found[field] = read(str(name), value)
    return checked(Search(**found))


def _table(words: Iterable[str]) -> dict[str, Any]:
    if isinstance(words, str):
        raise SearchError(f"a search is a list of NAME=VALUE, not the text {words!r}")
    found: dict[str, Any] = {}
    for word in words:
        name, equals, value = str(word).partition("=")
        if not equals:
            raise SearchError(f"{word!r} is no condition: write NAME=VALUE, such as stream=1001")
        name = name.strip().replace("_", "-")
        if name in {"tag", "id"}:
            found.setdefault(name, []).append(value)
        elif name in found:
            raise SearchError(f"{name} is given twice: {found[name]!r} and {value!r}")
        else:
            found[name] = value
    return found


def parse_tags(name: str, given: object) -> dict[str, str | None]:
    """Parse the tags of a search: a table, or one or a list of ``KEY=VALUE`` and ``KEY``.

    Raises:
        SearchError: the value has another form, or a key occurs twice.
    """
    if isinstance(given, Mapping):
        return {str(key): None if value is None else str(value) for key, value in given.items()}
    words = [given] if isinstance(given, str) else given
    if not isinstance(words, list | tuple) or not all(isinstance(word, str) for word in words):
        raise SearchError(f"{name} is {given!r}: write KEY=VALUE, a list of them, or a table")
    found: dict[str, str | None] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if key in found:
            raise SearchError(f"{name} {key!r} is given twice; a recording has one value of a key")
        found[key] = value if equals else None
    return found


def _integer(name: str, value: object) -> int:
    if isinstance(value, str):
        try:
            return int(value, 10)
        except ValueError:
            value = value[:40]
    if isinstance(value, bool) or not isinstance(value, int):
        raise SearchError(f"{name} is {value!r}, which is no integer")
    return value


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise SearchError(f"{name} is {value!r}, which is no text")
    return value


def _size(name: str, value: object) -> int:
    if not isinstance(value, str):
        return _integer(name, value)
    try:
        return parse_size(name, value)
    except ConfigurationError as error:
        raise SearchError(str(error)) from error


def _time(name: str, value: object) -> int:
    """Epoch milliseconds, rounded up, because a search's times bound whole milliseconds."""
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, time(), UTC)
    try:
        if isinstance(value, datetime):
            time_ns = datetime_ns(value)
        else:
            time_ns = parse_time_ns(name, str(value))
    except ConfigurationError as error:
        raise SearchError(str(error)) from error
    return -(-time_ns // NS_PER_MS)


def parse_archive(name: str, value: object) -> str | int:
    """Parse an archive's place, a path or URL, or the number that its mark file has."""
    if isinstance(value, str) and value.lstrip("-").isdecimal():
        return _integer(name, value)
    return value if isinstance(value, int) else _text(name, value)


def _ids(name: str, value: object) -> tuple[int, ...]:
    values = value if isinstance(value, list | tuple) else [value]
    if len(values) > IDS_MAX:
        raise SearchError(f"{len(values)} recording ids are too many: {IDS_MAX} at most")
    return tuple(_integer(name, one) for one in values)


_READERS: Final[Mapping[str, tuple[str, Callable[[str, Any], Any]]]] = {
    "stream": ("stream_id", _integer),
    "channel": ("channel", _text),
    "tag": ("tags", parse_tags),
    "name": ("name", _text),
    "state": ("state", _text),
    "since": ("since_ms", _time),
    "until": ("until_ms", _time),
    "min-size": ("min_size", _size),
    "max-size": ("max_size", _size),
    "archive": ("archive", parse_archive),
    "id": ("recording_ids", _ids),
    "limit": ("limit", _integer),
    "offset": ("offset", _integer),
    "order": ("order", _text),
}
