"""Real sockets: who hears what, buffers, groups, batches and offload (spec wire-protocol 3)."""

import errno
import socket
import time
from pathlib import Path

import pytest
from prerequisites import skip_without

from aerolog.transport.errors import ConfigurationError, ResourceClosedError
from aerolog.transport.network.port import address_key, is_multicast, normal_address
from aerolog.transport.network.sockets import open_receive_port, open_send_port

LOOPBACK = ("127.0.0.1", 0)
ANY = ("0.0.0.0", 0)
MTU = 1408


def ipv6_multicast_address():
    """An address of this host on an interface that carries IPv6 groups, None without one."""
    table = Path("/proc/net/if_inet6")
    rows = [line.split() for line in table.read_text().splitlines()] if table.exists() else []
    packed = [bytes.fromhex(row[0]) for row in rows if row[5] != "lo" and row[3] == "00"]
    return socket.inet_ntop(socket.AF_INET6, packed[0]) if packed else None


def free_group_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("", 0))
        return sock.getsockname()[1]


def test_datagrams_arrive_whole_and_in_order(pair, take):
    sender, receiver = pair
    datagrams = [bytes([i]) * (i + 1) for i in range(200)]
    assert sender.send_datagrams(datagrams) == 200
    found = take(receiver, 200)
    assert [data for data, _, _ in found] == datagrams
    assert {source for _, source, _ in found} == {sender.local_address}


@pytest.mark.parametrize("length", [1, MTU, MTU + 1, 64 * MTU, 64 * MTU + 32, 150 * MTU + 7])
def test_a_run_is_cut_into_datagrams_of_the_segment_length(pair, take, length):
    sender, receiver = pair
    run = bytes(i * 31 % 251 for i in range(length))
    assert sender.send_datagrams([run, b"after"], segment=MTU) == 2
    expected = [run[i : i + MTU] for i in range(0, length, MTU)] + [b"after"]
    assert [data for data, _, _ in take(receiver, len(expected))] == expected


def test_the_largest_datagrams_pass(pair, take):
    sender, receiver = pair
    run = bytes(i % 253 for i in range(3 * 65504))
    assert sender.send_datagrams([run], segment=65504) == 1
    assert b"".join(data for data, _, _ in take(receiver, 3)) == run


def test_an_empty_datagram_is_delivered_as_one(pair, take):
    sender, receiver = pair
    assert sender.send_datagrams([b""]) == 1
    assert take(receiver, 1)[0][0] == b""


def test_nothing_there_is_not_an_error(pair):
    sender, receiver = pair
    assert receiver.receive_datagrams() == []
    assert sender.receive_datagrams() == []


def test_a_connected_sender_hears_only_its_peer(take):
    with (
        open_receive_port(LOOPBACK) as receiver,
        open_receive_port(LOOPBACK) as stranger,
        open_send_port(receiver.local_address, ANY) as sender,
    ):
        assert stranger.send_datagrams([b"stranger"], sender.local_address) == 1
        assert receiver.send_datagrams([b"peer"], sender.local_address) == 1
        assert [data for data, _, _ in take(sender, 1)] == [b"peer"]


def test_an_unconnected_sender_hears_everybody_and_sends_anywhere(take):
    with (
        open_send_port(None, LOOPBACK) as sender,
        open_receive_port(LOOPBACK) as a,
        open_receive_port(LOOPBACK) as b,
    ):
        for receiver, text in ((a, b"to a"), (b, b"to b")):
            assert sender.send_datagrams([text], receiver.local_address) == 1
            assert take(receiver, 1) == [(text, sender.local_address, 0)]
            assert receiver.send_datagrams([b"answer"], sender.local_address) == 1
        assert len(take(sender, 2)) == 2


def test_a_peer_that_is_not_there_is_no_error(take):
    with open_receive_port(LOOPBACK) as gone:
        address = gone.local_address
    with open_send_port(address, ANY) as sender:
        assert sender.send_datagrams([b"lost"]) == 1
        assert sender.send_datagrams([b"refused"]) == 0  # reports the refusal of the first
        assert sender.send_datagrams([b"lost"]) == 1
        assert sender.receive_datagrams() == []
        with open_receive_port(address) as receiver:
            assert sender.send_datagrams([b"there"]) == 1
            assert take(receiver, 1)[0][0] == b"there"


def test_a_sender_is_pointed_at_another_peer(pair, take):
    sender, receiver = pair
    before = sender.local_address
    with open_receive_port(LOOPBACK) as other:
        sender.connect(other.local_address)
        assert sender.local_address == before
        assert sender.send_datagrams([b"moved"]) == 1
        assert take(other, 1)[0][0] == b"moved"
        assert receiver.receive_datagrams() == []


def test_a_taken_port_is_refused_and_nothing_stays_open():
    with open_receive_port(LOOPBACK) as first:
        with pytest.raises(OSError) as refused:
            open_receive_port(first.local_address)
        assert refused.value.errno == errno.EADDRINUSE
        address = first.local_address
    open_receive_port(address).close()


def test_buffers_have_the_lengths_asked_for():
    with open_receive_port(LOOPBACK, so_rcvbuf=65536, so_sndbuf=32768) as port:
        # Linux reports twice what it was asked for, the other half is its bookkeeping.
        assert port.receive_buffer_length in {65536, 131072}
        assert port.send_buffer_length in {32768, 65536}


def test_arrival_times_are_the_kernel_s_when_asked_for(take):
    with (
        open_receive_port(LOOPBACK, timestamps=True) as receiver,
        open_send_port(receiver.local_address, ANY) as sender,
    ):
        before = time.time_ns()
        sender.send_datagrams([b"x" * 100], segment=32)
        times = [stamp for _, _, stamp in take(receiver, 4)]
        assert all(before - 10_000_000 <= stamp <= time.time_ns() for stamp in times)


def test_offload_can_be_switched_off(take):
    with (
        open_receive_port(LOOPBACK, offload=False) as receiver,
        open_send_port(receiver.local_address, ANY, offload=False) as sender,
    ):
        assert not receiver.coalescing
        assert not sender.segmentation
        assert sender.send_datagrams([bytes(10 * MTU)], segment=MTU) == 1
        assert [len(data) for data, _, _ in take(receiver, 10)] == [MTU] * 10


def test_a_refused_datagram_does_not_switch_offload_off(pair, take):
    sender, receiver = pair
    before = sender.segmentation
    with pytest.raises(OSError, match="too long"):
        sender.send_datagrams([bytes(70_000)])
    assert sender.segmentation == before
    assert sender.send_datagrams([b"next"]) == 1
    assert take(receiver, 1)[0][0] == b"next"


def test_what_was_taken_before_a_refusal_is_told(pair, take):
    sender, receiver = pair
    assert sender.send_datagrams([b"first", bytes(70_000), b"third"]) == 1
    with pytest.raises(OSError) as refused:
        sender.send_datagrams([bytes(70_000), b"third"])
    assert refused.value.errno == errno.EMSGSIZE
    assert [data for data, _, _ in take(receiver, 1)] == [b"first"]


def test_a_group_is_heard_and_answered(take):
    port = free_group_port()
    data, control = ("224.20.30.39", port), ("224.20.30.40", port)
    with (
        open_receive_port(data, LOOPBACK, ttl=3) as receiver,
        open_receive_port(data, LOOPBACK) as second,
        open_send_port(data, LOOPBACK, control=control, ttl=4) as sender,
    ):
        assert sender.ttl == 4
        assert (receiver.ttl, second.ttl) == (3, 0)
        assert receiver.local_address == sender.local_address == ("0.0.0.0", port)
        assert sender.send_datagrams([b"data"]) == 1
        for one in (receiver, second):
            found = take(one, 1)
            assert found[0][0] == b"data"
            assert found[0][1][1] != port
        assert receiver.send_datagrams([b"status"], control) == 1
        assert take(sender, 1) == [(b"status", ("127.0.0.1", port), 0)]
        # Same port, other group: IP_MULTICAST_ALL is off.
        assert sender.receive_datagrams() == receiver.receive_datagrams() == []


def test_a_group_of_ipv6_is_heard_and_answered(take):
    local = ipv6_multicast_address()
    if local is None:
        skip_without("no interface with IPv6 but loopback, which carries no groups")
    port = free_group_port()
    data, control = ("ff02::3", port), ("ff02::4", port)
    with (
        open_receive_port(data, (local, 0), ttl=3) as receiver,
        open_send_port(data, (local, 0), control=control, ttl=4) as sender,
    ):
        assert (sender.ttl, receiver.ttl) == (4, 3)
        assert sender.send_datagrams([b"data"]) == 1
        assert take(receiver, 1)[0][0] == b"data"
        assert receiver.send_datagrams([b"status"], control) == 1
        assert take(sender, 1)[0][0] == b"status"


def test_ipv6_unicast_fits_the_ipv4_wildcard_as_local(take):
    with (
        open_receive_port(("::1", 0)) as receiver,
        open_send_port(receiver.local_address, ANY) as sender,
    ):
        assert sender.send_datagrams([b"six"]) == 1
        assert take(receiver, 1) == [(b"six", sender.local_address, 0)]
        assert sender.local_address[0] == "::1"


@pytest.mark.parametrize(
    ("remote", "local", "control"),
    [
        (("localhost", 1), ANY, None),
        (("127.0.0.1", 65536), ANY, None),
        (("127.0.0.1", -1), ANY, None),
        (("::1", 1), LOOPBACK, None),
        (("224.0.1.1", 1), LOOPBACK, None),
        (("224.0.1.1", 1), LOOPBACK, ("127.0.0.1", 1)),
        (("fe80::1%no-such-interface", 1), ("::", 0), None),
    ],
)
def test_addresses_that_cannot_be_are_refused(remote, local, control):
    with pytest.raises(ConfigurationError):
        open_send_port(remote, local, control=control)


def test_a_closed_port_says_so(pair):
    sender, receiver = pair
    for port in (sender, receiver):
        port.close()
        port.close()
        assert port.closed
        with pytest.raises(ResourceClosedError):
            _ = port.local_address
        with pytest.raises(OSError) as refused:
            port.receive_datagrams()
        assert refused.value.errno == errno.EBADF
        with pytest.raises(OSError) as refused:
            port.send_datagrams([b"late"])
        assert refused.value.errno == errno.EBADF


def test_addresses_are_told_apart():
    assert is_multicast(("224.0.0.1", 0))
    assert is_multicast(("239.255.255.255", 0))
    assert is_multicast(("ff02::1", 0))
    assert not is_multicast(("223.255.255.255", 0))
    assert not is_multicast(("240.0.0.1", 0))
    assert not is_multicast(("fe80::1", 0))
    assert normal_address(("0:0::0:1", 7)) == ("::1", 7)


def test_addresses_have_keys_of_their_own():
    addresses = [(f"10.0.{i}.{j}", port) for i in range(4) for j in range(4) for port in (1, 256)]
    addresses += [(f"fd00::{i}", port) for i in range(16) for port in (1, 256)]
    assert len({address_key(address) for address in addresses}) == len(addresses)
    assert address_key(("::1", 7)) == address_key(("0:0::0:1", 7))
