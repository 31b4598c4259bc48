"""Properties read from their layers, typed and checked (spec configuration 1, 2)."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from aerolog.transport.config import Declare, Infer, Properties, Settings
from aerolog.transport.errors import ConfigurationError

declare = Declare()
LENGTH = declare.size("aeron.test.length", 65536, "bytes", low=1024, high=1 << 30)
TIMEOUT = declare.duration("aeron.test.timeout", 5_000_000_000, "time")
UNSET = declare.duration("aeron.test.unset.timeout", -1, "time that may be unset")
MILLIS = declare.millis("aeron.test.millis", 10_000, "plain milliseconds")
COUNT = declare.integer("aeron.test.count", 16, "a number")
LIMIT = declare.integer("aeron.test.limit", 1, "a checked number", low=1, high=9, lenient=False)
TAG = declare.long("aeron.test.tag", None, "a tag")
RATE = declare.double("aeron.test.rate", 0.0, "a rate")
FLAG = declare.boolean("aeron.test.flag", True, "a flag")
ANY_CASE = declare.boolean("aeron.test.any.case", False, "a flag", any_case=True)
GROUP = declare.inferable("aeron.test.group", "inferable")
NAME = declare.text("aeron.test.name", None, "a name")
MODE = declare.choice("aeron.test.mode", "slow", {"slow": "slow", "x.Fast": "fast"}, "built in")
BYTES = declare.hex_bytes("aeron.test.bytes", b"", "bytes")
PORTS = declare.port_range("aeron.test.ports", "ports")
IRREGULAR = declare.duration("aeron.test.irregular", 0, "time", env="AERON_OTHER_NAME")


def settings(*arguments: str, environ: dict[str, str] | None = None, **keywords: Any) -> Settings:
    properties = Properties.from_command_line(arguments, environ or {})
    return Settings(declare.table, properties, keywords)


def test_defaults() -> None:
    found = settings()

    assert found[LENGTH] == 65536
    assert found[NAME] is None
    assert not found.is_given(LENGTH)
    assert found.source(LENGTH) == "default"
    assert found.warnings == []


def test_each_layer_is_stronger_than_the_one_before() -> None:
    environ = {"AERON_TEST_COUNT": "1", "AERON_TEST_LENGTH": "2k", "AERON_TEST_NAME": "env"}

    found = settings(
        "-Daeron.test.count=2", "-Daeron.test.length=4k", environ=environ, test_count=3
    )

    assert (found[COUNT], found[LENGTH], found[NAME]) == (3, 4096, "env")
    assert found.source(COUNT) == "keyword test_count"


@pytest.mark.parametrize(
    ("definition", "prop", "value"),
    [
        ("aeron.test.length=64k", LENGTH, 65536),
        ("aeron.test.timeout=7", TIMEOUT, 7),
        ("aeron.test.timeout=7ms", TIMEOUT, 7_000_000),
        ("aeron.test.unset.timeout=-1", UNSET, -1),
        ("aeron.test.millis=500", MILLIS, 500),
        ("aeron.test.count=-3", COUNT, -3),
        ("aeron.test.count=0x10", COUNT, 16),
        ("aeron.test.count=#10", COUNT, 16),
        ("aeron.test.count=010", COUNT, 8),
        ("aeron.test.count=0", COUNT, 0),
        ("aeron.test.tag=-9223372036854775808", TAG, -(1 << 63)),
        ("aeron.test.rate=0.25", RATE, 0.25),
        ("aeron.test.flag=false", FLAG, False),
        ("aeron.test.flag=TRUE", FLAG, False),
        ("aeron.test.any.case=TRUE", ANY_CASE, True),
        ("aeron.test.group=infer", GROUP, Infer.INFER),
        ("aeron.test.group=true", GROUP, Infer.TRUE),
        ("aeron.test.group=other", GROUP, Infer.FALSE),
        ("aeron.test.name= x ", NAME, "x "),
        ("aeron.test.mode=x.Fast", MODE, "fast"),
        ("aeron.test.bytes=0aFF", BYTES, b"\x0a\xff"),
        ("aeron.test.ports=1 2", PORTS, (1, 2)),
        ("aeron.other.name=3s", IRREGULAR, 3_000_000_000),
    ],
)
def test_texts_are_read_by_kind(definition: str, prop: Any, value: Any) -> None:
    assert settings(f"-D{definition}")[prop] == value


@pytest.mark.parametrize(
    ("keyword", "given", "prop", "value"),
    [
        ("test_length", 2048, LENGTH, 2048),
        ("test_length", "2k", LENGTH, 2048),
        ("test_timeout", 2, TIMEOUT, 2_000_000_000),
        ("test_timeout", 0.5, TIMEOUT, 500_000_000),
        ("test_timeout", timedelta(milliseconds=1), TIMEOUT, 1_000_000),
        ("test_timeout", "1ms", TIMEOUT, 1_000_000),
        ("test_timeout_ns", 7, TIMEOUT, 7),
        ("test_unset_timeout", -1, UNSET, -1),
        ("test_millis", 2.5, MILLIS, 2500),
        ("test_millis_ms", 7, MILLIS, 7),
        ("test_count", "12", COUNT, 12),
        ("test_tag", None, TAG, None),
        ("test_rate", 1, RATE, 1.0),
        ("test_flag", False, FLAG, False),
        ("test_flag", "false", FLAG, False),
        ("test_group", True, GROUP, Infer.TRUE),
        ("test_group", Infer.FALSE, GROUP, Infer.FALSE),
        ("test_name", Path("/x"), NAME, "/x"),
        ("test_mode", "x.Fast", MODE, "fast"),
        ("test_bytes", b"x", BYTES, b"x"),
        ("test_ports", (1, 2), PORTS, (1, 2)),
        ("test_irregular", "3s", IRREGULAR, 3_000_000_000),
    ],
)
def test_keywords_are_read_by_kind(keyword: str, given: Any, prop: Any, value: Any) -> None:
    assert settings(**{keyword: given})[prop] == value


@pytest.mark.parametrize(
    ("definition", "named"),
    [
        ("aeron.test.length=64q", "aeron.test.length: 64q should end with: k, m, or g."),
        ("aeron.test.length=1", "aeron.test.length=1 is less than the least, 1k"),
        ("aeron.test.length=2g", "aeron.test.length=2g is more than the most, 1g"),
        ("aeron.test.timeout=10m", "aeron.test.timeout: 10m should end with"),
        ("aeron.test.timeout=-1", "aeron.test.timeout=-1 is less than the least"),
        ("aeron.test.limit=10", "aeron.test.limit=10 is more than the most, 9"),
        ("aeron.test.limit=abc", "aeron.test.limit: 'abc' is not a number"),
        ("aeron.test.mode=x.Gone", "aeron.test.mode: 'x.Gone' is not built in; accepted are"),
        ("aeron.test.bytes=abc", "aeron.test.bytes: 'abc' is not an even number"),
        ("aeron.test.ports=5", "aeron.test.ports: '5' is not a port range"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_source(definition: str, named: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        settings(f"-D{definition}")

    assert str(refused.value).startswith(named)
    assert f"(-D{definition.partition('=')[0]})" in str(refused.value)


@pytest.mark.parametrize(
    "definition",
    ["aeron.test.count=abc", "aeron.test.count=2147483648", "aeron.test.tag=x",
     "aeron.test.millis=10s", "aeron.test.rate=fast", "aeron.test.count=08"],
)  # fmt: skip
def test_malformed_plain_numbers_give_the_default_as_in_java(definition: str) -> None:
    found = settings(f"-D{definition}")

    assert [value for _, value in found] == [value for _, value in settings()]
    assert len(found.warnings) == 1
    assert definition.partition("=")[0] in found.warnings[0]
    assert "using default" in found.warnings[0]


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", True), ("on", True), ("true", True), ("trueish", True), ("0", False), ("off", False),
     ("false", False)],
)  # fmt: skip
def test_booleans_of_the_environment_are_read_as_in_c(text: str, value: bool) -> None:
    other_default = ANY_CASE if value else FLAG

    found = settings(environ={other_default.env: text})

    assert found[other_default] is value


@pytest.mark.parametrize(
    ("variable", "text"),
    [("AERON_TEST_FLAG", "yes"), ("AERON_TEST_LENGTH", "-1"), ("AERON_TEST_TIMEOUT", "soon"),
     ("AERON_TEST_LIMIT", "abc")],
)  # fmt: skip
def test_malformed_variables_give_the_default_with_a_warning_as_in_c(
    variable: str, text: str
) -> None:
    found = settings(environ={variable: text})

    assert [value for _, value in found] == [value for _, value in settings()]
    assert f"(environment {variable})" in found.warnings[0]


@pytest.mark.parametrize(
    ("variable", "text", "prop", "value"),
    [
        ("AERON_TEST_LENGTH", "1", LENGTH, 1024),
        ("AERON_TEST_LENGTH", "2g", LENGTH, 1 << 30),
        ("AERON_TEST_LIMIT", "10", LIMIT, 9),
        ("AERON_TEST_LIMIT", "-3", LIMIT, 1),
    ],
)
def test_variables_out_of_range_give_the_nearest_value_without_a_warning_as_in_c(
    variable: str, text: str, prop: Any, value: int
) -> None:
    found = settings(environ={variable: text})

    assert found[prop] == value
    assert found.warnings == []
    (line,) = found.adjusted
    assert line.startswith(f"{prop.name}={text} is out of range (environment {variable}); using")
    with pytest.raises(ConfigurationError, match="is out of range"):
        settings("-Daerolog.strict=true", environ={variable: text})


def test_an_unknown_class_is_refused_from_the_environment_too() -> None:
    with pytest.raises(ConfigurationError, match=r"'x\.Gone' is not built in"):
        settings(environ={"AERON_TEST_MODE": "x.Gone"})


def test_unknown_properties_are_ignored_as_in_the_reference() -> None:
    found = settings("-Daeron.no.such=1", environ={"AERON_NO_SUCH": "1"})

    assert [value for _, value in found] == [value for _, value in settings()]
    assert found.warnings == []


@pytest.mark.parametrize(
    ("keywords", "named"),
    [
        ({"test_lenght": 1}, "unknown keyword 'test_lenght'; did you mean test_length"),
        ({"zzz": 1}, "unknown keyword 'zzz'$"),
        ({"test_timeout": 1, "test_timeout_ns": 1}, "are the same property"),
        ({"test_length": 1.5}, "test_length: 1.5 is not a size"),
        ({"test_timeout": -2}, "test_timeout: -2 is negative"),
        ({"test_timeout_ns": 1.5}, "test_timeout_ns: 1.5 is not a whole number"),
        ({"test_count": "abc"}, "aeron.test.count: 'abc' is not a number"),
        ({"test_count": 1 << 31}, "aeron.test.count=2147483648 is more than the most"),
        ({"test_flag": 1}, "test_flag: 1 is not true or false"),
        ({"test_mode": "x.Gone"}, "aeron.test.mode: 'x.Gone' is not built in"),
        ({"test_name": 5}, "test_name: 5 is not text"),
        ({"test_bytes": 5}, "test_bytes: 5 is not"),
        ({"test_ports": (2, 1)}, "aeron.test.ports: '2 1'"),
    ],
)
def test_keywords_that_cannot_be_used_are_refused(keywords: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigurationError, match=named):
        settings(**keywords)


def test_the_description_names_value_and_source() -> None:
    described = {
        name: (value, source)
        for name, value, source in settings(
            "-Daeron.test.length=131072", test_flag=False
        ).describe()
    }

    assert described["aeron.test.length"] == ("128k", "-Daeron.test.length")
    assert described["aeron.test.flag"] == ("false", "keyword test_flag")
    assert described["aeron.test.timeout"] == ("5s", "default")
    assert described["aeron.test.unset.timeout"] == ("-1", "default")
    assert described["aeron.test.name"] == ("", "default")


def test_a_prefix_is_dropped_from_keywords() -> None:
    own = Declare("aeron.archive.")
    prop = own.text("aeron.archive.dir", "x", "a folder")

    assert Settings(own.table, Properties(), {"dir": "y"})[prop] == "y"


def test_the_process_environment_counts_when_no_properties_are_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AERON_TEST_COUNT", "99")

    assert Settings(declare.table)[COUNT] == 99


def test_a_text_with_a_nul_is_refused_by_name() -> None:
    """No path has one; the system's own words for it name no property."""
    with pytest.raises(ConfigurationError, match=r"aeron\.test\.name: 'a\\x00b' has a NUL"):
        settings(r"-Daeron.test.name=a\u0000b")
    with pytest.raises(ConfigurationError, match=r"aeron\.test\.name: .* has a NUL"):
        settings(test_name="a\0b")
