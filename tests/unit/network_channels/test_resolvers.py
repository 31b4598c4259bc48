"""The table of names, and the resolver that takes the time."""

from ipaddress import ip_address

import pytest

from aerolog.transport.network.resolvers import (
    CsvTableResolver,
    DefaultNameResolver,
    TimedNameResolver,
    parse_name_table,
)


def resolve(resolver, host):
    return resolver.resolve(host, "endpoint", is_re_resolution=False)


def test_a_table_is_read_with_the_counters_of_its_rows():
    first, second = parse_name_table("a,10.0.0.1,10.0.0.2|bc,x,y", pytest.fail)

    assert (first.name, first.initial_host, first.re_resolution_host) == (
        "a",
        "10.0.0.1",
        "10.0.0.2",
    )
    assert second.counter_key == b"\x02\0\0\0bc"
    assert second.counter_label == (
        "NameEntry{name='bc', initialResolutionHost='x', reResolutionHost='y'}"
    )
    assert parse_name_table("", pytest.fail) == ()


@pytest.mark.parametrize("text", ["a,b,c|", "|a,b,c", "||a,b,c||"])
def test_empty_rows_of_a_table_are_none(text):
    (entry,) = parse_name_table(text, pytest.fail)
    assert entry.name == "a"


@pytest.mark.parametrize("text", ["d", "d,e", "d,e,f,g", "d,,f", "a,e,f"])
def test_a_row_that_cannot_be_used_is_reported_and_left_out(text):
    problems = []
    for table in (f"a,b,c|{text}|x,y,z", f"a,b,c|x,y,z|{text}"):
        entries = parse_name_table(table, problems.append)
        assert [(e.name, e.initial_host) for e in entries] == [("a", "b"), ("x", "y")]
    assert len(problems) == 2
    assert problems[0].startswith("name table: ")


def test_an_operator_switches_the_host_of_a_name(hosts):
    values = {"a": 0}
    table = CsvTableResolver(
        parse_name_table("a,10.0.0.1,six", pytest.fail),
        [lambda: values["a"]],
        DefaultNameResolver(hosts),
    )

    assert resolve(table, "a") == ip_address("10.0.0.1")
    values["a"] = 1
    assert resolve(table, "a") == ip_address("fd00::6")
    values["a"] = -1
    assert resolve(table, "a") is None
    assert resolve(table, "alpha") == ip_address("10.0.0.1")
    assert table.lookup("a:1", "endpoint", is_re_lookup=True) == "a:1"


def test_the_time_that_resolving_takes_is_reported(hosts):
    times = iter([10, 25, 30, 31])
    reported = []
    timed = TimedNameResolver(
        DefaultNameResolver(hosts),
        lambda: next(times),
        lambda duration_ns, name: reported.append((duration_ns, name)),
    )

    assert resolve(timed, "alpha") == ip_address("10.0.0.1")
    assert timed.lookup("alpha:1", "control", is_re_lookup=False) == "alpha:1"
    assert reported == [(15, "alpha"), (1, "alpha:1")]


def test_the_time_is_reported_when_resolving_fails():
    def broken(host):
        raise OSError(host)

    reported = []
    timed = TimedNameResolver(
        DefaultNameResolver(broken), iter([1, 4]).__next__, lambda *call: reported.append(call)
    )

    with pytest.raises(OSError, match="alpha"):
        resolve(timed, "alpha")
    assert reported == [(3, "alpha")]
