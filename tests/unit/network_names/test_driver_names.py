"""Names of a driver: channels beside the conductor, names of silent peers, the table."""

import struct
from ipaddress import ip_address

import pytest

from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.driver.names.driver_names import names_hosts
from aerolog.transport.errors import ChannelUriError
from aerolog.transport.network.addresses import SocketAddress

ALPHA = "aeron:udp?endpoint=alpha:4000"
OLD = SocketAddress(ip_address("10.0.0.1"), 4000)
NEW = SocketAddress(ip_address("10.0.0.9"), 4000)
NAME_ENTRY = CounterType.NAME_ENTRY
WARNING = "io.aeron.exceptions.AeronEvent: WARN - "


class Command:
    """Takes the outcome of one command's channel."""

    def __init__(self):
        self.channel = None
        self.error = None

    def then(self, channel):
        self.channel = channel

    def failed(self, error):
        self.error = error

    def resolve(self, names, channel, **options):
        names.resolve(channel, self.then, self.failed, **options)


@pytest.fixture
def command():
    return Command()


@pytest.mark.parametrize(
    ("channel", "expected"),
    [
        ("aeron:udp?endpoint=127.0.0.1:4000", False),
        ("aeron:udp?endpoint=[::1]:4000|interface=[::1]/64", False),
        ("aeron:udp?endpoint=[fe80::1%eth0]:4000|interface={eth0}", False),
        ("aeron:udp?endpoint=224.0.1.1:4000|interface=10.0.0.0/8", False),
        ("aeron:udp?endpoint=:4000", False),
        ("aeron-spy:aeron:udp?control=10.0.0.1:4000|control-mode=dynamic", False),
        ("aeron:udp?endpoint=alpha:4000", True),
        ("aeron:udp?endpoint=10.0.0.1:4000|control=alpha:4001", True),
        ("aeron:udp?endpoint=224.0.1.1:4000|interface=localhost", True),
        ("aeron:udp?alias=alpha|tags=7", False),
        ("not a channel", False),
    ],
)
def test_only_host_names_are_looked_up(channel, expected):
    assert names_hosts(channel) is expected


def test_a_channel_of_numbers_is_resolved_at_once(driver, command):
    command.resolve(driver.names, "aeron:udp?endpoint=10.0.0.1:4000")

    assert command.channel.remote_data == OLD
    assert not driver.names.is_busy
    assert not driver.lookups.waiting


def test_what_is_wrong_with_a_channel_of_numbers_is_raised_at_once(driver, command):
    with pytest.raises(ChannelUriError, match="port out of range"):
        command.resolve(driver.names, "aeron:udp?endpoint=10.0.0.1:99999")
    assert (command.channel, command.error) == (None, None)


def test_a_host_name_keeps_commands_waiting_until_it_is_known(driver, command):
    command.resolve(driver.names, ALPHA)
    assert driver.names.is_busy
    assert driver.names.agent.control() == 0
    assert command.channel is None
    assert driver.asked == []

    assert driver.turn() == 1
    assert command.channel.remote_data == OLD
    assert not driver.names.is_busy


def test_an_unknown_host_is_told_in_the_reference_s_words(driver, command):
    command.resolve(driver.names, "aeron:udp?endpoint=gamma:4000")
    driver.turn()

    assert not driver.names.is_busy
    assert command.error.reference_type == "java.net.UnknownHostException"
    assert command.error.reference_message == (
        "unresolved - endpoint=gamma:4000, "
        "name-resolver=TimeTracking(io.aeron.driver.DefaultNameResolver)"
    )


def test_a_command_without_room_for_its_lookup_is_not_lost(make_driver, few_lookups, command):
    driver = make_driver(lookups=few_lookups)
    driver.names.re_resolve("endpoint", "beta:4000", OLD, lambda _: None)
    command.resolve(driver.names, ALPHA)
    assert (driver.names.is_busy, driver.proxy_fails) == (True, 1)

    driver.turn()
    driver.turn()
    assert command.channel.remote_data == OLD
    assert driver.proxy_fails == 1


def test_a_destination_has_no_unique_suffix(driver, command):
    command.resolve(driver.names, "aeron:udp?endpoint=10.0.0.1:0", is_destination=True)

    assert command.channel.canonical_form == "UDP-0.0.0.0:0-10.0.0.1:0"


def test_a_changed_name_is_told_and_counted_for_everyone_who_asked(driver, hosts):
    told = []
    for number in range(3):
        driver.names.re_resolve(
            "endpoint", "alpha:4000", OLD, lambda found, n=number: told.append((n, found))
        )
    assert len(driver.lookups.waiting) == 1

    hosts["alpha"] = "10.0.0.9"
    driver.turn()
    assert told == [(0, NEW), (1, NEW), (2, NEW)]
    assert driver.counter(SystemCounter.RESOLUTION_CHANGES) == 3
    assert driver.asked == ["alpha"]


def test_a_name_that_did_not_change_is_told_to_nobody(driver):
    told = []
    driver.names.re_resolve("endpoint", "alpha:4000", OLD, told.append)
    driver.turn()

    assert told == []
    assert driver.counter(SystemCounter.RESOLUTION_CHANGES) == 0


def test_endpoint_and_control_are_asked_for_apart(driver, hosts):
    told = []
    hosts["alpha"] = "10.0.0.9"
    driver.names.re_resolve("endpoint", "alpha:4000", OLD, told.append)
    driver.names.re_resolve("control", "alpha:4000", NEW, told.append)
    driver.turn()

    assert told == [NEW]


def test_numbers_are_never_looked_up_again(driver):
    driver.names.re_resolve("endpoint", "10.0.0.1:4000", OLD, pytest.fail)

    assert not driver.lookups.waiting


def test_a_name_that_is_unknown_now_is_recorded_and_tried_again(driver, hosts):
    told = []
    del hosts["alpha"]
    driver.names.re_resolve("endpoint", "alpha:4000", OLD, told.append)
    driver.turn()
    text, _ = driver.errors.events[0]
    assert "could not re-resolve: endpoint=alpha:4000" in text

    hosts["alpha"] = "10.0.0.9"
    driver.names.re_resolve("endpoint", "alpha:4000", OLD, told.append)
    driver.turn()
    assert told == [NEW]


def test_a_look_up_without_room_is_counted_and_can_be_asked_for_again(
    make_driver, few_lookups, hosts
):
    driver = make_driver(lookups=few_lookups)
    told = []
    hosts["alpha"] = "10.0.0.9"
    driver.names.re_resolve("endpoint", "beta:4000", OLD, lambda _: None)
    driver.names.re_resolve("endpoint", "alpha:4000", OLD, told.append)
    assert driver.proxy_fails == 1

    driver.turn()
    driver.names.re_resolve("endpoint", "alpha:4000", OLD, told.append)
    driver.turn()
    assert told == [NEW]


def test_the_longest_resolution_is_shown_and_long_ones_are_counted(make_driver, clock, command):
    driver = make_driver(name_resolver_threshold=1)

    def slow(host, seconds):
        clock.advance_ns(int(seconds * 1_000_000_000))
        return ip_address(driver.hosts[host])

    for seconds in (0.5, 2.0, 1.5):
        driver.platform = lambda host, s=seconds: slow(host, s)
        command.resolve(driver.names, ALPHA)
        driver.turn()

    assert driver.counter(SystemCounter.NAME_RESOLVER_MAX_TIME) == 2_000_000_000
    assert driver.counter(SystemCounter.NAME_RESOLVER_TIME_THRESHOLD_EXCEEDED) == 2


TABLE = "peer,alpha,beta|other,10.0.0.5,10.0.0.6"


@pytest.mark.parametrize(
    "keyword", ["name_resolver_init_args", "name_resolver_csv_lookup_table_args"]
)
def test_a_row_of_the_table_is_switched_by_its_counter(make_driver, keyword):
    driver = make_driver(name_resolver_supplier="csv_table", **{keyword: TABLE})
    rows = [found for found in driver.counters if found.type_id == NAME_ENTRY]
    assert [found.label for found in rows] == [
        "NameEntry{name='peer', initialResolutionHost='alpha', reResolutionHost='beta'}",
        "NameEntry{name='other', initialResolutionHost='10.0.0.5', reResolutionHost='10.0.0.6'}",
    ]
    peer = rows[0]
    assert peer.key.startswith(struct.pack("<i", 4) + b"peer")
    assert peer.value == 0

    found = []
    for value in (0, 1, -1):
        driver.counters.set_value(peer.counter_id, value)
        one = Command()
        one.resolve(driver.names, "aeron:udp?endpoint=peer:4000")
        driver.turn()
        found.append(one.channel.remote_data.canonical if one.channel else one.error)
    assert found[:2] == ["10.0.0.1:4000", "10.0.0.2:4000"]
    assert "unresolved - endpoint=peer:4000" in str(found[2])


@pytest.mark.parametrize("text", ["", "|", "peer,alpha", "peer,,beta", "a,b,c|a,d,e"])
def test_what_cannot_be_used_of_a_table_is_reported(make_driver, text):
    driver = make_driver(name_resolver_supplier="csv_table", name_resolver_init_args=text)
    assert all(text.startswith(WARNING) for text, _ in driver.errors.events)
    assert "table" in driver.errors.events[-1][0]
    driver.platform = lambda host: ip_address("10.0.0.9")
    command = Command()
    command.resolve(driver.names, "aeron:udp?endpoint=elsewhere:4000")
    driver.turn()
    assert command.channel.remote_data.canonical == "10.0.0.9:4000"


def test_a_table_may_end_with_a_bar(make_driver):
    driver = make_driver(name_resolver_supplier="csv_table", name_resolver_init_args=TABLE + "|")
    assert len([found for found in driver.counters if found.type_id == NAME_ENTRY]) == 2
    assert driver.errors.events == []


def test_the_resolver_by_gossip_is_known_by_the_c_drivers_name(make_driver):
    driver = make_driver(
        name_resolver_supplier="driver",
        driver_resolver_name="me",
        driver_resolver_interface="127.0.0.1:0",
    )
    assert driver.names.gossiper is not None


def test_closed_names_look_nothing_up(driver, command):
    driver.names.close()
    driver.names.close()
    driver.names.re_resolve("endpoint", "alpha:4000", OLD, pytest.fail)

    assert not driver.lookups.waiting
