"""A small archive of invented flights, in the form of the flights demo: a JSON object each.

Made without a driver or an archive, so that examples that read recordings have some to read.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from aerolog.testing.recordings import RecordingBuilder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STREAM_ID = 2013
ORIGINS = ("EWR", "JFK", "LGA")
CARRIERS = ("UA", "B6", "DL", "AA")
FLIGHTS = 240  # of each origin


def flights(origin: str) -> Iterator[dict[str, object]]:
    """Flights of a day: later ones are later, and every 20th did not leave."""
    shift = ORIGINS.index(origin)
    for number in range(FLIGHTS):
        hour = 6 + number * 16 // FLIGHTS
        carrier = CARRIERS[(number * 7 + shift) % len(CARRIERS)]
        delay = (hour - 6) * (2 + shift) + CARRIERS.index(carrier) * 5 + number * 13 % 11 - 5
        yield {
            "carrier": carrier,
            "flight": 1000 + number,
            "origin": origin,
            "hour": hour,
            "dep_delay": None if number % 20 == 19 else delay,
        }


def make_archive(folder: Path) -> None:
    """Three recordings of flights, one an origin, and one of another stream.

    The last recording of flights also holds a message that is cut, and one of another schema.
    """
    folder.mkdir(parents=True)
    for session_id, origin in enumerate(ORIGINS, 1):
        builder = RecordingBuilder(stream_id=STREAM_ID, session_id=session_id)
        for flight in flights(origin):
            builder.add(json.dumps(flight).encode())
        if origin == ORIGINS[-1]:
            builder.add(b'{"carrier":"UA","flight":')
            builder.add(b'{"carrier":"UA","flight":"UA1000"}')
        builder.write(folder)
    heartbeats = RecordingBuilder(stream_id=7, session_id=9)
    for number in range(10):
        heartbeats.add(b"%d" % number)
    heartbeats.write(folder)
