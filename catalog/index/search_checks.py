"""Checks the conditions of a search before they go to a database.

A number outside the range of its column, or a text that no database can store, is refused here with
the name of its condition: each driver would fail with a different error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.catalog.index.errors import SearchError
from aerolog.catalog.index.models import NOT_STORED, State
from aerolog.transport.config.values import INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN

if TYPE_CHECKING:
    from aerolog.catalog.index.search import Search

ORDERS: Final = ("newest", "oldest", "largest", "smallest", "id")
STATES: Final = tuple(str(state) for state in State)
IDS_MAX: Final = 10_000
TEXT_MAX: Final = 16 * 1024
TAGS_MAX: Final = 64

_RANGES: Final = {
    "stream_id": (INT32_MIN, INT32_MAX),
    "since_ms": (INT64_MIN, INT64_MAX),
    "until_ms": (INT64_MIN, INT64_MAX),
    "min_size": (0, INT64_MAX),
    "max_size": (0, INT64_MAX),
    "limit": (0, INT64_MAX),
    "offset": (0, INT64_MAX),
}


def checked(wanted: Search) -> Search:
    """Check the conditions of a search, and return the search.

    Raises:
        SearchError: a condition is malformed; the text has its name, its value and what is allowed.
    """
    for name, (least, most) in _RANGES.items():
        _check_number(name, getattr(wanted, name), least, most)
    for name in ("channel", "name"):
        text = getattr(wanted, name)
        if text is not None:
            check_text(name, text)
    if len(wanted.tags) > TAGS_MAX:
        raise SearchError(f"{len(wanted.tags)} tags are too many to search by: {TAGS_MAX} at most")
    for key, value in wanted.tags.items():
        check_text("the key of a tag", key)
        if value is not None:
            check_text(f"tag {key!r}", value)
    _check_choice("state", wanted.state, STATES)
    _check_choice("order", wanted.order, ORDERS)
    _check_archive(wanted.archive)
    _check_ids(wanted)
    _check_order_of("since_ms", wanted.since_ms, "until_ms", wanted.until_ms)
    _check_order_of("min_size", wanted.min_size, "max_size", wanted.max_size)
    return wanted


def check_text(name: str, text: object, *, most: int = TEXT_MAX) -> str:
    """Check a text that is to be compared by either database, and return it.

    Raises:
        SearchError: it is not a text, is longer than ``most`` characters, or has characters that no
            database can store.
    """
    if not isinstance(text, str):
        raise SearchError(f"{name} is {text!r}, which is no text")
    if len(text) > most:
        raise SearchError(f"{name} has {len(text)} characters, {most} are allowed")
    if NOT_STORED.search(text):
        raise SearchError(f"{name} is {text!r}: NUL and lone surrogates are in no catalog")
    return text


def _check_number(name: str, value: object, least: int, most: int) -> None:
    if value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool):
        raise SearchError(f"{name} is {value!r}, which is no integer")
    if not least <= value <= most:
        raise SearchError(f"{name} is {value}, allowed are {least} to {most}")


def _check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value is not None and value not in choices:
        raise SearchError(f"{name} is {value!r}, there are {', '.join(choices)}")


def _check_archive(archive: object) -> None:
    if isinstance(archive, int):
        _check_number("archive", archive, INT64_MIN, INT64_MAX)
    elif archive is not None:
        check_text("archive", archive)


def _check_ids(wanted: Search) -> None:
    ids = wanted.recording_ids
    if ids is None:
        return
    if len(ids) > IDS_MAX:
        raise SearchError(f"{len(ids)} recording ids are too many for a search: {IDS_MAX} at most")
    for one in ids:
        _check_number("a recording id", one, INT64_MIN, INT64_MAX)


def _check_order_of(first: str, least: int | None, second: str, most: int | None) -> None:
    if least is not None and most is not None and least > most:
        raise SearchError(f"{first} is {least}, more than {second}, which is {most}")
