"""Flow and congestion control chosen by property, by channel, and by entry point."""

import sys
from importlib import metadata
from importlib.metadata import EntryPoint, EntryPoints

import pytest

from aerolog.transport.config.sources import Properties
from aerolog.transport.driver.congestion_control import congestion_control_supplier
from aerolog.transport.driver.congestion_control.congestion_control import (
    Cubic,
    PythonCongestionControl,
    StaticWindow,
)
from aerolog.transport.driver.congestion_control.congestion_control_supplier import (
    image_congestion_control,
)
from aerolog.transport.driver.flow_control import flow_control_supplier
from aerolog.transport.driver.flow_control.flow_control import (
    MinFlowControl,
    PythonFlowControl,
)
from aerolog.transport.driver.flow_control.flow_control_supplier import create_flow_control
from aerolog.transport.driver.properties import driver_settings
from aerolog.transport.errors import ChannelUriError, ConfigurationError

TERM_LENGTH = 65536
IMAGE = {"receiver_window": 131072, "term_length": TERM_LENGTH, "mtu": 1408, "now_ns": 0}
NAMES = {"aerolog.flow_control": "paced", "aerolog.congestion_control": "reno"}


def paced(params, term_length):
    multiple = params.retransmit_window_multiple
    return PythonFlowControl(term_length, retransmit_window_multiple=multiple)


def reno(image):
    return PythonCongestionControl(image.mtu, image.max_window)


@pytest.fixture
def installed(monkeypatch):
    """Two strategies as another package would declare them."""
    monkeypatch.setitem(sys.modules, "strategies_by_property", sys.modules[__name__])
    declared = EntryPoints(
        EntryPoint(name, f"strategies_by_property:{name}", group) for group, name in NAMES.items()
    )
    for module in (metadata, congestion_control_supplier, flow_control_supplier):
        monkeypatch.setattr(module, "entry_points", declared.select)
    flow_control_supplier._plug_ins.cache_clear()
    yield
    flow_control_supplier._plug_ins.cache_clear()


def given(**options):
    return driver_settings(Properties(), options)


def flow_control(settings, *, is_group, fc=None):
    params = flow_control_supplier.flow_control_params(fc, settings, is_group=is_group)
    return create_flow_control(params, TERM_LENGTH)


def test_cubic_is_chosen_by_the_driver_s_property_and_told_its_numbers():
    cubic = given(
        congestioncontrol_supplier="cubic",
        cubic_congestion_control_initial_rtt_ns=250_000,
        cubic_congestion_control_measure_rtt=True,
    )
    chosen = image_congestion_control(None, cubic, **IMAGE)

    assert isinstance(chosen, Cubic)
    assert chosen.rtt_ns == 250_000
    assert chosen.should_measure_rtt(1_000_000_000)
    assert isinstance(image_congestion_control("static", cubic, **IMAGE), StaticWindow)
    assert isinstance(image_congestion_control(None, given(), **IMAGE), StaticWindow)


def test_cubic_measures_nothing_unless_asked_to():
    chosen = image_congestion_control("cubic", given(), **IMAGE)

    assert not chosen.should_measure_rtt(1_000_000_000)


def grown_window(settings, now_ns):
    """A window after a loss at 1 s and a step without one at `now_ns`."""
    control = image_congestion_control("cubic", settings, **IMAGE)
    control.rebuilt(1_000_000_000, loss_found=True)
    return control.rebuilt(now_ns)[0]


def test_tcp_mode_keeps_cubic_at_least_as_fast_as_standard_tcp():
    friendly = given(cubic_congestion_control_tcp_mode=True)
    now_ns = 1_010_000_000

    assert grown_window(friendly, now_ns) > grown_window(given(), now_ns)


def test_the_class_names_of_the_reference_choose_too():
    properties = Properties()
    properties.set(
        "aeron.CongestionControl.supplier", "io.aeron.driver.ext.CubicCongestionControlSupplier", ""
    )
    properties.set(
        "aeron.multicast.FlowControl.supplier",
        "io.aeron.driver.MinMulticastFlowControlSupplier",
        "",
    )
    settings = driver_settings(properties)

    assert isinstance(image_congestion_control(None, settings, **IMAGE), Cubic)
    assert isinstance(flow_control(settings, is_group=True), MinFlowControl)


def test_an_unknown_congestion_control_is_refused_for_the_image():
    with pytest.raises(ChannelUriError, match="unsupported congestion control : cc=reno"):
        image_congestion_control("reno", given(), **IMAGE)


@pytest.mark.usefixtures("installed")
def test_an_installed_strategy_is_chosen_by_property():
    settings = given(
        congestioncontrol_supplier="reno",
        unicast_flowcontrol_supplier="paced",
        multicast_flowcontrol_supplier="paced",
    )

    assert isinstance(image_congestion_control(None, settings, **IMAGE), PythonCongestionControl)
    for is_group in (False, True):
        assert isinstance(flow_control(settings, is_group=is_group), PythonFlowControl)
    assert isinstance(flow_control(settings, is_group=True, fc="min"), MinFlowControl)


@pytest.mark.usefixtures("installed")
def test_a_name_that_is_installed_in_another_group_is_not_known():
    with pytest.raises(ConfigurationError, match=r"entry point group aerolog\.flow_control"):
        given(multicast_flowcontrol_supplier="reno")


def test_a_name_that_nobody_installed_is_refused_when_the_driver_is_configured():
    assert not metadata.entry_points(group="aerolog.congestion_control", name="reno")
    with pytest.raises(ConfigurationError, match="'reno' is not built in"):
        given(congestioncontrol_supplier="reno")
