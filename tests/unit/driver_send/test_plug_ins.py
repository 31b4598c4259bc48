"""Flow control of another package in a driver: it decides, and what it raises is written down."""

import sys
from importlib.metadata import EntryPoint, EntryPoints

import pytest

from aerolog.transport.counters.counter_types import CounterType as T
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.driver.flow_control import flow_control_supplier
from aerolog.transport.driver.flow_control.flow_control import PythonFlowControl

MS = 1_000_000
HERE = "aerolog_test_flow_control"


class Careful(PythonFlowControl):
    """Lets a kilobyte go at a time."""

    def status_message(self, receiver_id, position, window, limit, *_):
        self.receivers = 1
        return max(limit, position + min(window, 1024))


class Broken(PythonFlowControl):
    def status_message(self, *_):
        raise LookupError("no plan")


@pytest.fixture(autouse=True)
def plug_ins(monkeypatch):
    entries = EntryPoints(
        EntryPoint(name, f"{HERE}:{name}", flow_control_supplier.ENTRY_POINT_GROUP)
        for name in ("careful", "broken")
    )
    monkeypatch.setitem(sys.modules, HERE, sys.modules[__name__])
    monkeypatch.setattr(flow_control_supplier, "entry_points", lambda *, group: entries)
    flow_control_supplier._plug_ins.cache_clear()
    yield
    flow_control_supplier._plug_ins.cache_clear()


def careful(_, term_length):
    return Careful(term_length)


def broken(_, term_length):
    return Broken(term_length)


CHANNEL = "aeron:udp?endpoint=224.20.30.39:4000|interface=localhost"


def test_a_strategy_decides_how_far_the_sender_goes(bench):
    listener = bench.listener(("224.20.30.39", 4000))
    ready = bench.publication(f"{CHANNEL}|fc=careful")
    bench.pass_time(200 * MS)
    setup = listener.setup()
    listener.status(setup, to=("224.20.30.40", 4000))
    bench.turn()

    assert bench.position_of(ready, T.SENDER_LIMIT) == 1024


def test_what_a_strategy_raises_is_in_the_error_log(bench):
    listener = bench.listener(("224.20.30.39", 4000))
    bench.publication(f"{CHANNEL}|fc=broken")
    bench.pass_time(200 * MS)
    listener.status(listener.setup(), to=("224.20.30.40", 4000))
    bench.pass_time(200 * MS)

    assert bench.value(SystemCounter.ERRORS) == 1
    assert "LookupError: no plan" in bench.errors()[0]
