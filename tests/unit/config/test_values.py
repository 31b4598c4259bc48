"""Sizes, durations and numbers as the reference reads them.

Spec configuration 2, spec channel-uri 5.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerolog.transport.config.values import (
    INT64_MAX,
    duration_to_ns,
    format_duration,
    format_size,
    parse_bool,
    parse_duration_ns,
    parse_int32,
    parse_int64,
    parse_long_duration_ns,
    parse_port_range,
    parse_size,
    size_to_int,
    whole_number,
)
from aerolog.transport.errors import ConfigurationError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("1408", 1408),
        ("007", 7),
        ("64k", 65536),
        ("64K", 65536),
        ("2m", 2 << 20),
        ("1G", 1 << 30),
        ("9223372036854775807", INT64_MAX),
    ],
)
def test_sizes(text: str, value: int) -> None:
    assert parse_size("p", text) == value


# Texts captured from the reference for the same values.
@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("", "NumberFormatException", "p must be non-empty: "),
        ("-1", "NumberFormatException", "p must be positive: -1"),
        ("-k", "NumberFormatException", "p must be positive: -k"),
        ("64q", "NumberFormatException", "p: 64q should end with: k, m, or g."),
        ("1kb", "AsciiNumberFormatException", "error parsing long: 1k"),
        ("k", "AsciiNumberFormatException", "empty string: index=0 length=0"),
        ("1.5k", "AsciiNumberFormatException", "error parsing long: 1.5"),
        (" 1k", "AsciiNumberFormatException", "error parsing long:  1"),
        ("+5", "AsciiNumberFormatException", "error parsing long: +5"),
        ("0x10", "AsciiNumberFormatException", "error parsing long: 0x10"),
        ("9" * 20, "AsciiNumberFormatException", "long overflow parsing: " + "9" * 20),
        ("9999999999999g", "NumberFormatException", "p would overflow a long: 9999999999999g"),
    ],
)
def test_wrong_sizes_have_the_references_text(text: str, kind: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        parse_size("p", text)

    assert refused.value.reference_type.rpartition(".")[2] == kind
    assert refused.value.reference_message == message
    assert "p" in str(refused.value)
    assert text in str(refused.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("3ns", 3),
        ("7us", 7_000),
        ("5Ms", 5_000_000),
        ("5S", 5_000_000_000),
        ("9223372036854775807s", INT64_MAX),
    ],
)
def test_durations(text: str, value: int) -> None:
    assert parse_duration_ns("p", text) == value


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("", "NumberFormatException", "p must be non-empty: "),
        ("-5us", "NumberFormatException", "p must be positive: -5us"),
        ("10m", "NumberFormatException", "p: 10m should end with: s, ms, us, or ns."),
        ("10u", "NumberFormatException", "p: 10u should end with: s, ms, us, or ns."),
        ("12n", "NumberFormatException", "p: 12n should end with: s, ms, us, or ns."),
        ("s", "NumberFormatException", "p: s should end with: s, ms, us, or ns."),
        ("ms", "NumberFormatException", "p: ms should end with: s, ms, us, or ns."),
        ("nns", "AsciiNumberFormatException", "error parsing long: n"),
        ("1.5s", "AsciiNumberFormatException", "error parsing long: 1.5"),
        ("+5s", "AsciiNumberFormatException", "error parsing long: +5"),
        ("9223372036854775808", "AsciiNumberFormatException",
         "long overflow parsing: 9223372036854775808"),
    ],
)  # fmt: skip
def test_wrong_durations_have_the_references_text(text: str, kind: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        parse_duration_ns("p", text)

    assert refused.value.reference_type.rpartition(".")[2] == kind
    assert refused.value.reference_message == message


@given(st.integers(0, INT64_MAX))
def test_a_written_size_reads_back(value: int) -> None:
    assert parse_size("p", format_size(value)) == value


@given(st.integers(0, INT64_MAX))
def test_a_written_duration_reads_back(value: int) -> None:
    assert parse_duration_ns("p", format_duration(value)) == value


@given(st.text(max_size=24))
@pytest.mark.parametrize("parse", [parse_size, parse_duration_ns, parse_long_duration_ns])
def test_any_text_is_a_64_bit_amount_or_refused(
    parse: Callable[[str, str], int], text: str
) -> None:
    try:
        value = parse("p", text)
    except ConfigurationError:
        return
    assert 0 <= value <= INT64_MAX


@given(st.text(max_size=24))
def test_any_text_is_an_integer_or_refused(text: str) -> None:
    try:
        value = parse_int64("p", text)
    except ConfigurationError:
        return
    assert value == int(text)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (1023, "1023"), (1024, "1k"), (1408, "1408"), (65536, "64k"), (3 << 30, "3g")],
)
def test_sizes_are_written_in_the_largest_exact_unit(value: int, text: str) -> None:
    assert format_size(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0ns"),
        (999, "999ns"),
        (1000, "1us"),
        (1500, "1500ns"),
        (10**7, "10ms"),
        (5 * 10**9, "5s"),
    ],
)
def test_durations_are_written_in_the_largest_exact_unit(value: int, text: str) -> None:
    assert format_duration(value) == text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("90", 90 * 10**9),
        ("90s", 90 * 10**9),
        ("1.5", 1_500_000_000),
        ("0.25s", 250_000_000),
        ("500ms", 500_000_000),
        ("3us", 3_000),
        ("7ns", 7),
        ("2m", 120 * 10**9),
        ("2min", 120 * 10**9),
        ("1.5h", 5400 * 10**9),
        ("7d", 7 * 86400 * 10**9),
    ],
)
def test_durations_as_operators_type_them(text: str, value: int) -> None:
    assert parse_long_duration_ns("p", text) == value


@pytest.mark.parametrize("text", ["", "-5s", "5 s", "5x", "1e3s", "h", ".5s", "999999999d"])
def test_wrong_durations_of_operators(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^p: "):
        parse_long_duration_ns("p", text)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (5, 5 * 10**9),
        (0.5, 500_000_000),
        (timedelta(minutes=1, microseconds=3), 60_000_003_000),
        ("5ms", 5_000_000),
        (0, 0),
    ],
)
def test_durations_from_python(value: Any, expected: int) -> None:
    assert duration_to_ns("p", value) == expected


@pytest.mark.parametrize(
    "value", [-1, -0.5, float("nan"), float("inf"), 1e18, True, None, [1], timedelta(seconds=-1)]
)
def test_wrong_durations_from_python(value: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"^p"):
        duration_to_ns("p", value)


@pytest.mark.parametrize("value", [-1, 1.5, True, None, 1 << 63])
def test_wrong_sizes_from_python(value: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"^p"):
        size_to_int("p", value)


def test_integers_have_a_sign_and_digits_and_fit() -> None:
    assert parse_int32("p", "+7") == 7
    assert parse_int32("p", "-2147483648") == -(1 << 31)
    assert parse_int64("p", "9223372036854775807") == INT64_MAX
    assert parse_int32("p", "0" * 500 + "1") == 1


@pytest.mark.parametrize(
    "text", ["", "x", "2147483648", "64k", " 1", "1_0", "0x1", "٣", "1" * 5000]
)
def test_wrong_integers_have_the_references_text(text: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        parse_int32("p", text)

    assert refused.value.reference_type == "java.lang.NumberFormatException"
    assert refused.value.reference_message == f'For input string: "{text}"'


def test_only_true_is_true() -> None:
    assert parse_bool("true")
    assert not any(map(parse_bool, ["TRUE", "True", "1", "yes", "", "false"]))


@pytest.mark.parametrize(
    ("text", "value"), [("", None), ("0 0", (0, 0)), ("1024  65535", (1024, 65535))]
)
def test_port_ranges(text: str, value: tuple[int, int] | None) -> None:
    assert parse_port_range("p", text) == value


@pytest.mark.parametrize("text", ["1", "2 1", "1 65536", "1-2", "-1 2", "a b", "1 2 3"])
def test_wrong_port_ranges(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^p: "):
        parse_port_range("p", text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0), ("000", 0), ("0" * 5000 + "7", 7), ("65535", 65535), ("65536", None), ("", None),
        ("-1", None), ("+1", None), ("1_0", None), (" 1", None), ("\u0663", None), ("\u00b2", None),
        ("9" * 5000, None),
    ],
)  # fmt: skip
def test_a_whole_number_is_digits_up_to_a_bound(text: str, value: int | None) -> None:
    assert whole_number(text, 65_535) == value
