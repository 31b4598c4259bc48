"""The page on the event log names every event with its number, and every property."""

import re
from pathlib import Path

from aerolog.archive.service.event_lines import ArchiveEventCode
from aerolog.cluster.module.event_log import ClusterEventCode
from aerolog.transport.events.event_codes import DriverEventCode
from aerolog.transport.events.properties import (
    ARCHIVE_EVENT_PROPERTIES,
    CLUSTER_EVENT_PROPERTIES,
    DRIVER_EVENT_PROPERTIES,
)

PAGE = Path(__file__).resolve().parents[3] / "docs" / "tools" / "event-log.md"


def test_every_event_is_named_with_its_number():
    driver, _, others = PAGE.read_text(encoding="utf-8").partition("| Archive | |")
    archive, _, cluster = others.partition("| Cluster | |")

    for text, events in (
        (driver, DriverEventCode),
        (archive, ArchiveEventCode),
        (cluster, ClusterEventCode),
    ):
        named = {name: int(number) for name, number in re.findall(r"`(\w+)` \((\d+)\)", text)}
        assert named == {event.name: event.value for event in events}


def test_every_property_is_named_with_its_variable():
    text = PAGE.read_text(encoding="utf-8")

    for prop in {
        *DRIVER_EVENT_PROPERTIES,
        *ARCHIVE_EVENT_PROPERTIES,
        *CLUSTER_EVENT_PROPERTIES,
    }:
        assert f"| `{prop.name}` | `{prop.env}` |" in text
