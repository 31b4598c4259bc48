"""Points in time, in every accepted form."""

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
        ("5ns", 5),
        ("0", 0),
        ("-1s", -1_000_000_000),
        ("-1.5s", -1_500_000_000),
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
    ["", "now", "10:00", "2026-13-01", "2026-11-20T25:00Z", "1.2.3", "5m", "0x10", "9" * 30,
     "9999-12-31T23:59:59Z", "0001-01-01T00:00Z", "2026-11-20T10:00:00.1234567891Z"],
)  # fmt: skip
def test_what_is_no_time_is_refused_by_name(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^--from: "):
        parse_time_ns("--from", text, zone=UTC)


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
