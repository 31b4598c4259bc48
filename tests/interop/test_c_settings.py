"""Settings as users of the driver in C give them, in its environment: both drivers do the same."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from peer.c_build import CRATES, STANDARD, c_programs
from peer.lifetimes import c_reference
from peer.servers import Server
from peer.streams import Receipt, checked_messages, free_port, transfer
from waits import wait_until

from aerolog.transport.client import Aeron
from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.errors import RegistrationError
from aerolog.transport.memory.cnc import CncFile
from aerolog.transport.memory.filesystem import RealFileSystem

pytestmark = pytest.mark.interop
LATER = [pytest.param(f"c-{version}", marks=pytest.mark.slow) for version in list(CRATES)[1:]]
DRIVERS = ["ours", "c", *LATER]
Run = Callable[..., tuple[Server, Aeron]]
NEIGHBORS, CACHE, BOOTSTRAP, NAME_ENTRY = (
    CounterType.RESOLVER_NEIGHBORS,
    CounterType.RESOLVER_CACHE_ENTRIES,
    CounterType.RESOLVER_BOOTSTRAP_NEIGHBOR,
    CounterType.NAME_ENTRY,
)
IMAGES_REJECTED, CYCLE_TIME, CYCLES_EXCEEDED = (
    SystemCounter.IMAGES_REJECTED,
    SystemCounter.CONDUCTOR_MAX_CYCLE_TIME,
    SystemCounter.CONDUCTOR_CYCLE_TIME_THRESHOLD_EXCEEDED,
)
MOVED = "127.0.0.2"
TABLE = {
    "AERON_NAME_RESOLVER_SUPPLIER": "csv_table",
    "AERON_NAME_RESOLVER_INIT_ARGS": f"feed,127.0.0.1,{MOVED}|",
}


def gossip(interface: str, neighbors: str) -> dict[str, str]:
    """The environment of a driver that tells others its name."""
    return {
        "AERON_NAME_RESOLVER_SUPPLIER": "driver",
        "AERON_DRIVER_RESOLVER_NAME": "here",
        "AERON_DRIVER_RESOLVER_INTERFACE": interface,
        "AERON_DRIVER_RESOLVER_BOOTSTRAP_NEIGHBOR": neighbors,
    }


@pytest.fixture(params=DRIVERS)
def run(request, start_server, our_client) -> Run:
    """``run(AERON_X=value, ...)``: a driver with that in its environment, and a client on it."""

    def start(**environment: str) -> tuple[Server, Aeron]:
        server = start_server(request.param, "driver", environment=environment)
        return server, our_client(server.aeron_dir)

    return start


def labels(client: Aeron, type_id: int) -> list[str]:
    """The labels of the counters of a type."""
    return [found.label for found in client.counters.values() if found.type_id == type_id]


def value(client: Aeron, type_id: int) -> int:
    """The value of the one counter of a type."""
    return next(found.value for found in client.counters.values() if found.type_id == type_id)


def said(client: Aeron, channel: str, heard: str, stream_id: int) -> Any:
    """A message that goes from one channel to another one."""
    with (
        client.add_subscription(heard, stream_id) as subscription,
        client.add_publication(channel, stream_id) as publication,
    ):
        publication.wait_connected(30)
        publication.send(b"from here to there", timeout=30.0)
        return next(subscription.messages(timeout=30))


@pytest.mark.parametrize(
    ("text", "length"), [("0", 1 << 20), ("100k", 1 << 20), ("1500k", 1536_000)]
)
def test_a_buffer_for_counters_has_a_mebibyte_at_least(run: Run, text: str, length: int) -> None:
    server, _ = run(AERON_COUNTERS_BUFFER_LENGTH=text)
    lengths = CncFile.open(RealFileSystem(), server.aeron_dir).header.lengths
    assert (lengths.counter_values, lengths.counter_metadata) == (length, 4 * length)


def test_a_driver_of_the_main_thread_s_own(run: Run, stream_id: int) -> None:
    server, client = run(AERON_THREADING_MODE="INVOKER")
    assert said(client, "aeron:ipc", "aeron:ipc", stream_id).data == b"from here to there"
    assert [client.counters[each].label for each in (CYCLE_TIME, CYCLES_EXCEEDED)] == [
        "Conductor max cycle time doing its work in ns: INVOKER",
        "Conductor work cycle exceeded threshold count: threshold=100ms INVOKER",
    ]
    tasks = Path(f"/proc/{server.pid}/task").glob("*/comm")
    names = {each.read_text().strip() for each in tasks}
    assert not names & {"driver-conducto", "conductor", "sender", "receiver", "shared-network"}


def test_a_table_of_names_that_ends_in_a_bar(run: Run, stream_id: int) -> None:
    _, client = run(**TABLE)
    assert labels(client, NAME_ENTRY) == [
        f"NameEntry{{name='feed', initialResolutionHost='127.0.0.1', reResolutionHost='{MOVED}'}}"
    ]
    port = free_port()
    channels = (f"aeron:udp?endpoint={name}:{port}" for name in ("feed", "127.0.0.1"))
    assert said(client, *channels, stream_id).data == b"from here to there"


@pytest.mark.error_log("name table", "name.resolver", "unknown host", "unresolved - endpoint")
def test_a_table_without_whole_entries_is_no_table(run: Run, stream_id: int) -> None:
    _, client = run(**TABLE | {"AERON_NAME_RESOLVER_INIT_ARGS": "feed,127.0.0.1|too,many,of,them"})
    assert labels(client, NAME_ENTRY) == []
    with pytest.raises(RegistrationError):
        client.add_publication("aeron:udp?endpoint=feed:24567", stream_id)


@pytest.mark.slow
def test_a_tagged_subscription_goes_where_its_name_has_gone(
    run: Run, our_driver: Server, our_client: Callable[..., Aeron], stream_id: int
) -> None:
    server, client = run(**TABLE, AERON_DRIVER_RERESOLUTION_CHECK_INTERVAL="100ms")
    control = f"{MOVED}:{free_port(MOVED)}"
    channel = f"aeron:udp?control={control}|control-mode=dynamic|term-length=64k"
    there = our_client(our_driver.aeron_dir)
    ids = (stream_id, stream_id + 100_000)
    publications = [there.add_publication(channel, each) for each in ids]
    named = f"aeron:udp?endpoint=127.0.0.1:0|control=feed:{control.rpartition(':')[2]}|tags=7"
    subscriptions = [
        client.add_subscription(uri, each)
        for uri, each in zip((named, "aeron:udp?tags=7"), ids, strict=True)
    ]
    counters = CncFile.open(RealFileSystem(), server.aeron_dir, writable=True).counters
    entry = next(each for each in client.counters.values() if each.type_id == NAME_ENTRY)
    counters.set_value(entry.counter_id, 1)
    for publication, subscription in zip(publications, subscriptions, strict=True):
        publication.wait_connected(30)
        publication.send(b"found you", timeout=30.0)
        assert next(subscription.messages(timeout=30)).data == b"found you"


def test_a_first_neighbor_that_is_there_tells_its_name(
    run: Run, start_server: Callable[..., Server], our_client: Callable[..., Aeron]
) -> None:
    there = start_server(
        "ours",
        "driver",
        properties={
            "aeron.driver.resolver.name": "there",
            "aeron.driver.resolver.interface": "127.0.0.1:0",
            "aeron.driver.resolver.self.resolution.interval": "200ms",
        },
    )
    ((bound),) = labels(our_client(there.aeron_dir), NEIGHBORS)
    neighbor = f"localhost:{bound.rpartition(':')[2]}"
    interface = f"127.0.0.1:{free_port()}"  # the driver in C tells others no port that it was given
    _, client = run(**gossip(interface, neighbor))
    wait_until(lambda: value(client, CACHE) == 1, "the other driver's name")
    assert value(client, NEIGHBORS) == 1


@pytest.mark.error_log(
    "Invalid argument",
    "address:port is required",
    "port out of range",
    "unknown host",
    "unresolved - endpoint",
)
@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("nowhere.invalid:8050", ["nowhere.invalid:8050"]),
        ("garbage", ["garbage"]),
        ("localhost:99999999,,garbage", ["localhost:99999999", "garbage"]),
    ],
)
def test_first_neighbors_that_cannot_be_found(
    run: Run, stream_id: int, text: str, names: list[str]
) -> None:
    _, client = run(**gossip("127.0.0.1:0", text))
    assert labels(client, BOOTSTRAP) == [
        f"Bootstrap neighbor: name={name} resolved=" for name in names
    ]
    assert said(client, "aeron:ipc", "aeron:ipc", stream_id).data == b"from here to there"


def test_what_is_lost_is_asked_for_at_once(
    run: Run, start_server: Callable[..., Server], our_client: Callable[..., Aeron], stream_id: int
) -> None:
    _, client = run(AERON_NAK_UNICAST_DELAY="0")
    lossy = {"aeron.rehearse.send.data": "rate=0.2|seed=3"}
    there = our_client(start_server("ours", "driver", properties=lossy).aeron_dir)
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    subscription = client.add_subscription(channel, stream_id)
    publication = there.add_publication(channel, stream_id)
    publication.wait_connected(30)
    transfer(publication, [Receipt(subscription)], checked_messages(500))
    assert client.counters[5].value > 0  # NAKs sent


def test_receive_times_of_the_kernel_need_no_setting(run: Run, stream_id: int) -> None:
    _, client = run()
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    before = time.time_ns()
    message = said(client, channel, f"{channel}|media-rcv-ts-offset=reserved", stream_id)
    assert before < message.reserved_value < time.time_ns()


@pytest.mark.error_log("onPublicationError", "registrationId")
def test_a_rejected_ipc_image_is_counted(run: Run, stream_id: int) -> None:
    _, client = run()
    subscription = client.add_subscription("aeron:ipc", stream_id)
    publication = client.add_publication("aeron:ipc", stream_id)
    subscription.wait_connected(30)
    subscription.images[0].reject("no more of this")
    wait_until(lambda: not subscription.images, "the image to go")
    assert client.counters[IMAGES_REJECTED].value == 1
    publication.close()


@pytest.fixture(params=["ours", "c"])
def printed(request, reference, aeron_dir: Path) -> Iterator[str]:
    """What a driver writes to its standard output until clients can connect, and nothing more."""
    command = [sys.executable, "-m", "aerolog.transport.driver"]
    if request.param == "c":
        c_reference(STANDARD)
        command = [str(c_programs().driver)]
    environment = {"AERON_DIR": str(aeron_dir), "AERON_PRINT_CONFIGURATION": "true"}
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment, "AERON_MTU_LENGTH": "2k"},
    ) as process:
        assert process.stdout is not None
        lines: list[str] = []
        while not lines or "ready" not in lines[-1]:
            lines.append(process.stdout.readline())
        yield "".join(lines)
        if request.param == "ours":
            process.terminate()
        process.communicate(timeout=30)


def test_settings_are_printed_to_the_standard_output(printed: str) -> None:
    lines = re.findall(r"^    (\w+)=(.*)$", printed, re.MULTILINE)
    found = {
        re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", name): text for name, text in lines
    }
    expected = {
        "cnc_version": "0.2.0",
        "mtu_length": "2048",
        "ipc_mtu_length": "1408",
        "term_buffer_length": "16777216",
        "image_liveness_timeout_ns": "10000000000",
        "nak_unicast_delay_ns": "1000",
    }
    assert {name: found.get(name) for name in expected} == expected


# What C's log of errors has without a category, Java's has with one.
@pytest.mark.error_log("option conflicts with existing subscription", "space is running low")
@pytest.mark.parametrize("implementation", ["ours", "reference"])
def test_errors_in_the_log_tell_how_grave_they_are(
    start_server: Callable[..., Server],
    our_client: Callable[..., Aeron],
    stream_id: int,
    implementation: str,
) -> None:
    properties = {"aeron.low.file.store.warning.threshold": "8000g"}
    server = start_server(implementation, "driver", properties=properties)
    client = our_client(server.aeron_dir)
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    client.add_publication(channel, stream_id)
    with client.add_subscription(channel, stream_id), pytest.raises(RegistrationError):
        client.add_subscription(f"{channel}|reliable=false", stream_id)
    errors = CncFile.open(RealFileSystem(), server.aeron_dir).errors()
    heads = [each.text.splitlines()[0].partition("=")[0] for each in errors]
    assert [head.partition(": ")[2] for head in heads] == [
        "WARN - space is running low: threshold",
        "ERROR - option conflicts with existing subscription: reliable",
    ]


@pytest.mark.error_log("AgentTerminationException", "MediaDriver", "media driver")
@pytest.mark.parametrize("implementation", ["ours", "reference"])
def test_the_end_of_its_driver_is_fatal_in_the_log_of_an_archive(
    start_server: Callable[..., Server], aeron_dir: Path, implementation: str
) -> None:
    driver = start_server("ours", "driver", aeron_dir=aeron_dir)
    properties = {"aeron.driver.timeout": "1000"}
    archive = start_server(implementation, "archive", aeron_dir=aeron_dir, properties=properties)
    driver.process.kill()
    mark_file = archive.archive_dir / "archive-mark.dat"
    found = wait_until(
        lambda: re.search(rb"DriverTimeout\w+: (\w+ - )", mark_file.read_bytes()),
        "an error in the archive's log",
    )
    assert found[1] == b"FATAL - "
    if archive.process.running:  # ours ends by itself
        archive.process.kill()
