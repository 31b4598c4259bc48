"""One rule for times: shown with an offset, and what one command prints another takes."""

import re
import time
from collections.abc import Callable, Iterator

import pytest

from aerolog.tools.explain import number_notes
from aerolog.tools.top import number_text
from aerolog.transport.config.times import format_time, parse_time_ns
from aerolog.transport.memory import error_text

MS = 1_000_000
AT_MS = 1_792_973_107_000  # in the hour that New York has twice: 2026-10-25 and on
OFFSET = re.compile(r"(Z|[+-]\d\d:?\d\d)$")


@pytest.fixture(params=["UTC", "America/New_York", "Asia/Kolkata", "Europe/Berlin"])
def zone(request, monkeypatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("zone")
@pytest.mark.parametrize(
    "show",
    [
        error_text.format_time,
        number_notes.time_ms,
        number_text.date_time,
        lambda ms: number_notes.time_ns(ms * MS),
        lambda ms: format_time(ms * MS),
    ],
)
@pytest.mark.parametrize("hours", range(0, 24 * 365, 24 * 61 + 1))
def test_what_is_shown_has_an_offset_and_is_taken(show: Callable[[int], str], hours: int) -> None:
    at_ms = AT_MS + hours * 3_600_000

    shown = show(at_ms)

    assert OFFSET.search(shown)
    assert parse_time_ns("--from", shown) == at_ms * MS


@pytest.mark.usefixtures("zone")
def test_a_time_of_day_has_an_offset_and_is_taken_as_todays() -> None:
    now_ms = AT_MS + 5 * 3_600_000

    shown = number_text.clock_time(AT_MS)

    assert OFFSET.search(shown)
    assert parse_time_ns("--from", shown, now_ns=now_ms * MS) % (86_400_000 * MS) == (
        AT_MS * MS % (86_400_000 * MS)
    )
