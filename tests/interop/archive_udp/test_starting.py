"""Archives that start, and that do not, with channels on the network."""

from __future__ import annotations

import re
import socket
from typing import Any

import pytest
from waits import wait_until

from aerolog.transport.client import CountersReader
from aerolog.transport.counters.counter_types import CounterType

pytestmark = pytest.mark.interop
HOST = "127.0.0.1"
SYSTEM_COUNTERS = 46
OWN_TYPES = 1000
HEARTBEAT = CounterType.CLIENT_HEARTBEAT
MAKES = ["reference", "ours"]


def start(start_server: Any, make: str, **properties: str) -> Any:
    """An archiving driver with these properties of the archive."""
    named = {f"aeron.archive.{name.replace('_', '.')}": text for name, text in properties.items()}
    enabled = {"aeron.archive.control.channel.enabled": "true"}
    return start_server(make, "archiving-driver", properties=enabled | named)


def without_chance(label: str) -> str:
    """A label without registration and session ids, and without a port of the system."""
    label = re.sub(r": \d+ -?\d+ 30 ", ": ID SESSION 30 ", label)
    return re.sub(rf" {HOST}:\d+$", f" {HOST}:PORT", label)


def heartbeat_is_named(server: Any) -> bool:
    """Whether the archive's client has told its name, which it does some time after it is there."""
    labels = [c.label for c in CountersReader(server.aeron_dir).infos() if c.type_id == HEARTBEAT]
    return bool(labels) and all("commit=" in label for label in labels)


def test_both_archives_open_the_same_in_the_same_order(start_server: Any, free_port: Any) -> None:
    channels = {
        "control_channel": f"aeron:udp?endpoint={HOST}:{free_port()}|alias=c",
        "recording_events_channel": f"aeron:udp?endpoint={HOST}:{free_port()}",
        "id": "5",
    }
    found = []
    for make in MAKES:
        server = start(start_server, make, **channels)
        wait_until(lambda server=server: heartbeat_is_named(server), "the archive's client's name")
        counters = [
            (c.counter_id, c.type_id, without_chance(c.label))
            for c in CountersReader(server.aeron_dir).infos()
            if c.counter_id >= SYSTEM_COUNTERS
        ]
        # Ours has some more, behind those of both.
        theirs = [counter for counter in counters if counter[1] < OWN_TYPES]
        assert counters[: len(theirs)] == theirs
        found.append(theirs)
        assert server.process.stop() == 0
    assert found[0] == found[1]
    assert {6, 7, 12, 102} <= {type_id for _, type_id, _ in found[0]}


@pytest.mark.parametrize("make", MAKES)
@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"control_channel": "aeron:ipc"}, "Archive.Context.controlChannel must be UDP media"),
        ({"control_channel": "aeron:udp"}, "must specify an endpoint, control, tags, or"),
        ({"control_channel": "udp"}, "udp"),
        ({"local_control_channel": f"aeron:udp?endpoint={HOST}:9"},
         "local control channel must be IPC media"),
        ({"recording_events_channel": "aeron:udp"}, "must specify an endpoint, control, tags, or"),
    ],
)  # fmt: skip
def test_channels_that_cannot_be_stop_the_start(
    start_server: Any, make: str, wrong: dict[str, str], text: str
) -> None:
    with pytest.raises(AssertionError) as refused:
        start(start_server, make, **wrong)
    assert text in str(refused.value)


def test_a_control_port_that_is_taken_stops_the_start(start_server: Any) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind((HOST, 0))
        endpoint = f"{HOST}:{taken.getsockname()[1]}"
        with pytest.raises(AssertionError, match="Address already in use"):
            start(start_server, "ours", control_channel=f"aeron:udp?endpoint={endpoint}")


@pytest.mark.parametrize("make", MAKES)
def test_a_control_channel_that_is_not_enabled_is_not_opened(
    start_server: Any, make: str, free_port: Any
) -> None:
    channel = f"aeron:udp?endpoint={HOST}:{free_port()}"
    server = start(start_server, make, control_channel=channel, control_channel_enabled="false")
    types = {c.type_id for c in CountersReader(server.aeron_dir).infos()}
    assert 102 in types
    assert 7 not in types
