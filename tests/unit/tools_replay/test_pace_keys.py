"""What keys do to a pace."""

from __future__ import annotations

import pytest

from aerolog.archive.client.replay.paced_replay import paced
from aerolog.archive.client.replay.pacer import SPEED_MAX, SPEED_MIN
from aerolog.tools.replay.pace_keys import PaceKeys


@pytest.mark.parametrize(
    ("keys", "speed"),
    [
        ("+", 2.0),
        ("-", 0.5),
        ("++-", 2.0),
        ("m", None),
        ("m+", None),
        ("+m-", 2.0),
        ("++1", 1.0),
        ("xyz", 1.0),
        ("+" * 40, SPEED_MAX),
        ("-" * 40, SPEED_MIN),
    ],
)
def test_speed(keys: str, speed: float | None) -> None:
    control = paced([], 1.0)
    press = PaceKeys(control, print)
    for key in keys:
        press(key)

    assert control.speed == speed


def test_space_pauses_and_goes_on() -> None:
    control = paced([], 1.0)
    told: list[str] = []
    press = PaceKeys(control, told.append)
    press(" ")
    assert control.paused
    press(" ")
    assert not control.paused
    assert told == ["paused: space goes on", "goes on at 1x"]


def test_q_ends_the_replay_and_a_question_mark_explains() -> None:
    control = paced([], 1.0)
    told: list[str] = []
    press = PaceKeys(control, told.append)
    press("?")
    assert "space" in told[0]
    assert not control.pacer.stopped
    press("q")
    assert control.pacer.stopped
