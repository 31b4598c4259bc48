"""Derives bounds of columns from a filter before anything is read.

Filters are Arrow's expressions, as a user, DuckDB or Polars gives them, or plain comparisons such
as ``("position", ">", 4096)``. Only its text shows what an expression means. A form that is not
understood gives no bounds, so that every filter is answered correctly, some merely slower.
"""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from aerolog.catalog.extras import require

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import pyarrow.compute as pc

LOWEST, HIGHEST = -(2**63), 2**63 - 1
_EPOCH, _SECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(seconds=1)

_COMPARISON = re.compile(r"(\w+) (==|!=|<=|>=|<|>) (-?\d+)")
_REVERSED = re.compile(r"(-?\d+) (==|!=|<=|>=|<|>) ([A-Za-z_]\w*)")
# A point in time as Arrow writes it, with a zone; one without a zone gives no bound.
_MOMENT = re.compile(
    r"(\w+) (==|<=|>=|<|>) (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z", re.ASCII
)
_IS_IN = re.compile(
    r"is_in\((\w+), \{value_set=u?int\d+:\[([\s\d,-]*)\], null_matching_behavior=\w+\}\)"
)
# DuckDB tests whether a value is null first.
_IF_VALID = re.compile(r"if_else\(is_valid\((\w+)\), (.*), null\[bool\]\)", re.DOTALL)
_MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda column, values: column.isin(list(values)),
    "not in": lambda column, values: ~column.isin(list(values)),
}


@dataclass(frozen=True, slots=True)
class Bound:
    """The values that a column may have; points in time are epoch microseconds.

    Attributes:
        low: the least value.
        high: the greatest value.
        values: the only values allowed; None when the filter does not list them.
        without: the values that are excluded.
    """

    low: int = LOWEST
    high: int = HIGHEST
    values: frozenset[int] | None = None
    without: frozenset[int] = frozenset()

    @classmethod
    def of(cls, values: Iterable[int]) -> Bound:
        """A bound that allows just these values."""
        found = frozenset(values)
        return cls(min(found, default=HIGHEST), max(found, default=LOWEST), found)

    def allows(self, value: int) -> bool:
        """Whether the column may have this value."""
        return (
            self.low <= value <= self.high
            and (self.values is None or value in self.values)
            and value not in self.without
        )

    def __and__(self, other: Bound) -> Bound:
        low, high = max(self.low, other.low), min(self.high, other.high)
        listed = self.values if self.values is not None else other.values
        if listed is None:
            return Bound(low, high, None, self.without | other.without)
        return Bound.of(value for value in listed if self.allows(value) and other.allows(value))

    def __or__(self, other: Bound) -> Bound:
        if self.values is not None and other.values is not None:
            return Bound.of(self.values | other.values)
        low, high = min(self.low, other.low), max(self.high, other.high)
        return Bound(low, high, None, self.without & other.without)


@dataclass(frozen=True, slots=True)
class ColumnBounds:
    """The bounds that a filter sets for columns.

    Attributes:
        columns: name -> values that rows of the result can have in the column.
        exact: whether every row within the bounds is in the result.
    """

    columns: Mapping[str, Bound] = field(default_factory=dict)
    exact: bool = False

    def of(self, column: str) -> Bound:
        """The bound of one column."""
        return self.columns.get(column, Bound())

    def __and__(self, other: ColumnBounds) -> ColumnBounds:
        names = {*self.columns, *other.columns}
        return ColumnBounds(
            {name: self.of(name) & other.of(name) for name in names}, self.exact and other.exact
        )

    def __or__(self, other: ColumnBounds) -> ColumnBounds:
        names = {*self.columns} & {*other.columns}
        either = {name: self.of(name) | other.of(name) for name in names}
        is_one_list = len(self.columns) == len(other.columns) == len(either) == 1 and all(
            bound.values is not None for bound in either.values()
        )
        return ColumnBounds(either, self.exact and other.exact and is_one_list)


NO_FILTER = ColumnBounds({}, exact=True)


def bounds_of(expression: pc.Expression | None) -> ColumnBounds:
    """The bounds that an expression sets for columns of whole numbers and of points in time.

    Where a column may be null, rows within the bounds may still not be in the result.
    """
    return NO_FILTER if expression is None else _parsed(str(expression))


def as_expression(
    given: pc.Expression | Sequence[tuple[str, str, Any]] | None,
) -> pc.Expression | None:
    """A filter as an Arrow expression.

    Args:
        given: an expression, or comparisons ``(column, operator, value)`` that must all hold;
            operators are ``==``, ``!=``, ``<``, ``<=``, ``>``, ``>=``, ``in`` and ``not in``.

    Raises:
        ValueError: an operator does not exist, or an item is not a comparison.
    """
    compute = require("pyarrow.compute", "filtering recordings")
    if given is None or isinstance(given, compute.Expression):
        return given
    expression = None
    for comparison in given:
        one = _compared(compute, comparison)
        expression = one if expression is None else expression & one
    return expression


def _compared(compute: Any, comparison: tuple[str, str, Any]) -> Any:
    try:
        name, sign, value = comparison
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"not a comparison: {comparison!r}; write (column, operator, value)"
        ) from error
    column = compute.field(name)
    if sign not in _OPERATORS:
        raise ValueError(f"no such operator: {sign!r}; there are {', '.join(_OPERATORS)}")
    return _OPERATORS[sign](column, value)


def _parsed(text: str) -> ColumnBounds:
    while text.startswith("(") and _end_of_group(text) == len(text):
        text = text[1:-1]
    for word, joined in ((" and ", ColumnBounds.__and__), (" or ", ColumnBounds.__or__)):
        parts = _split(text, word)
        if len(parts) == 2:
            return joined(_parsed(parts[0]), _parsed(parts[1]))
    return _atom(text)


def _atom(text: str) -> ColumnBounds:
    if match := _COMPARISON.fullmatch(text):
        return _compared_bound(match[1], match[2], int(match[3]))
    if match := _REVERSED.fullmatch(text):
        return _compared_bound(match[3], _MIRRORED[match[2]], int(match[1]))
    if match := _MOMENT.fullmatch(text):
        return _moment_bound(*match.groups())
    if match := _IS_IN.fullmatch(text):
        values = [int(word) for word in match[2].split(",") if word.strip()]
        return ColumnBounds({match[1]: Bound.of(values)}, exact=True)
    if match := _IF_VALID.fullmatch(text):
        inner = _parsed(match[2])
        return inner if {*inner.columns} == {match[1]} else ColumnBounds()
    return ColumnBounds()


def _compared_bound(name: str, sign: str, value: int) -> ColumnBounds:
    bound = {
        "==": Bound.of([value]),
        "!=": Bound(without=frozenset([value])),
        "<": Bound(high=value - 1),
        "<=": Bound(high=value),
        ">": Bound(low=value + 1),
        ">=": Bound(low=value),
    }[sign]
    return ColumnBounds({name: bound}, exact=True)


def _moment_bound(name: str, sign: str, seconds: str, fraction: str | None) -> ColumnBounds:
    try:
        moment = datetime.strptime(f"{seconds}+0000", "%Y-%m-%d %H:%M:%S%z")
    except ValueError:  # datetime has no year 0
        return ColumnBounds()
    part = int((fraction or "0").ljust(9, "0"))
    before = (moment - _EPOCH) // _SECOND * 1_000_000 + part // 1000
    at = before if part % 1000 == 0 else before + 1
    bound = {
        "==": Bound(low=at, high=before),
        "<": Bound(high=at - 1),
        "<=": Bound(high=before),
        ">": Bound(low=before + 1),
        ">=": Bound(low=at),
    }[sign]
    return ColumnBounds({name: bound}, exact=True)


def _split(text: str, word: str) -> list[str]:
    """Split a text at a word where it stands outside of brackets and quotes."""
    parts, begun = [], 0
    for at, depth in _unquoted(text):
        if depth == 0 and at >= begun and text.startswith(word, at):
            parts.append(text[begun:at])
            begun = at + len(word)
    return [*parts, text[begun:]]


def _end_of_group(text: str) -> int:
    """The end of the bracket that the text begins with; -1 when it does not begin with one."""
    return next(
        (at + 1 for at, depth in _unquoted(text) if depth == 0 and text[at] in ")]}"),
        -1,
    )


def _unquoted(text: str) -> Iterator[tuple[int, int]]:
    """The offsets outside of quotes, each with the number of brackets that are open behind it."""
    depth, at, is_quoted = 0, 0, False
    while at < len(text):
        letter = text[at]
        if is_quoted:
            at += letter == "\\"
            is_quoted = letter != '"'
        elif letter == '"':
            is_quoted = True
        else:
            depth += (letter in "([{") - (letter in ")]}")
            yield at, depth
        at += 1
