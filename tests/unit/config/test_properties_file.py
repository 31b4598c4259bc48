"""The text form of properties files, against what java.util.Properties reads."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerolog.transport.config.properties_file import parse_properties
from aerolog.transport.errors import ConfigurationError


# Results captured from java.util.Properties.load.
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=b", {"a": "b"}),
        ("a:b", {"a": "b"}),
        ("a b", {"a": "b"}),
        ("a  =  b", {"a": "b"}),
        (r"a\=b=c", {"a=b": "c"}),
        ("a=b\\\n   c", {"a": "bc"}),
        ("# x\n!y\nk=v", {"k": "v"}),
        (r"k=\u0041", {"k": "A"}),
        ("k", {"k": ""}),
        ("=v", {"": "v"}),
        ("k = v  ", {"k": "v  "}),
        (r"k\:x:y", {"k:x": "y"}),
        ("k==v", {"k": "=v"}),
        ("k=:v", {"k": ":v"}),
        ("k:=v", {"k": "=v"}),
        (r"  k\ x=1", {"k x": "1"}),
        (r"k=a\tb\z", {"k": "a\tbz"}),
        ("k=1\r\nj=2\rl=3", {"j": "2", "k": "1", "l": "3"}),
        ("k=1\\\\\nj=2", {"j": "2", "k": "1\\"}),
        ("k=x\\", {"k": "x"}),
        ("a=\\\n", {"a": ""}),
        ("#c\\\nk=1", {"k": "1"}),
        ("", {}),
        ("\n  \n\f\n", {}),
        ("k=1\nk=2", {"k": "2"}),
    ],
)
def test_texts_read_as_in_java(text: str, expected: dict[str, str]) -> None:
    assert {pair.name: pair.value for pair in parse_properties(text)} == expected


def test_a_pair_knows_the_line_it_begins_in() -> None:
    pairs = list(parse_properties("# one\n\na=\\\n  1\nb=2"))

    assert [(pair.name, pair.value, pair.line) for pair in pairs] == [("a", "1", 3), ("b", "2", 5)]


def test_a_malformed_escape_is_refused_with_its_line() -> None:
    with pytest.raises(ConfigurationError, match=r"line 2: malformed \\u00zz"):
        list(parse_properties("a=1\nk=\\u00zz"))


@given(st.text(max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        pairs = list(parse_properties(text))
    except ConfigurationError:
        return
    assert all(pair.line >= 1 for pair in pairs)
