"""The strategies in the documentation work as they stand there."""

import re
from pathlib import Path

import pytest

from aerolog.transport.config.sources import Properties
from aerolog.transport.driver.congestion_control.congestion_control_supplier import ImageConditions
from aerolog.transport.driver.flow_control.flow_control import FlowControl
from aerolog.transport.driver.flow_control.flow_control_supplier import flow_control_params
from aerolog.transport.driver.properties import driver_settings

PAGE = Path(__file__).resolve().parents[3] / "docs" / "transport" / "own-strategies.md"
MTU = 1408


@pytest.fixture(scope="module")
def names():
    """What the programs of the page define."""
    programs = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(programs) == 2
    found = {}
    for program in programs:
        exec(compile(program, str(PAGE), "exec"), found)
    return found


def test_the_documented_flow_control_limits_what_receivers_get(names):
    params = flow_control_params("max,rrwm:3", driver_settings(Properties()), is_group=True)
    flow = names["Paced"](params, 64 * 1024)
    assert FlowControl.status_message(flow, 1, 32, 1 << 20, 0, 0) == 32 + 64 * 1024
    assert FlowControl.idle(flow, 100, 0) == 100
    assert flow.retransmit_window_multiple == 3
    assert flow.take_error() is None


def test_the_documented_congestion_control_grows_and_halves(names):
    image = ImageConditions(receiver_window=64 * MTU, term_length=1 << 20, mtu=MTU, now_ns=0)
    control = names["halving"](image)
    assert (control.initial_window, control.max_window) == (10 * MTU, 64 * MTU)

    assert control.rebuilt(1, rebuild_end=MTU) == (10 * MTU, False)
    assert control.rebuilt(2, rebuild_end=2 * MTU) == (11 * MTU, False)
    assert control.rebuilt(3, loss_found=True, rebuild_end=2 * MTU) == (11 * MTU // 2, True)
    for step in range(4, 400):
        window, force = control.rebuilt(step, rebuild_end=step * 64 * MTU)
        assert not force
    assert window == 64 * MTU
    for _ in range(20):
        window, _ = control.rebuilt(1000, loss_found=True)
    assert window == MTU
    assert control.error is None
