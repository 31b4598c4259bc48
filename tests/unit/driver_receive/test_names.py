"""Control addresses by name: looked up again when their source is silent."""

import pytest

from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.network.resolvers import (
    FAIL_RESOLUTION,
    USE_RE_RESOLUTION_HOST,
)
from aerolog.transport.protocol.commands import AddSubscription

S = 1_000_000_000
TO = ("10.0.0.1", 24330)


@pytest.fixture
def bench(start):
    return start(
        name_resolver_supplier="csv_table",
        name_resolver_init_args="source,10.0.0.2,10.0.0.3",
    )


@pytest.fixture
def sources(bench):
    """Ports at both addresses that the name stands for, one after the other."""
    moved = bench.network.host("10.0.0.3")
    old = bench.source(TO, local=("10.0.0.2", 24331))
    new = type(old)(moved.open_send_port(TO, ("10.0.0.3", 24331)))
    return old, new


def switch(bench, to):
    (entry,) = bench.counters(CounterType.NAME_ENTRY)
    bench.cnc.counters.set_value(entry.counter_id, to)


def test_a_silent_source_that_has_moved_is_found_again(bench, sources):
    old, new = sources
    bench.subscription("aeron:udp?endpoint=10.0.0.1:24330|control=source:24331")
    assert len(old.heard()) == 1
    switch(bench, USE_RE_RESOLUTION_HOST)
    bench.pass_time(8 * S)
    old.heard()
    assert new.heard() != []
    bench.pass_time(3 * S)
    assert old.heard() == []
    assert len(new.heard()) >= 2
    assert bench.value(SystemCounter.RESOLUTION_CHANGES) == 1


def test_a_tag_is_found_by_the_name_that_was_asked_for_and_by_its_present_address(bench, sources):
    """As the C driver, and by the name also before it is looked up again."""
    source, there, gone = "source:24331", "10.0.0.3:24331", "10.0.0.2:24331"

    def channel(control):
        return f"aeron:udp?tags=5|endpoint=10.0.0.1:24330|control={control}"

    def is_refused(control):
        code, text = bench.refused(lambda i, n: AddSubscription(i, n, 8, channel(control)))
        return code == 11 and "tag=5 has mismatched endpoint or control" in text

    first = bench.subscription(channel(source))
    switch(bench, USE_RE_RESOLUTION_HOST)
    found = [bench.subscription(channel(source)), bench.subscription(channel(gone))]
    assert is_refused(there)
    bench.pass_time(8 * S)
    assert bench.value(SystemCounter.RESOLUTION_CHANGES) == 1
    found += [bench.subscription(channel(source)), bench.subscription(channel(there))]
    assert is_refused(gone)
    assert {one.channel_status_id for one in found} == {first.channel_status_id}


def test_a_destination_that_has_moved_is_found_again(bench, sources):
    old, new = sources
    ready = bench.subscription("aeron:udp?control-mode=manual")
    bench.destination(ready, "aeron:udp?endpoint=10.0.0.1:24330|control=source:24331")
    switch(bench, USE_RE_RESOLUTION_HOST)
    bench.pass_time(8 * S)
    assert new.heard() != []
    assert old.heard() != []


def test_a_name_that_is_unknown_now_leaves_the_address(bench, sources):
    old, _ = sources
    bench.subscription("aeron:udp?endpoint=10.0.0.1:24330|control=source:24331")
    switch(bench, FAIL_RESOLUTION)
    bench.pass_time(8 * S)
    old.heard()
    bench.pass_time(3 * S)
    assert old.heard() != []
    assert any("could not re-resolve: control=source:24331" in text for text in bench.errors())


def test_a_source_that_talks_is_not_looked_up(bench, sources):
    old, new = sources
    bench.subscription("aeron:udp?endpoint=10.0.0.1:24330|control=source:24331")
    switch(bench, USE_RE_RESOLUTION_HOST)
    for _ in range(8):
        old.heartbeat(0)
        bench.pass_time(S)
    assert new.heard() == []
