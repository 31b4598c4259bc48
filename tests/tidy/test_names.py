"""One name stands for one thing in a wing: for a module and for a class."""

import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest
from product import WINGS

CLASS = re.compile(r"^(?:cdef )?class (\w+)", re.MULTILINE)
#: What every room may have.
COMMON = {"__init__", "errors", "options", "properties", "layout"}
#: By wing, the names that two of its classes have, and why.
PAIRS: dict[str, set[str]] = {
    "transport": {
        # A client's view of what the driver has, over the native reader of the same file.
        "CountersReader",
        "LossReport",
        # What the sender and the receiver each tell the conductor.
        "EndpointReleased",
        "Unresolved",
        # Events of the sender, called as the frames that cause them; one is also a client's error.
        "PublicationError",
        "ResponseSetup",
        # Of messages with counted fields, of frames with fixed offsets, and of a reader's message.
        "Field",
        "Message",
    },
    # One side is a message, which is called what the protocol calls it; or a client's session or
    # subscription and the archive's own.
    "archive": {"ControlSession", "RecordingDescriptor", "RecordingSubscription"},
    "cluster": {
        "CandidateTerm",
        "ClientSession",
        "ClusterMembers",
        "ClusterSession",
        "ConsensusModule",
    },
    "catalog": set(),
    "tools": set(),
}


def modules(checkout: Path, tracked: Iterable[Path], wing: str) -> list[Path]:
    found = [path.relative_to(checkout) for path in tracked if path.suffix in {".py", ".pyx"}]
    return [path for path in found if path.parts[0] == wing]


def twice(places: dict[str, list[str]]) -> dict[str, list[str]]:
    return {name: found for name, found in sorted(places.items()) if len(found) > 1}


@pytest.mark.parametrize("wing", WINGS)
def test_a_module_is_the_only_one_of_its_name(checkout: Path, tracked: list[Path], wing: str):
    places = defaultdict(list)
    for path in modules(checkout, tracked, wing):
        if path.stem not in COMMON:
            places[path.stem].append(str(path))
    assert len(places) > 20
    assert twice(places) == {}


@pytest.mark.parametrize("wing", WINGS)
def test_a_class_is_the_only_one_of_its_name(checkout: Path, tracked: list[Path], wing: str):
    places = defaultdict(list)
    for path in modules(checkout, tracked, wing):
        for name in CLASS.findall((checkout / path).read_text()):
            places[name].append(str(path))
    found = twice(places)
    assert {name: found[name] for name in found if name not in PAIRS[wing]} == {}
    assert PAIRS[wing] - set(found) == set(), "these pairs are gone: take them out of the table"


def test_two_classes_of_one_name_are_found():
    assert CLASS.findall("class Kind:\n    class Inner: ...\ncdef class Page(Base):\n") == [
        "Kind",
        "Page",
    ]
    assert twice({"Kind": ["a.py", "b.pyx"], "Page": ["c.py"]}) == {"Kind": ["a.py", "b.pyx"]}
