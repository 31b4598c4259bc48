"""Which congestion control an image gets."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint, EntryPoints

import pytest

from aerolog.transport.driver.congestion_control import congestion_control_supplier
from aerolog.transport.driver.congestion_control.congestion_control import (
    Cubic,
    PythonCongestionControl,
    StaticWindow,
)
from aerolog.transport.driver.congestion_control.congestion_control_supplier import (
    ENTRY_POINT_GROUP,
    ImageConditions,
    congestion_control,
)
from aerolog.transport.errors import ChannelUriError, ConfigurationError

IMAGE = ImageConditions(receiver_window=131072, term_length=65536, mtu=1408, now_ns=0)


def reno(image: ImageConditions) -> PythonCongestionControl:
    return PythonCongestionControl(image.mtu, image.max_window)


def broken(image: ImageConditions) -> PythonCongestionControl:
    raise RuntimeError(f"no window of {image.mtu}")


def wrong(image: ImageConditions) -> int:
    return image.mtu


@pytest.fixture
def installed(monkeypatch):
    """Entry points as another package would declare them."""
    monkeypatch.setitem(sys.modules, "strategies_of_a_test", sys.modules[__name__])

    def found(*, group: str, name: str) -> EntryPoints:
        names = {"reno": "reno", "broken": "broken", "wrong": "wrong", "cubic": "reno", "gone": "x"}
        return EntryPoints(
            EntryPoint(each, f"strategies_of_a_test:{target}", ENTRY_POINT_GROUP)
            for each, target in names.items()
        ).select(group=group, name=name)

    monkeypatch.setattr(congestion_control_supplier, "entry_points", found)


def test_static_is_the_default():
    for name in (None, "static"):
        control = congestion_control(name, IMAGE)
        assert isinstance(control, StaticWindow)
        assert control.initial_window == 32768


def test_the_driver_s_choice_holds_where_the_channel_has_none():
    assert isinstance(congestion_control(None, IMAGE, "cubic"), Cubic)
    assert isinstance(congestion_control("static", IMAGE, "cubic"), StaticWindow)


def test_cubic_gets_the_image_s_numbers():
    control = congestion_control("cubic", IMAGE)
    assert isinstance(control, Cubic)
    assert (control.initial_window, control.max_window, control.rtt_ns) == (14080, 32768, 100_000)


@pytest.mark.parametrize("name", ["reno", "", "Static", "CUBIC"])
def test_an_unknown_name_is_refused_in_the_reference_s_words(name):
    with pytest.raises(ChannelUriError) as refused:
        congestion_control(name, IMAGE)
    assert refused.value.reference_message == f"unsupported congestion control : cc={name}"
    assert refused.value.reference_type == "java.lang.IllegalArgumentException"


@pytest.mark.usefixtures("installed")
def test_another_package_adds_a_strategy_by_its_name():
    control = congestion_control("reno", IMAGE)
    assert isinstance(control, PythonCongestionControl)
    assert (control.initial_window, control.max_window) == (1408, 32768)


@pytest.mark.usefixtures("installed")
def test_a_built_in_name_is_not_replaced():
    assert isinstance(congestion_control("cubic", IMAGE), Cubic)


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("name", "text"),
    [("broken", "no window of 1408"), ("wrong", "made a int"), ("gone", "failed")],
)
def test_a_strategy_that_cannot_be_made_is_named(name, text):
    with pytest.raises(ConfigurationError, match=text) as refused:
        congestion_control(name, IMAGE)
    assert repr(name) in str(refused.value)
