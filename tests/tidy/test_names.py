"""One name stands for one thing in a wing: for a module and for a class."""

import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest

WINGS = ("transport", "archive", "cluster", "catalog", "tools")
CLASS = re.compile(r"^(?:cdef )?class (\w+)", re.MULTILINE)
#: What every room may have.
COMMON = {"__init__", "errors", "options", "properties", "layout"}
#: Two classes of one name in a wing, and why both have it.
PAIRS = {
    # A client's view of what the driver has, over the native reader of the same file.
    "CountersReader": "transport",
    "LossReport": "transport",
    # A publication is the client's word for its end; commands of the driver end with an event.
    "PublicationError": "transport",
    # What the sender and the receiver each tell the conductor.
    "EndpointReleased": "transport",
    "Unresolved": "transport",
    # Messages are called what the protocol calls them.
    "ResponseSetup": "transport",
    "Field": "transport",
    "Message": "transport",
    "RecordingDescriptor": "archive",
    "CandidateTerm": "cluster",
    "ClientSession": "cluster",
    "ClusterMembers": "cluster",
    "ClusterSession": "cluster",
    "ConsensusModule": "cluster",
    # A client's session and subscription at an archive, as each side knows them.
    "ControlSession": "archive",
    "RecordingSubscription": "archive",
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
    known = {name for name, of in PAIRS.items() if of == wing}
    found = twice(places)
    assert {name: found[name] for name in found if name not in known} == {}
    assert known - set(found) == set(), "these pairs are gone: take them out of the table"


def test_two_classes_of_one_name_are_found():
    assert CLASS.findall("class Kind:\n    class Inner: ...\ncdef class Page(Base):\n") == [
        "Kind",
        "Page",
    ]
    assert twice({"Kind": ["a.py", "b.pyx"], "Page": ["c.py"]}) == {"Kind": ["a.py", "b.pyx"]}
