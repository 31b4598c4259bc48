"""The gossip of driver names, held against captured frames, and networks of it."""

import random
from ipaddress import ip_address

import pytest

from aerolog.transport.errors import ConfigurationError
from aerolog.transport.network.addresses import SocketAddress
from aerolog.transport.network.name_gossip import (
    MAX_CACHE_ENTRIES,
    MAX_NEIGHBORS,
    GossipOptions,
    NameGossip,
    parse_bootstrap,
)
from aerolog.transport.network.resolvers import DefaultNameResolver, GossipNameResolver
from aerolog.transport.protocol.frame_codec import (
    ResolutionEntry,
    ResolutionFrame,
    decode_frame,
    encode_frame,
)

S = 1_000_000_000
MS = 1_000_000
SELF = 0x80

CAPTURED_SELF = bytes.fromhex(
    "20 00 00 00 00 00 07 00 01 80 98 53 00 00 00 00 7f 00 00 01 05 00 64 72 76 2d 6100 00 00 00 00"
)
CAPTURED_TABLE = bytes.fromhex(
    "38 00 00 00 00 00 07 00 01 00 99 53 eb 02 00 00 7f 00 00 01 06 00 70 65 65 72 2d 62"
    "00 00 00 00 01 00 9a 53 d4 04 00 00 7f 00 00 01 06 00 70 65 65 72 2d 63 00 00 00 00"
)


def address(port, host="127.0.0.1"):
    return SocketAddress(ip_address(host), port)


def gossip(name="drv-a", port=21400, **options):
    options.setdefault("bootstrap", ("localhost:21401",))
    return NameGossip(GossipOptions(name=name, **options), address(port), 0)


def frame(*entries):
    return encode_frame(ResolutionFrame(entries))


def entry(name, port, host="127.0.0.1", age_ms=0, flags=SELF):
    return ResolutionEntry(name, host, port, age_ms, flags)


def test_the_own_name_goes_to_a_bootstrap_neighbor_at_once_and_every_second():
    driver = gossip()
    assert driver.poll(0).lookups == ["localhost:21401"]
    driver.on_bootstrap_resolved("localhost:21401", address(21401))
    times = []
    for now_ns in range(10 * MS, 2500 * MS, 10 * MS):
        work = driver.poll(now_ns)
        if work.frames:
            assert work.frames == [(CAPTURED_SELF, address(21401))]
            times.append(now_ns // MS)

    assert times == [10, 1010, 2010]


def test_the_table_of_names_goes_to_all_neighbors_as_captured():
    driver = gossip(bootstrap=())
    peer_b, peer_c = address(21401), address(21402)
    now_ns = 2000 * MS
    assert driver.on_datagram(frame(entry("peer-b", 21401)), peer_b, now_ns - 747 * MS)
    assert driver.on_datagram(frame(entry("peer-c", 21402)), peer_c, now_ns - 1236 * MS)

    sent = [out for out in driver.poll(now_ns).frames if out.frame != CAPTURED_SELF]
    assert sent == [(CAPTURED_TABLE, peer_b), (CAPTURED_TABLE, peer_c)]


def test_a_name_without_address_is_that_of_its_sender():
    driver = gossip()
    driver.on_datagram(frame(entry("peer", 9, "0.0.0.0")), address(5, "10.0.0.5"), 0)

    assert driver.address_of("peer") == ip_address("10.0.0.5")
    assert driver.neighbor_count == 1


def test_a_neighbor_of_a_neighbor_is_met():
    driver = gossip(bootstrap=())
    driver.on_datagram(frame(entry("far", 9, "10.0.0.9", flags=0)), address(5), 0)

    assert driver.poll(0).frames[0].destination == address(9, "10.0.0.9")


def test_what_is_said_of_oneself_is_ignored():
    driver = gossip()
    driver.on_datagram(frame(entry("drv-a", 21400, "10.0.0.9", flags=0)), address(5), 0)

    assert (driver.neighbor_count, driver.cache_entry_count) == (0, 0)
    assert driver.address_of("drv-a") == ip_address("127.0.0.1")


def test_names_and_neighbors_are_forgotten_after_the_timeout():
    driver = gossip(neighbor_timeout_ns=10 * S, bootstrap=())
    driver.on_datagram(frame(entry("peer", 9)), address(9), 0)

    driver.poll(10 * S - 1)
    assert (driver.neighbor_count, driver.cache_entry_count) == (1, 1)
    driver.poll(10 * S)
    assert (driver.neighbor_count, driver.cache_entry_count) == (0, 1)
    driver.poll(10 * S + 1)
    assert driver.address_of("peer") is None


def test_only_the_peer_itself_keeps_a_neighbor_alive():
    driver = gossip(neighbor_timeout_ns=10 * S, bootstrap=())
    driver.on_datagram(frame(entry("peer", 9)), address(9), 0)
    driver.on_datagram(frame(entry("peer", 9, flags=0)), address(5), 5 * S)
    driver.poll(10 * S)

    assert (driver.neighbor_count, driver.cache_entry_count) == (0, 1)


def test_what_is_repeated_late_is_no_news():
    driver = gossip()
    driver.on_datagram(frame(entry("peer", 9, "10.0.0.2")), address(9), 5 * S)
    driver.on_datagram(frame(entry("peer", 9, "10.0.0.1", 3000, flags=0)), address(7), 6 * S)
    assert driver.address_of("peer") == ip_address("10.0.0.2")

    driver.on_datagram(frame(entry("peer", 9, "10.0.0.3", 100, flags=0)), address(7), 6 * S)
    assert driver.address_of("peer") == ip_address("10.0.0.3")


def test_an_age_from_the_future_does_not_outlive_the_timeout():
    driver = gossip(neighbor_timeout_ns=10 * S, bootstrap=())
    driver.on_datagram(frame(entry("peer", 9, age_ms=-(2**31))), address(9), 0)
    driver.poll(10 * S + 1)

    assert (driver.neighbor_count, driver.cache_entry_count) == (0, 0)


def test_a_table_is_cut_into_frames_of_the_mtu():
    driver = gossip(mtu_length=128, bootstrap=())
    names = [f"peer-{number:03}" for number in range(40)] + ["long" * 100]
    for name in names:
        driver.on_datagram(frame(entry(name, 9)), address(9), 2 * S)

    sent = [out.frame for out in driver.poll(2 * S).frames][1:]
    assert all(len(data) <= 128 for data in sent)
    told = [one.name for data in sent for one in decode_frame(data).entries]
    assert told == names[:-1]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0" * 7,
        CAPTURED_SELF[:-8],
        CAPTURED_SELF[:4] + b"\x01" + CAPTURED_SELF[5:],
        CAPTURED_SELF[:8] + b"\x07" + CAPTURED_SELF[9:],
        CAPTURED_SELF[:20] + b"\xff\x7f" + CAPTURED_SELF[22:],
        CAPTURED_SELF[:20] + b"\xff\xff" + CAPTURED_SELF[22:],
    ],
)
def test_a_datagram_that_does_not_hold_together_changes_nothing(data):
    driver = gossip(name="other")

    assert not driver.on_datagram(data, address(5), 0)
    assert (driver.neighbor_count, driver.cache_entry_count) == (0, 0)


def test_frames_of_other_types_are_ignored():
    assert gossip().on_datagram(bytes([32, 0, 0, 0, 0, 0, 0x63, 0]), address(5), 0)


def test_random_damage_is_never_more_than_refused():
    random_bytes = random.Random(1)
    driver = gossip(name="other")
    for _ in range(2_000):
        data = bytearray(CAPTURED_TABLE)
        for _ in range(random_bytes.randrange(1, 5)):
            data[random_bytes.randrange(len(data))] = random_bytes.randrange(256)
        driver.on_datagram(bytes(data), address(5), S)
        sent = driver.poll(2 * S).frames

    assert 0 < driver.neighbor_count <= MAX_NEIGHBORS
    assert all(decode_frame(out.frame).entries for out in sent)


def test_strangers_cannot_fill_the_memory():
    driver = gossip(bootstrap=())
    for start in range(0, MAX_CACHE_ENTRIES + 500, 500):
        entries = [
            entry(f"n{number}", 1 + number % 60_000, flags=0)
            for number in range(start, start + 500)
        ]
        driver.on_datagram(frame(*entries), address(5), 0)

    assert (driver.neighbor_count, driver.cache_entry_count) == (
        MAX_NEIGHBORS,
        MAX_CACHE_ENTRIES,
    )


def test_bootstrap_neighbors_that_do_not_answer_are_looked_up_again():
    driver = gossip(bootstrap=("a:1", "b:2"), bootstrap_interval_ns=10 * S)
    assert driver.poll(0).lookups == ["a:1", "b:2"]
    driver.on_bootstrap_resolved("a:1", address(1))
    driver.on_bootstrap_resolved("b:2", None)
    driver.on_datagram(frame(entry("a", 1)), address(1), 9 * S)

    assert driver.poll(9 * S).lookups == []
    assert driver.poll(10 * S).lookups == ["b:2"]
    assert [driver.is_neighbor(one) for one in driver.bootstrap] == [True, False]
    assert [one.label for one in driver.bootstrap] == [
        "Bootstrap neighbor: name=a:1 resolved=127.0.0.1:1",
        "Bootstrap neighbor: name=b:2 resolved=",
    ]


def test_counters_have_the_references_labels():
    driver = gossip()

    assert driver.neighbors_label == "Resolver neighbors: bound 127.0.0.1:21400"
    assert driver.cache_label == "Resolver cache entries: name=drv-a"


def test_drivers_that_know_one_of_them_all_learn_of_each_other():
    drivers = {
        address(21400 + number): gossip(f"drv-{number}", 21400 + number, bootstrap=("seed:21400",))
        for number in range(5)
    }
    for now_ns in range(0, 6 * S, 10 * MS):
        for source, driver in drivers.items():
            work = driver.poll(now_ns)
            for value in work.lookups:
                driver.on_bootstrap_resolved(value, address(21400))
            for out in work.frames:
                drivers[out.destination].on_datagram(out.frame, source, now_ns)

    for driver in drivers.values():
        assert driver.neighbor_count == 4
        assert all(driver.address_of(f"drv-{number}") for number in range(5))


def test_told_names_come_before_the_platforms(hosts):
    driver = gossip()
    driver.on_datagram(frame(entry("alpha", 9, "10.9.9.9")), address(9), 0)
    resolver = GossipNameResolver(driver, DefaultNameResolver(hosts))

    def resolve(host):
        return resolver.resolve(host, "endpoint", is_re_resolution=False)

    assert resolve("alpha") == ip_address("10.9.9.9")
    assert resolve("six") == ip_address("fd00::6")
    assert resolve("nowhere") is None
    assert resolver.lookup("alpha:7", "endpoint", is_re_lookup=False) == "alpha:7"


def test_bootstrap_neighbors_are_a_comma_list():
    assert parse_bootstrap(None) == parse_bootstrap("") == ()
    assert parse_bootstrap("a:1,[::1]:2") == ("a:1", "[::1]:2")
    assert parse_bootstrap("a:1,b,,c:2,") == ("a:1", "b", "c:2")
    with pytest.raises(ConfigurationError, match="at most 20"):
        parse_bootstrap(",".join(["a:1"] * 21))


def test_a_name_that_fits_no_frame_is_refused():
    with pytest.raises(ConfigurationError, match="at most 512"):
        gossip("x" * 513)
