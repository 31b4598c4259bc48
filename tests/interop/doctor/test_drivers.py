"""Real drivers, broken: the doctor names the cause."""

from __future__ import annotations

import signal
import socket

import pytest
from peer.streams import free_port
from waits import wait_until

from aerolog.tools.doctor.findings import Area, Severity
from aerolog.tools.views import machine
from aerolog.transport.errors import RegistrationError

from .conftest import client_process

pytestmark = pytest.mark.interop

LOSSY = {
    "aeron.ReceiveChannelEndpoint.supplier": (
        "io.aeron.driver.ext.DebugReceiveChannelEndpointSupplier"
    ),
    "aeron.debug.receive.data.loss.rate": "0.2",
    "aeron.debug.receive.data.loss.seed": "5",
}
SHORT_LIVED = {
    "aeron.client.liveness.timeout": "4s",
    "aeron.publication.unblock.timeout": "5s",
    "aeron.timer.interval": "100ms",
}


LONG_LIVED = {
    "aeron.client.liveness.timeout": "120s",
    "aeron.publication.unblock.timeout": "150s",
}
KINDS = ("ours", "reference")


def offer_until_full(publication):
    """Publishes until nothing more is taken."""
    publication.wait_connected(30, writable=True)
    wait_until(lambda: publication.offer(bytes(1000)) < 0, "back pressure")


def test_killed_drivers_are_dead(start_server, doctor):
    servers = [start_server(kind, "driver") for kind in KINDS]
    for server in servers:
        server.process.kill()
    for server in servers:
        found = doctor(server.aeron_dir).find("driver-dead")
        assert found.severity is Severity.CRITICAL
        assert found.figures["pid"] == server.pid


def test_a_driver_that_was_stopped_in_order_is_closed(start_server, doctor, implementation):
    server = start_server(implementation, "driver")
    server.process.stop()
    assert doctor(server.aeron_dir).find("driver-closed").severity is Severity.CRITICAL


def test_drivers_and_clients_that_stand_still(start_server, doctor):
    stopped = [start_server(kind, "driver") for kind in KINDS]
    served = [start_server(kind, "driver", properties=LONG_LIVED) for kind in KINDS]
    with client_process(served[0]) as one, client_process(served[1]) as other:
        standing = [server.process.process for server in stopped] + [one, other]
        for process in standing:
            process.send_signal(signal.SIGSTOP)
        try:
            for server in served:
                late = doctor(server.aeron_dir).find("client-late")
                assert late.figures["age_ms"] > 5_000
                assert late.figures["timeout_ms"] == 120_000
            for server in stopped:
                stuck = doctor(server.aeron_dir).find("driver-stuck")
                assert "stopped by a signal" in stuck.what
                assert f"kill -CONT {server.pid}" in stuck.remedy
        finally:
            for process in standing:
                process.send_signal(signal.SIGCONT)
    for server in stopped:
        slow = doctor(server.aeron_dir).find("cycle-was-slow", lambda f: "conductor" in f.subject)
        assert slow.figures["longest"] > 1_000_000_000


def test_a_healthy_driver_with_streams_has_nothing_grave(
    start_server, doctor, implementation, connect, stream_id
):
    server = start_server(implementation, "driver")
    client = connect(server)
    port = free_port()
    for channel in ("aeron:ipc", f"aeron:udp?endpoint=localhost:{port}|term-length=1m"):
        subscription = client.add_subscription(channel, stream_id)
        publication = client.add_exclusive_publication(channel, stream_id)
        publication.wait_connected(30, writable=True)
        for _ in range(100):
            publication.send(bytes(100), timeout=30)
            subscription.poll(lambda *_: None, 10)
        wait_until(
            lambda s=subscription, p=publication: (
                s.poll(lambda *_: None, 10) == 0
                and any(image.position == p.position for image in s.images)
            ),
            "all messages to be read",
        )
    judged = {Area.PUBLISHERS, Area.LOSS, Area.SOCKETS, Area.SETTINGS, Area.CAPACITY, Area.ERRORS}
    found = doctor(server.aeron_dir).look()
    grave = [one for one in found if one.severity > Severity.NOTICE and one.kind.area in judged]
    assert [one.as_json() for one in grave] == []


def test_a_subscriber_that_stops_is_named_and_so_is_whom_it_holds_back(
    any_driver, doctor, connect, stream_id
):
    client = connect(any_driver)
    subscription = client.add_subscription("aeron:ipc", stream_id)
    publication = client.add_exclusive_publication("aeron:ipc", stream_id)
    offer_until_full(publication)
    mine = f"stream {stream_id},"
    # A client's name stands in its label a moment after the client does.
    held = doctor(any_driver.aeron_dir).find(
        "publisher-blocked", lambda f: mine in f.subject and "'tester'" in f.what
    )
    assert f"subscription {subscription.registration_id} of client" in held.what
    stopped = doctor(any_driver.aeron_dir).find(
        "subscriber-stopped", lambda f: f.figures["registration_id"] == subscription.registration_id
    )
    assert stopped.severity is Severity.CRITICAL
    assert stopped.figures["lag"] >= stopped.figures["window"]


def test_a_subscriber_across_the_network_is_named_too(any_driver, doctor, connect, stream_id):
    client = connect(any_driver)
    channel = f"aeron:udp?endpoint=localhost:{free_port()}"
    subscription = client.add_subscription(channel, stream_id)
    publication = client.add_exclusive_publication(channel, stream_id)
    offer_until_full(publication)
    mine = f"stream {stream_id},"
    held = doctor(any_driver.aeron_dir).find("publisher-blocked", lambda f: mine in f.subject)
    assert f"subscription {subscription.registration_id}" in held.what
    small = doctor(any_driver.aeron_dir).find("window-half-term", lambda f: mine in f.subject)
    assert small.figures["window"] == 32_768


def test_a_claim_that_is_never_committed_blocks(
    start_server, doctor, implementation, connect, stream_id
):
    server = start_server(implementation, "driver", properties=LONG_LIVED)
    client = connect(server)
    subscription = client.add_subscription("aeron:ipc", stream_id)
    publication = client.add_publication("aeron:ipc", stream_id)
    publication.wait_connected(30, writable=True)
    claim = publication.try_claim(100)
    try:
        found = doctor(server.aeron_dir).find(
            "publication-blocked", lambda f: f"stream {stream_id}," in f.subject
        )
        assert found.figures == {"position": 0, "waiting": 160}
    finally:
        claim.commit()
    subscription.close()


def test_a_publisher_without_subscribers_is_told(any_driver, doctor, connect, stream_id):
    publication = connect(any_driver).add_publication("aeron:ipc", stream_id)
    found = doctor(any_driver.aeron_dir).find(
        "publisher-unconnected", lambda f: f"stream {stream_id}," in f.subject
    )
    assert found.figures["position"] == publication.position == 0
    publication.close()


def test_killed_clients_are_counted_when_they_are_given_up(start_server, doctor):
    servers = [start_server(kind, "driver", properties=SHORT_LIVED) for kind in KINDS]
    with client_process(servers[0]) as one, client_process(servers[1]) as other:
        one.kill()
        other.kill()
        for server in servers:
            found = doctor(server.aeron_dir).find("clients-timed-out")
            assert found.figures["count"] == 1
            assert found.figures["timeout_ms"] == 4_000


def test_loss_that_is_not_this_machine_s_is_the_network_s(
    start_server, doctor, implementation, connect, stream_id
):
    server = start_server(implementation, "driver", properties=LOSSY)
    client = connect(server)
    channel = f"aeron:udp?endpoint=localhost:{free_port()}"
    subscription = client.add_subscription(channel, stream_id)
    publication = client.add_exclusive_publication(channel, stream_id)
    publication.wait_connected(30, writable=True)

    def lost() -> bool:
        for _ in range(10):
            publication.offer(bytes(1000))
            subscription.poll(lambda *_: None, 10)
        return any(one.code == "loss-network" for one in doctor(server.aeron_dir).look())

    wait_until(lost, "a loss")
    found = doctor(server.aeron_dir).find("loss-network")
    assert found.figures["bytes"] > 0
    assert f"stream {stream_id}," in found.subject
    assert "rehearsal" in found.reason


def test_datagrams_that_find_the_socket_full_are_this_machine_s(
    start_server, doctor, implementation, connect, stream_id
):
    server = start_server(implementation, "driver")
    client, port = connect(server), free_port()
    channel = f"aeron:udp?endpoint=localhost:{port}|so-rcvbuf=64k|rcv-wnd=32k"
    subscription = client.add_subscription(channel, stream_id)
    wait_until(lambda: any(one.port == port for one in machine.sockets(server.pid)), "the socket")
    server.process.process.send_signal(signal.SIGSTOP)
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:

            def dropped() -> bool:
                for _ in range(100):
                    stranger.sendto(b"\x7f" * 1000, ("127.0.0.1", port))
                return any(one.port == port and one.drops for one in machine.sockets(server.pid))

            wait_until(dropped, "the socket to be full")
    finally:
        server.process.process.send_signal(signal.SIGCONT)
    found = doctor(server.aeron_dir).find("loss-socket-full")
    assert found.figures["port"] == port
    assert found.figures["drops"] > 0
    doctor(server.aeron_dir).find("packets-invalid")
    subscription.close()


def test_a_buffer_that_the_system_does_not_grant_is_told(any_driver, doctor, connect, stream_id):
    client = connect(any_driver)
    channel = f"aeron:udp?endpoint=localhost:{free_port()}|so-rcvbuf=512m|so-sndbuf=512m"
    subscription = client.add_subscription(channel, stream_id)
    publication = client.add_publication(channel, stream_id).wait_connected(30)
    for code in ("receive-buffer-capped", "send-buffer-capped"):
        found = doctor(any_driver.aeron_dir).find(code)
        assert found.figures["asked"] == 512 << 20
        assert found.figures["granted"] < 512 << 20
    publication.close()
    subscription.close()


def test_what_a_driver_logs_is_shown_with_its_first_line(any_driver, doctor, connect):
    client = connect(any_driver)
    taken = free_port()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as holder:
        holder.bind(("127.0.0.1", taken))
        with pytest.raises(RegistrationError):
            client.add_subscription(f"aeron:udp?endpoint=127.0.0.1:{taken}", 1)
    found = doctor(any_driver.aeron_dir).find("error-logged", lambda f: str(taken) in f.what)
    assert found.figures["count"] >= 1
    assert "\n" not in found.what
