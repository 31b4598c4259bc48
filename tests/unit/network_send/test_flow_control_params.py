"""Every form of ``fc=`` and the reference's answers to those that it refuses."""

import sys
from importlib.metadata import EntryPoint, EntryPoints

import pytest
from golden_data import channel_uris

from aerolog.transport.driver.conductor.command_error import answer_to
from aerolog.transport.driver.flow_control import flow_control_supplier as module
from aerolog.transport.driver.flow_control.flow_control import (
    FlowControl,
    MaxFlowControl,
    MinFlowControl,
    PythonFlowControl,
    TaggedFlowControl,
)
from aerolog.transport.driver.flow_control.flow_control_supplier import (
    create_flow_control,
    flow_control_params,
)
from aerolog.transport.errors import ConfigurationError, ErrorCode

TERM = 64 * 1024
SECOND = 1_000_000_000
ASCII = "org.agrona.AsciiNumberFormatException : "
NUMBER = "java.lang.NumberFormatException : "
ARGUMENT = "java.lang.IllegalArgumentException : "
UNSUPPORTED = ARGUMENT + "unsupported multicast flow control strategy: fc="
WINDOWS = ARGUMENT + "Invalid retransmit receiver window multiple: "


def read(fc, settings, *, is_group=True):
    """Strategy, timeout, tag, group size, multiple."""
    params = flow_control_params(fc, settings, is_group=is_group)
    return (
        params.strategy,
        params.receiver_timeout_ns,
        params.group_tag,
        params.group_min_size,
        params.retransmit_window_multiple,
    )


@pytest.mark.parametrize(
    ("fc", "expected"),
    [
        (None, ("max", 5 * SECOND, -1, 0, 4)),
        ("max", ("max", 5 * SECOND, -1, 0, 4)),
        ("max,rrwm:8", ("max", 5 * SECOND, -1, 0, 8)),
        ("max,t:abc,g:/x,bogus", ("max", 5 * SECOND, -1, 0, 4)),
        ("min", ("min", 5 * SECOND, -1, 0, 4)),
        ("min,", ("min", 5 * SECOND, -1, 0, 4)),
        ("min,,x:1,tx,T:5s, t:zz", ("min", 5 * SECOND, -1, 0, 4)),
        ("min,t:10s", ("min", 10 * SECOND, -1, 0, 4)),
        ("min,t:5", ("min", 5, -1, 0, 4)),
        ("min,t:0", ("min", 0, -1, 0, 4)),
        ("min,t:1s,t:2ms", ("min", 2_000_000, -1, 0, 4)),
        ("min,g:/2,t:5s", ("min", 5 * SECOND, -1, 2, 4)),
        ("min,g:abc/2", ("min", 5 * SECOND, -1, 2, 4)),
        ("min,g:", ("min", 5 * SECOND, -1, 0, 4)),
        ("min,g:7", ("min", 5 * SECOND, -1, 0, 4)),
        ("min,g:/-1", ("min", 5 * SECOND, -1, -1, 4)),
        ("min,rrwm:+3", ("min", 5 * SECOND, -1, 0, 3)),
        ("tagged", ("tagged", 5 * SECOND, -1, 0, 4)),
        ("tagged,g:123/2,t:5s,rrwm:8", ("tagged", 5 * SECOND, 123, 2, 8)),
        ("tagged,g:123", ("tagged", 5 * SECOND, 123, 0, 4)),
        ("tagged,g:/2", ("tagged", 5 * SECOND, -1, 2, 4)),
        ("tagged,g:-5/1", ("tagged", 5 * SECOND, -5, 1, 4)),
        ("tagged,g:-9223372036854775808", ("tagged", 5 * SECOND, -(2**63), 0, 4)),
    ],
)
def test_options_are_read_over_the_defaults(fc, expected, settings):
    assert read(fc, settings()) == expected


# Answers of the reference's driver to a publication with dynamic control mode.
@pytest.mark.parametrize(
    ("fc", "text"),
    [
        ("", UNSUPPORTED),
        ("pref", UNSUPPORTED + "pref"),
        ("preferred", UNSUPPORTED + "preferred"),
        ("unicast", UNSUPPORTED + "unicast"),
        ("maxx", UNSUPPORTED + "maxx"),
        ("Min", UNSUPPORTED + "Min"),
        (" min", UNSUPPORTED + " min"),
        ("min ,t:5s", UNSUPPORTED + "min ,t:5s"),
        ("max,rrwm:0", WINDOWS + "0"),
        ("min,rrwm:-1", WINDOWS + "-1"),
        ("max,rrwm:x", NUMBER + 'For input string: "x"'),
        ("min,rrwm:", NUMBER + 'For input string: ""'),
        ("min,rrwm:2147483648", NUMBER + 'For input string: "2147483648"'),
        ("min,rrwm:5/2", NUMBER + 'For input string: "5/2"'),
        ("min,t:", NUMBER + "fc receiver timeout must be non-empty: "),
        ("min,t:-5s", NUMBER + "fc receiver timeout must be positive: -5s"),
        ("min,t:10h", NUMBER + "fc receiver timeout: 10h should end with: s, ms, us, or ns."),
        ("min,t:abcs", ASCII + "error parsing long: ab"),
        ("min,t:+5", ASCII + "error parsing long: +5"),
        (f"min,t:{'9' * 20}s", ASCII + f"long overflow parsing: {'9' * 20}"),
        ("min,g:/", ASCII + "empty string: index=3 length=0"),
        ("min,g:/x", ASCII + "error parsing int: x"),
        ("min,g:/-", ASCII + "error parsing int: -"),
        ("min,g:1/2/3", ASCII + "error parsing int: 2/3"),
        ("min,g:/99999999999", ASCII + "int overflow parsing: 99999999999"),
        ("min,g:2,g:/x", ASCII + "error parsing int: x"),
        ("tagged,g:", ASCII + "empty string: index=2 length=0"),
        ("tagged,g:/", ASCII + "empty string: index=3 length=0"),
        ("tagged,g:1/", ASCII + "empty string: index=4 length=0"),
        ("tagged,g:abc", ASCII + "error parsing long: abc"),
        ("tagged,g:1a/2", ASCII + "error parsing long: 1a"),
        ("tagged,g:+5", ASCII + "error parsing long: +5"),
        ("tagged,g:1/ 2", ASCII + "error parsing int:  2"),
        (f"tagged,g:{'9' * 20}", ASCII + f"long overflow parsing: {'9' * 20}"),
        ("tagged,g:9223372036854775808", ASCII + "long overflow parsing: 9223372036854775808"),
    ],
)
def test_what_is_refused_is_answered_as_the_reference_does(fc, text, settings):
    with pytest.raises(ConfigurationError) as caught:
        flow_control_params(fc, settings(), is_group=True)
    assert answer_to(caught.value) == (ErrorCode.GENERIC_ERROR, text)


@pytest.mark.parametrize("fc", ["max", "min,g:1/3,t:5s", "max,rrwm:8", "rrwm:8", ""])
def test_plain_unicast_takes_no_fc(fc, settings):
    with pytest.raises(ConfigurationError) as caught:
        flow_control_params(fc, settings(), is_group=False)
    text = f"{ARGUMENT}unsupported unicast flow control strategy: fc={fc}"
    assert answer_to(caught.value) == (ErrorCode.GENERIC_ERROR, text)


def test_the_corpus_of_channels_is_answered_alike(settings):
    rows = [
        row
        for row in channel_uris()
        if "fc" in (row.get("params") or {}) and row.get("java_driver_add_publication")
    ]
    assert len(rows) > 8
    for row in rows:
        group = row["is_multicast"] or row["is_multi_destination"]
        try:
            flow_control_params(row["params"]["fc"], settings(), is_group=group)
            answer = None
        except ConfigurationError as error:
            answer = answer_to(error)[1]
        assert answer == row["java_driver_add_publication"].get("text"), row["uri"]


def test_defaults_come_from_the_driver_s_properties(settings):
    given = settings(
        {
            "aeron.multicast.FlowControl.supplier": "multicast_tagged",
            "aeron.flow.control.group.tag": "77",
            "aeron.flow.control.group.min.size": "3",
            "aeron.flow.control.receiver.timeout": "2s",
            "aeron.multicast.flow.control.rrwm": "5",
            "aeron.unicast.flow.control.rrwm": "6",
        }
    )
    assert read(None, given) == ("tagged", 2 * SECOND, 77, 3, 5)
    assert read("min", given) == ("min", 2 * SECOND, 77, 3, 5)
    assert read(None, given, is_group=False) == ("max", 2 * SECOND, 77, 3, 6)


def test_the_former_form_of_the_tag_is_understood(settings):
    given = settings({"aeron.PreferredMulticastFlowControl.asf": "0102030405060708"})
    params = flow_control_params("tagged", given, is_group=True)
    assert (params.group_tag, params.short_tag) == (0x0807060504030201, 0x04030201)
    flow = create_flow_control(params, TERM)
    flow.status_message(1, 0, 4096, 0, 0, 0, bytes([1, 2, 3, 4]))
    flow.status_message(2, 0, 4096, 0, 0, 0, bytes([1, 2, 3, 4, 5, 6, 7, 8]))
    flow.status_message(3, 0, 4096, 0, 0, 0, bytes([1, 2, 3, 5]))
    assert flow.receivers == 2


def test_the_default_supplier_takes_the_strategy_s_property(settings):
    name = "io.aeron.driver.MinMulticastFlowControl"
    given = settings({"aeron.multicast.flow.control.strategy": name})
    assert flow_control_params(None, given, is_group=True).strategy == "min"


def test_unicast_resends_up_to_sixteen_windows(settings):
    params = flow_control_params(None, settings(), is_group=False)
    flow = create_flow_control(params, 1 << 24)
    assert type(flow) is MaxFlowControl
    assert flow.retransmit_length(0, 1 << 24) == 2 * 1024 * 1024


def test_a_strategy_has_what_its_channel_says(settings):
    make = settings()
    minimum = create_flow_control(flow_control_params("min,g:/2,t:1s", make, is_group=True), TERM)
    assert type(minimum) is MinFlowControl
    assert (minimum.group_min_size, minimum.receiver_timeout_ns) == (2, SECOND)
    assert minimum.retransmit_window_multiple == 4
    given = flow_control_params("tagged,g:9/1,rrwm:2", make, is_group=True)
    tagged = create_flow_control(given, TERM)
    assert type(tagged) is TaggedFlowControl
    assert (tagged.group_tag, tagged.group_min_size) == (9, 1)
    assert tagged.retransmit_window_multiple == 2


class Paced(PythonFlowControl):
    """As a plug-in's author would write it."""

    def __init__(self, params, term_length):
        rrwm = params.retransmit_window_multiple
        super().__init__(term_length, retransmit_window_multiple=rrwm)
        self.params = params

    def status_message(self, receiver_id, position, window, limit, *_):
        return max(limit, position + min(window, 1024))


def broken(params, term_length):
    raise LookupError(params.strategy)


def wrong(params, term_length):
    return term_length


@pytest.fixture
def plug_ins(monkeypatch):
    here = "aerolog_test_plug_in"
    names = {"paced": "Paced", "broken": "broken", "wrong": "wrong", "missing": "nothing"}
    entries = EntryPoints(
        EntryPoint(name, f"{here}:{value}", module.ENTRY_POINT_GROUP)
        for name, value in names.items()
    )
    monkeypatch.setitem(sys.modules, here, sys.modules[__name__])
    monkeypatch.setattr(module, "entry_points", lambda *, group: entries.select(group=group))
    module._plug_ins.cache_clear()
    yield
    module._plug_ins.cache_clear()


@pytest.mark.usefixtures("plug_ins")
def test_a_plug_in_is_named_in_the_channel(settings):
    params = flow_control_params("paced,g:5/2,t:1s,rrwm:3,burst:9", settings(), is_group=True)
    flow = create_flow_control(params, TERM)
    assert isinstance(flow, Paced)
    assert flow.params.options == ("g:5/2", "t:1s", "rrwm:3", "burst:9")
    assert (flow.params.group_tag, flow.params.group_min_size) == (5, 2)
    assert flow.retransmit_window_multiple == 3
    assert FlowControl.status_message(flow, 1, 0, 8192, 0, 0) == 1024


@pytest.mark.usefixtures("plug_ins")
@pytest.mark.parametrize("name", ["broken", "wrong", "missing"])
def test_a_plug_in_that_fails_says_which_it_was(name, settings):
    params = flow_control_params(name, settings(), is_group=True)
    with pytest.raises(ConfigurationError, match=name):
        create_flow_control(params, TERM)


def test_a_strategy_that_nobody_provides_is_refused(settings):
    params = flow_control_params("max", settings(), is_group=True)
    unknown = module.replace(params, strategy="vegas")
    with pytest.raises(ConfigurationError, match="vegas"):
        create_flow_control(unknown, TERM)
