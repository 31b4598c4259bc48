"""Findings as data: their texts, their order, their JSON."""

from __future__ import annotations

import json

import pytest

from aerolog.tools.doctor import figure_text
from aerolog.tools.doctor.findings import Area, FindingKind, Severity, fill, ranked, worst

FULL = FindingKind(
    Area.DISK, "full", Severity.CRITICAL, "{free!b} left", "{rate!v} came", "wait {n}"
)
SLOW = FindingKind(Area.CYCLES, "slow", Severity.WARNING, "{took!t}", "why", "what")
LOST = FindingKind(Area.LOSS, "lost", Severity.WARNING, "{count!n} lost", "why", "what")


def test_the_worst_comes_first_then_the_area_then_the_subject():
    found = [
        SLOW.found("a", took=1),
        LOST.found("z", count=1),
        LOST.found("b", count=1),
        LOST.found("c", Severity.NOTICE, count=1),
        FULL.found("d", free=1, rate=1, n=1),
    ]
    assert [(one.code, one.subject) for one in ranked(found)] == [
        ("full", "d"),
        ("lost", "b"),
        ("lost", "z"),
        ("slow", "a"),
        ("lost", "c"),
    ]
    assert worst(found) is Severity.CRITICAL
    assert worst([]) is None


def test_texts_have_their_figures_in_words_and_json_has_them_as_numbers():
    finding = FULL.found("disk /data", free=1536 << 10, rate=2_000_000.0, n=3)
    assert (finding.what, finding.reason, finding.remedy) == (
        "1.5 MiB left",
        "1.9 MiB/s came",
        "wait 3",
    )
    shown = json.loads(json.dumps(finding.as_json()))
    assert shown["figures"] == {"free": 1_572_864, "rate": 2_000_000.0, "n": 3}
    assert (shown["severity"], shown["code"], shown["area"]) == ("critical", "full", "disk")


def test_figures_from_outside_are_not_taken_for_places():
    kind = FindingKind(Area.ERRORS, "odd", Severity.NOTICE, "said {text}", "-", "-")
    assert kind.found("x", text="{free!b} {0}").what == "said {free!b} {0}"


@pytest.mark.parametrize(
    ("template", "value", "text"),
    [
        ("{x!b}", 0, "0 bytes"),
        ("{x!b}", 1023, "1023 bytes"),
        ("{x!b}", 65_536, "64 KiB"),
        ("{x!b}", 3 << 30, "3 GiB"),
        ("{x!t}", 999, "999 ns"),
        ("{x!t}", 1_500, "1.5 us"),
        ("{x!t}", 250_000_000, "250 ms"),
        ("{x!t}", 7_200_000_000_000, "2 h"),
        ("{x!m}", 90_000, "1.5 min"),
        ("{x!n}", 1_234_567, "1,234,567"),
        ("{x!v}", 1 << 20, "1 MiB/s"),
        ("{x}", 5, "5"),
    ],
)
def test_units(template, value, text):
    assert fill(template, {"x": value}) == text


def test_words_of_negative_figures_keep_their_sign():
    assert figure_text.bytes_text(-2048) == "-2 KiB"
    assert figure_text.span_text(-1_500_000) == "-1.5 ms"
