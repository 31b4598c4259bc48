"""Policies out of texts: what they say, and with which line they are refused."""

from __future__ import annotations

import pytest
from retention_facts import recording

from aerolog.archive.retention.errors import PolicyError
from aerolog.archive.retention.policies import Space, StreamRange
from aerolog.archive.retention.policy_file import load_policies, parse_policies

FIRST = "[[policy]]\nname = 'a'\nstream = 1\nmax_age = '1d'\n"
ALL = """
# hot data
[[policy]]
name = "orders"
channel = ["aeron:udp*orders*", "aeron:ipc"]
stream = [7, "100-199"]
label = { tier = "hot" }
max_age = "36h"
min_age = "1h"
max_size = "10g"
max_stream_size = "20g"
max_total_size = 1048576
max_count = 5
free_low = "10%"
free_high = "12.5%"

[[policy]]
name = "audit"
label = "audit"
keep = true

[[policy]]
everything = true
whole_recordings = false
max_age = "30d"
"""


def test_a_file_says_everything_that_a_policy_can() -> None:
    orders, audit, rest = parse_policies(ALL)
    assert orders.name == "orders"
    assert orders.line == 3
    assert orders.channels == ("aeron:udp*orders*", "aeron:ipc")
    assert orders.streams == (StreamRange(7, 7), StreamRange(100, 199))
    assert orders.labels == {"tier": "hot"}
    assert orders.max_age_ns == 36 * 3600 * 10**9
    assert orders.min_age_ns == 3600 * 10**9
    assert orders.max_size == 10 * 2**30
    assert orders.max_total_size == 2**20
    assert orders.max_count == 5
    assert (orders.free_low, orders.free_high) == (Space(part=0.1), Space(part=0.125))
    assert audit.keep
    assert audit.labels == {"audit": None}
    assert rest.everything
    assert not rest.whole_recordings
    assert rest.name == "policy 3"


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", None, "has no policy"),
        ("[[policy]]\nmax_age =", 2, "is no TOML"),
        ("x = 1\n[[policy]]", 1, "'x' is not known"),
        ("policy = 3", None, r"write \[\[policy\]\]"),
        ("[[policy]]\nmax_age = '7d'", 1, "chooses every recording"),
        ("[[policy]]\nchannel = '*'\nmax_age = '7d'", 1, "chooses every recording"),
        ("[[policy]]\nkeep = true", 1, "chooses every recording"),
        ("[[policy]]\nstream = 1\neverything = true\nmax_age = '7d'", 1, "everything = true"),
        ("[[policy]]\nstream = 1", 1, "limits nothing"),
        ("[[policy]]\n\nmaxage = '7d'", 3, "did you mean max_age"),
        ("[[policy]]\nstream = 1\nmax_age = '0s'", 3, "more than 0"),
        ("[[policy]]\nstream = 1\nmax_age = 'soon'", 3, "is not a duration"),
        ("[[policy]]\nstream = 1\nmax_size = '0'", 3, "more than 0"),
        ("[[policy]]\nstream = 1\nmax_size = '10 apples'", 3, "max_size"),
        ("[[policy]]\nstream = 1\nmax_count = 0", 3, "1 or more"),
        ("[[policy]]\nstream = 1\nmax_count = true", 3, "1 or more"),
        ("[[policy]]\nstream = '9-1'\nmax_count = 1", 2, "ends before it begins"),
        ("[[policy]]\nstream = 4294967296\nmax_count = 1", 2, "32 bits"),
        ("[[policy]]\nstream = []\nmax_count = 1", 2, "no recording matches"),
        ("[[policy]]\nchannel = 7\nmax_count = 1", 2, "no text"),
        ("[[policy]]\nstream = 1\nfree_low = '10%'", 1, "belong together"),
        ("[[policy]]\nstream = 1\nfree_low = '200%'\nfree_high = '1%'", 3, "below 100"),
        ("[[policy]]\nstream = 1\nfree_low = '20%'\nfree_high = '10%'", 1, "is above free_high"),
        ("[[policy]]\nstream = 1\nfree_low = '1g'\nfree_high = '10%'", 1, "both"),
        ("[[policy]]\nstream = 1\nkeep = true\nmax_age = '1d'", 1, "keep contradicts max_age"),
        ("[[policy]]\nstream = 1\nmax_age = '1d'\nmin_age = '2d'", 1, "below min_age"),
        ("[[policy]]\nstream = 1\nmax_count = 1\nwhole_recordings = false", 1, "contradicts"),
        (
            FIRST + "[[policy]]\nname = 'a'\nstream = 2\nmax_age = '1d'",
            5,
            "a second policy 'a'",
        ),
        (
            FIRST + "[[policy]]\nname = 'b'\nstream = 1\nmin_age = '2d'",
            5,
            "'a' and 'b'",
        ),
        (
            FIRST + "[[policy]]\nname = 'b'\nstream = 1\nkeep = true",
            5,
            "contradicts 'a'",
        ),
        (
            "[[policy]]\nstream = 1\nmax_age = '1d'\n[[policy]]\neverything = true\nkeep = true",
            4,
            "contradicts every other policy",
        ),
        ("[[policy]]\nstream = 1\nmax_count = " + "9" * 5000, None, "is no TOML"),
        ("a = " + "[" * 20_000, None, "is no TOML"),
    ],
)
def test_what_cannot_be_meant_is_told_with_its_line(text, line, said) -> None:
    with pytest.raises(PolicyError, match=said) as raised:
        parse_policies(text, source="retention.toml")
    assert raised.value.line == line
    assert str(raised.value).startswith("retention.toml")


def test_a_file_that_cannot_be_read_is_told(tmp_path) -> None:
    with pytest.raises(PolicyError, match="cannot be read"):
        load_policies(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(PolicyError, match="no UTF-8"):
        load_policies(tmp_path / "latin.toml")


@pytest.mark.parametrize(
    ("chooser", "matches"),
    [
        ("channel = 'aeron:ipc*'", True),
        ("channel = 'aeron:ipc?alias=orders'", True),
        ("channel = 'aeron:udp*'", False),
        ("stream = '5-15'", True),
        ("stream = [1, 2]", False),
        ("channel = 'aeron:ipc*'\nstream = 11", False),
        ("label = { tier = 'hot' }", True),
        ("label = 'tier'", True),
        ("label = ['tier=cold']", False),
        ("label = ['tier', 'owner']", False),
        ("everything = true", True),
    ],
)
def test_recordings_are_chosen(chooser, matches) -> None:
    (policy,) = parse_policies(f"[[policy]]\n{chooser}\nmax_age = '1d'")
    one = recording(channel="aeron:ipc?alias=orders", labels={"tier": "hot"})
    assert policy.matches(one) is matches
