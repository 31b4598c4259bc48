"""What the reference in C does otherwise in later versions (docs/compatibility/versions.md)."""

import os
import socket
import struct
import subprocess
from pathlib import Path

import peer
import pytest
from peer.c_build import CRATES, STANDARD, c_programs, version_of
from peer.counters import SYSTEM_IDS, DriverCounters
from peer.streams import free_port
from waits import wait_until

from aerolog.transport.errors import RegistrationError

pytestmark = pytest.mark.interop

NAMES = ["c", *(f"c-{version}" for version in list(CRATES)[1:])]
VERSIONS = [pytest.param(name, marks=[] if name == "c" else [pytest.mark.slow]) for name in NAMES]
LATER = [pytest.param(name, marks=[pytest.mark.slow]) for name in NAMES[1:]]

HELPER_SETTINGS = {
    "native_resource_agent_cpu_affinity_no",
    "native_resource_agent_idle_strategy_func",
    "native_resource_agent_idle_strategy_init_args",
}
# The printed settings that 1.51.0 does not have.
NEW_SETTINGS = {
    "1.52.2": {*HELPER_SETTINGS, "cpuset_affinity", "cpuset_warnings_as_errors"},
    "1.54.0": {
        *HELPER_SETTINGS,
        "native_resource_agent_cpu_affinity_resolved",
        "conductor_cpu_affinity_resolved",
        "receiver_cpu_affinity_resolved",
        "sender_cpu_affinity_resolved",
        "thread_affinity_use_cpuset_offsets",
        "thread_affinity_fail_on_validation_errors",
        "socket_tos",
        "receiver_poll_to_slow_work_ratio",
        "udp_channel_transport_poller_iteration_threshold",
        "udp_channel_transport_poller_socket_poll_limit",
    },
}
GONE_SETTINGS = {
    "async_executor_enabled",
    "async_executor_idle_strategy_func",
    "async_executor_idle_strategy_init_args",
}


def frame(frame_type: int, length: int, *, stated: int | None = None) -> bytes:
    """A datagram of so many bytes that begins as a frame of a type, zeros behind its head."""
    head = struct.pack("<iBBH", length if stated is None else stated, 0, 0, frame_type)
    return head.ljust(length, b"\0")[:length]


# Datagrams, and the version since which they count as invalid packets.
DATAGRAMS = {
    "one byte": (b"x", STANDARD),
    "data of 16 bytes": (frame(1, 16), STANDARD),
    "a setup of 8 bytes": (frame(5, 8), STANDARD),
    "data of 33 bytes": (frame(1, 33), "1.54.0"),
    "a setup of zeros": (frame(5, 40), "1.54.0"),
    "an unknown type": (frame(0x55, 32), "1.54.0"),
    "data of a negative length": (frame(1, 32, stated=-5), "1.54.0"),
    "data without a message": (frame(1, 32), ""),
}


def numbers(version: str) -> tuple[int, ...]:
    """A version in a form that can be compared."""
    return tuple(map(int, version.split(".")))


def is_since(name: str, version: str) -> bool:
    """Whether what "c" or "c-1.52.2" names is of a version or later."""
    return numbers(version_of(name)) >= numbers(version)


@pytest.fixture(params=VERSIONS)
def c_driver(request, session_servers):
    """The driver in C of each version, shared by the run."""
    return session_servers(request.param, "driver")


def test_the_driver_tells_its_version(c_driver, our_client):
    counters = our_client(c_driver.aeron_dir).counters
    version = version_of(c_driver.implementation)
    assert counters[34].label.startswith(f"Aeron software: version={version} commit=")
    assert counters[SYSTEM_IDS["errors"]].label.startswith(f"Errors: version={version} commit=")


def test_the_counter_of_refused_offers_to_the_helping_thread(c_driver, our_client):
    is_new = is_since(c_driver.implementation, "1.52.2")
    name = "NativeResourceAgentProxy" if is_new else "AsyncExecutorProxy"
    assert our_client(c_driver.aeron_dir).counters[45].label == f"Failed offers to {name}"


@pytest.mark.parametrize("mode", ["DEDICATED", "SHARED"])
@pytest.mark.parametrize("name", VERSIONS)
def test_the_name_of_the_helping_thread(start_server, our_client, name, mode):
    server = start_server(name, "driver", properties={"aeron.threading.mode": mode})
    our_client(server.aeron_dir)  # its threads run by then
    is_new = is_since(name, "1.52.2")
    expected = set() if is_new and mode == "SHARED" else {"aeron-md-nra"}
    if not is_new:
        expected = {"aeron-executor"}

    def names() -> set[str]:
        tasks = Path(f"/proc/{server.pid}/task").glob("*/comm")
        return {name for each in tasks if (name := each.read_text().strip()).startswith("aeron-")}

    wait_until(lambda: names() == expected, f"{names()}: {expected}")  # a thread names itself


@pytest.mark.parametrize("name", LATER)
def test_settings_that_are_new_or_gone(start_server, name):
    properties = {"aeron.print.configuration": "true"}
    before, after = (
        dict(
            line.strip().split("=", 1)
            for line in start_server(each, "driver", properties=properties)
            .process.log()
            .splitlines()
            if line.startswith("    ") and "=" in line
        )
        for each in ("c", name)
    )
    assert set(after) - set(before) == NEW_SETTINGS[version_of(name)]
    assert set(before) - set(after) == GONE_SETTINGS
    assert (before["resource_free_limit"], after["resource_free_limit"]) == ("10", "1")


def test_an_empty_value_at_the_end_of_a_channel(c_driver, our_client, stream_id):
    client = our_client(c_driver.aeron_dir)
    if is_since(c_driver.implementation, "1.54.0"):
        with pytest.raises(RegistrationError, match="empty value not allowed"):
            client.add_publication("aeron:ipc?alias=", stream_id)
    else:
        client.add_publication("aeron:ipc?alias=", stream_id).close()


def test_a_parameter_whose_name_only_begins_like_another(c_driver, our_client, stream_id):
    client = our_client(c_driver.aeron_dir)
    if is_since(c_driver.implementation, "1.54.0"):
        client.add_publication("aeron:ipc?mtu-x=77", stream_id).close()
    else:
        with pytest.raises(RegistrationError, match="mtuLength must be a multiple"):
            client.add_publication("aeron:ipc?mtu-x=77", stream_id)


def test_the_type_of_service_of_a_channel(c_driver, our_client, stream_id):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(30)
        port = receiver.getsockname()[1]
        client = our_client(c_driver.aeron_dir)
        channel = f"aeron:udp?endpoint=127.0.0.1:{port}|so-tos=16"
        with client.add_publication(channel, stream_id):
            _, ancillary, _, _ = receiver.recvmsg(2048, 256)
    ((_, _, value),) = ancillary
    assert value[0] == (16 if is_since(c_driver.implementation, "1.54.0") else 0)


@pytest.mark.parametrize("name", VERSIONS)
def test_datagrams_that_count_as_invalid(start_server, our_client, stream_id, name):
    client = our_client(start_server(name, "driver").aeron_dir)
    counters = DriverCounters(client.counters)
    found = {}
    with (
        client.add_subscription("aeron:udp?endpoint=127.0.0.1:0", stream_id) as subscription,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
    ):
        wait_until(lambda: subscription.resolved_endpoint, "a port")
        host, _, port = subscription.resolved_endpoint.rpartition(":")
        sender.connect((host, int(port)))
        for what, (content, _) in DATAGRAMS.items():
            before = counters.all_system()
            taken = before["bytes_received"] + len(content)
            sender.send(content)
            wait_until(lambda taken=taken: counters.system("bytes_received") >= taken, what)
            found[what] = counters.system("invalid_packets") - before["invalid_packets"]
    expected = {
        what: since != "" and is_since(name, since) for what, (_, since) in DATAGRAMS.items()
    }
    assert found == expected


@pytest.mark.parametrize("name", [pytest.param("c-1.54.0", marks=pytest.mark.slow)])
def test_datagrams_within_the_window_are_taken_for_over_runs(
    session_servers, our_driver, our_client, stream_id, name
):
    receiving = our_client(session_servers(name, "driver").aeron_dir)
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    subscription = receiving.add_subscription(channel, stream_id)
    publication = our_client(our_driver.aeron_dir).add_publication(channel, stream_id)
    publication.wait_connected(30)
    counters = DriverCounters(receiving.counters)
    before, message = counters.all_system(), bytes(2500)

    def is_over_run() -> bool:
        for _ in range(20):
            publication.offer(message)
        subscription.poll_messages(64)
        return counters.system("over_runs") > before["over_runs"]

    wait_until(is_over_run, "an over-run")


def test_a_second_driver_in_a_directory_is_refused(c_driver):
    done = subprocess.run(
        [c_programs(version_of(c_driver.implementation)).driver],
        env={**os.environ, "AERON_DIR": c_driver.aeron_dir},
        capture_output=True,
        text=True,
        input="",
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert f"Active media driver detected: {c_driver.aeron_dir}/cnc.dat" in done.stderr
    has_code = done.stderr.startswith("(16) Device or resource busy\n")
    assert has_code == is_since(c_driver.implementation, "1.52.2")


def test_the_archive_client_s_first_request(
    request, our_driver, our_client, peer_client, stream_id
):
    name = request.node.callspec.params["reference_peer"]
    version = version_of(name) or STANDARD
    subscription = our_client(our_driver.aeron_dir).add_subscription("aeron:ipc", stream_id)
    client = peer_client(our_driver.aeron_dir)
    asked = client.peer.background(
        "archive_connect", client=client.handle, request_stream=stream_id, message_timeout_ms=3000
    )
    requests: list[bytes] = []
    wait_until(
        lambda: subscription.poll(lambda message, _: requests.append(bytes(message)), 1),
        "a request",
    )
    template_id, schema_id, schema_version = struct.unpack_from("<HHH", requests[0], 2)
    assert (template_id, schema_id) == (58, 101)  # AuthConnectRequest
    assert schema_version == (14 if numbers(version) >= numbers("1.54.0") else 13)
    assert f"version={version} commit=".encode() in requests[0]
    with pytest.raises(peer.JavaError):  # nobody answers
        asked.result(60)
