"""The strategy in the reference page works as it stands there."""

import re
from pathlib import Path

from aerolog.transport.driver.network.flow_control import FlowControl
from aerolog.transport.driver.network.flow_control_params import flow_control_params

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "flow-control.md"


def test_the_documented_strategy_limits_what_receivers_get(settings):
    [program] = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(program, str(PAGE), "exec"), names)
    params = flow_control_params("max,rrwm:3", settings(), is_group=True)
    flow = names["Paced"](params, 64 * 1024)
    assert FlowControl.status_message(flow, 1, 32, 1 << 20, 0, 0) == 32 + 64 * 1024
    assert FlowControl.idle(flow, 100, 0) == 100
    assert flow.retransmit_window_multiple == 3
    assert flow.take_error() is None
