"""Points in time, in every accepted form."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerolog.transport.config.times import format_time, parse_time_ns
from aerolog.transport.config.values import INT64_MAX, INT64_MIN
from aerolog.transport.errors import ConfigurationError

TEN = 1_795_168_800_000_000_000  # 2026-11-20T10:00:00Z


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2026-11-20T10:00:00Z", TEN),
        ("2026-11-20T10:00Z", TEN),
        ("2026-11-20 10:00Z", TEN),
        ("2026-11-20T11:00:00+01:00", TEN),
        ("2026-11-20T10:00:00.5Z", TEN + 500_000_000),
        ("2026-11-20T10:00:00,000000001Z", TEN + 1),
        ("2026-11-20T10:00:00.123456789+00:00", TEN + 123_456_789),
        ("20261120T100000Z", TEN),
        ("1795168800", TEN),
        ("1795168800s", TEN),
        ("1795168800.25", TEN + 250_000_000),
        ("1795168800000", TEN),
        ("1795168800000ms", TEN),
        ("1795168800000000", TEN),
        ("1795168800000000us", TEN),
        ("1795168800000000000", TEN),
        ("1795168800000000000ns", TEN),
        ("5", 5_000_000_000),
        ("0", 0),
        ("-1", -1_000_000_000),
        ("-1.5", -1_500_000_000),
        ("100000000s", 10**17),
        ("1969-12-31T23:59:59.5Z", -500_000_000),
        (" 0 ", 0),
    ],
)
def test_times(text: str, value: int) -> None:
    assert parse_time_ns("--from", text, zone=UTC) == value


def test_a_time_without_a_zone_is_in_the_one_given() -> None:
    zone = timezone(timedelta(hours=2))

    assert parse_time_ns("t", "2026-11-20T12:00", zone=zone) == TEN
    assert parse_time_ns("t", "2026-11-20T10:00", zone=UTC) == TEN


def test_a_time_without_a_zone_is_otherwise_local() -> None:
    local = datetime(2026, 11, 20, 10).astimezone()

    assert parse_time_ns("t", "2026-11-20T10:00") == int(local.timestamp()) * 10**9


def test_a_date_is_its_midnight() -> None:
    assert parse_time_ns("t", "2026-11-20", zone=UTC) == TEN - 10 * 3600 * 10**9


@pytest.mark.parametrize(
    "text",
    ["", "now5m", "now-", "m", "5x", "1h-5m", "today 25:00", "todays", "2026-13-01",
     "2026-11-20T25:00Z", "1.2.3", "0x10", "9" * 30, "99999999999999999w", "2026-12-31T23:59:60Z",
     "9999-12-31T23:59:59Z", "0001-01-01T00:00Z", "2026-11-20T10:00:00.1234567891Z"],
)  # fmt: skip
def test_what_is_no_time_is_refused_by_name(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^--from: "):
        parse_time_ns("--from", text, zone=UTC)


SECOND = 10**9
HOUR = 3600 * SECOND


@pytest.mark.parametrize(
    ("text", "difference"),
    [
        ("now", 0),
        ("5m", -300 * SECOND),
        ("-5m", -300 * SECOND),
        ("- 5m", -300 * SECOND),
        ("now-5m", -300 * SECOND),
        ("NOW - 5m", -300 * SECOND),
        ("+5m", 300 * SECOND),
        ("now+1s", SECOND),
        ("1h30m", -5400 * SECOND),
        ("1.5h", -5400 * SECOND),
        ("30s", -30 * SECOND),
        ("-1.5s", -1_500_000_000),
        ("5ns", -5),
        ("250ms", -250_000_000),
        ("2d", -48 * HOUR),
        ("1w", -168 * HOUR),
        ("today", -10 * HOUR),
        ("yesterday", -34 * HOUR),
        ("Tomorrow", 14 * HOUR),
        ("yesterday 09:30", -24 * HOUR - HOUR // 2),
        ("yesterdayT09:30", -24 * HOUR - HOUR // 2),
        ("today 10:00:00.5", SECOND // 2),
        ("today 10:00+01:00", -HOUR),
        ("09:00", -HOUR),
        ("T11:00", HOUR),
    ],
)
def test_times_relative_to_now(text: str, difference: int) -> None:
    assert parse_time_ns("--from", text, zone=UTC, now_ns=TEN) == TEN + difference


def test_without_a_now_it_is_the_clocks() -> None:
    before = time.time_ns()
    found = parse_time_ns("t", "now")
    assert before <= found <= time.time_ns()


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Clocks go forward on 2026-03-29 and back on 2026-10-25."""
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("berlin")
class TestClocksThatAreTurned:
    def test_a_time_that_was_left_out_is_refused_with_both_that_may_be_meant(self) -> None:
        with pytest.raises(ConfigurationError, match=r"not there.*turned forward") as refused:
            parse_time_ns("--from", "2026-03-29T02:30")

        assert "2026-03-29T03:30:00+02:00" in str(refused.value)
        assert "2026-03-29T01:30:00+01:00" in str(refused.value)

    def test_a_time_that_was_there_twice_is_refused_with_both(self) -> None:
        with pytest.raises(ConfigurationError, match=r"there twice.*turned back") as refused:
            parse_time_ns("--from", "2026-10-25T02:30:00.5")

        assert "2026-10-25T02:30:00+02:00 or 2026-10-25T02:30:00+01:00" in str(refused.value)

    def test_with_an_offset_or_beside_the_turn_it_is_a_time(self) -> None:
        for text, utc in (
            ("2026-10-25T02:30+01:00", "2026-10-25T01:30Z"),
            ("2026-10-25T02:30+02:00", "2026-10-25T00:30Z"),
            ("2026-10-25T03:00", "2026-10-25T02:00Z"),
            ("2026-10-25T01:59:59", "2026-10-24T23:59:59Z"),
            ("2026-03-29T01:59:59", "2026-03-29T00:59:59Z"),
            ("2026-03-29T03:00", "2026-03-29T01:00Z"),
            ("2026-03-29", "2026-03-28T23:00Z"),
        ):
            assert parse_time_ns("t", text) == parse_time_ns("t", utc), text

    def test_yesterday_is_as_long_as_it_was(self) -> None:
        noon = parse_time_ns("t", "2026-03-30T12:00")

        assert (
            parse_time_ns("t", "today", now_ns=noon) - parse_time_ns("t", "yesterday", now_ns=noon)
            == 23 * HOUR
        )


def test_a_date_without_a_midnight_begins_with_its_first_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TZ", "XST3XDT,M10.3.0/0,M2.3.0/0")  # forward at midnight
    time.tzset()
    try:
        assert parse_time_ns("t", "2026-10-18") == parse_time_ns("t", "2026-10-18T03:00Z")
    finally:
        monkeypatch.undo()
        time.tzset()


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        value = parse_time_ns("t", text, zone=UTC)
    except ConfigurationError:
        return
    assert INT64_MIN <= value <= INT64_MAX


@given(st.integers(-(10**18), 4 * 10**18))
def test_a_written_time_reads_back(value: int) -> None:
    assert parse_time_ns("t", format_time(value)) == value
