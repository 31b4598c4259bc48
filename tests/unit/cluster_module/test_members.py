"""Strings of members, and what a majority is."""

from __future__ import annotations

import pytest

from aerolog.cluster.module.members import (
    ingress_endpoints,
    members_string,
    parse_members,
    quorum_position,
    quorum_threshold,
)
from aerolog.transport.errors import ConfigurationError

TEXT = "0,a:1,a:2,a:3,a:4,a:5|1,b:1,b:2,b:3,b:0,b:5,b:6,b:7"


def test_members_are_read_and_written() -> None:
    members = parse_members(TEXT)
    assert members_string(members) == TEXT
    assert ingress_endpoints(members) == "0=a:1,1=b:1"
    assert (members[1].archive_response, members[1].egress_response) == ("b:6", "b:7")
    assert members[0].endpoints == "a:1,a:2,a:3,a:4,a:5"
    assert parse_members("") == {}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("0,a:1,a:2,a:3,a:4", "invalid member value: 0,a:1"),
        ("0,1,2,3,4,5,6,7,8", "invalid member value"),
        ("x,a:1,a:2,a:3,a:4,a:5", "invalid member id 'x'"),
        ("0,a:1,a:2,a:3,a:4,a:5|0,b:1,b:2,b:3,b:4,b:5", "member id 0 stands twice"),
    ],
)
def test_what_is_no_members_string_is_refused(text: str, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        parse_members(text)


@pytest.mark.parametrize(("count", "expected"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3)])
def test_a_majority(count: int, expected: int) -> None:
    assert quorum_threshold(count) == expected


@pytest.mark.parametrize(
    ("positions", "expected"), [([7], 7), ([9, 3, 5], 5), ([9, 3], 3), ([1, 2, 3, 4, 5], 3)]
)
def test_what_a_majority_has_reached(positions: list[int], expected: int) -> None:
    assert quorum_position(positions) == expected
