"""Which events the properties switch on, as the reference's agent reads them."""

import pytest

from aerolog.archive.service.event_lines import ArchiveEventCode
from aerolog.transport.events.event_codes import (
    DRIVER_GROUPS,
    DriverEventCode,
    chosen_events,
    full_code,
    parse_events,
    split_code,
)

E = DriverEventCode
FRAMES = {E.FRAME_IN, E.FRAME_OUT}
EVERYTHING = frozenset(E)


def parsed(text):
    unknown = []
    return parse_events(text, E, unknown.append, DRIVER_GROUPS), unknown


@pytest.mark.parametrize(
    ("text", "events"),
    [
        (None, frozenset()),
        ("", frozenset()),
        ("all", EVERYTHING),
        ("admin", EVERYTHING - FRAMES),
        ("FRAME_IN", {E.FRAME_IN}),
        ("5", {E.CMD_IN_ADD_SUBSCRIPTION}),
        ("FRAME_IN,2,RESEND", {E.FRAME_IN, E.FRAME_OUT, E.RESEND}),
        ("admin,FRAME_IN,1", EVERYTHING - {E.FRAME_OUT}),
        ("FRAME_IN,all", EVERYTHING),
        ("0005", {E.CMD_IN_ADD_SUBSCRIPTION}),
    ],
)
def test_names_numbers_and_groups_are_read(text, events):
    assert parsed(text) == (events, [])


@pytest.mark.parametrize(
    "entry",
    ["bogus", "frame_in", "ADMIN", "99", "0x7", " FRAME_OUT", "", "9" * 30, "9" * 5000, "²"],
)
def test_what_is_no_event_is_told_of_and_passed_over(entry):
    events, unknown = parsed(f"FRAME_IN,{entry}")

    assert events == {E.FRAME_IN}
    assert unknown == [entry]


@pytest.mark.parametrize(
    ("enabled", "disabled", "events"),
    [
        ("all", "admin", FRAMES),
        ("FRAME_IN", "FRAME_IN", frozenset()),
        (None, "FRAME_IN", frozenset()),
        ("admin", "CMD_IN_ADD_PUBLICATION", EVERYTHING - FRAMES - {E.CMD_IN_ADD_PUBLICATION}),
    ],
)
def test_what_is_disabled_is_taken_back(enabled, disabled, events):
    assert chosen_events(enabled, disabled, E, pytest.fail, DRIVER_GROUPS) == events


def test_an_archive_has_no_groups_but_all():
    unknown = []

    assert parse_events("admin,40", ArchiveEventCode, unknown.append) == {
        ArchiveEventCode.RECORDING_SIGNAL
    }
    assert unknown == ["admin"]
    assert parse_events("all", ArchiveEventCode, pytest.fail) == frozenset(ArchiveEventCode)


@pytest.mark.parametrize("component", [0, 1])
def test_a_code_says_component_and_event(component):
    code = full_code(component, 45)

    assert code > 0
    assert split_code(code) == (component, 45)
