"""Every UDP channel of the corpus resolves, and is refused, as by the reference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from golden_data import channel_uris

from aerolog.transport.config.sources import Properties
from aerolog.transport.driver import MediaDriver
from aerolog.transport.driver.channels.channel_params import PublicationLookups
from aerolog.transport.driver.channels.endpoint_match import check_is_original
from aerolog.transport.driver.channels.network_params import (
    check_mtu_fits,
    check_response_publication,
    check_window_fits,
    multicast_ttl,
    network_publication_params,
    network_subscription_params,
    rcvbuf_length,
    sndbuf_length,
)
from aerolog.transport.driver.conductor.command_error import answer_to
from aerolog.transport.driver.flow_control.flow_control_supplier import flow_control_params
from aerolog.transport.driver.properties import driver_settings
from aerolog.transport.errors import ChannelUriError, ConfigurationError, ControlProtocolError
from aerolog.transport.memory.cnc import CncFile
from aerolog.transport.memory.filesystem import RealFileSystem
from aerolog.transport.network.host_names import platform_address
from aerolog.transport.network.resolvers import DefaultNameResolver, TimedNameResolver
from aerolog.transport.network.system_interfaces import system_interfaces
from aerolog.transport.network.udp_channel import ChannelResolver
from aerolog.transport.protocol.commands import AddPublication, AddSubscription, encode_command
from aerolog.transport.protocol.responses import (
    OnError,
    PublicationReady,
    SubscriptionReady,
    decode_response,
)
from aerolog.transport.uri import keys

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from aerolog.transport.config.settings import Settings
    from aerolog.transport.driver.channels.channel_params import PublicationParams
    from aerolog.transport.driver.channels.network_params import NetworkSubscriptionParams
    from aerolog.transport.network.addresses import SocketAddress
    from aerolog.transport.network.host_names import IpAddress
    from aerolog.transport.network.udp_channel import UdpChannel

#: The corpus keeps this much of an error text.
ERROR_TEXT_LENGTH = 300


ROWS = [row for row in channel_uris() if row["udp_channel_accepted"] is not None]
ACCEPTED = [row for row in ROWS if row["udp_channel_accepted"]]
REFUSED = [row for row in ROWS if not row["udp_channel_accepted"]]


def cases(rows: list[dict[str, Any]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("row", rows, ids=[row["uri"][:120] for row in rows])


def known_hosts(host: str) -> IpAddress | None:
    """The platform's names, but no name service is asked for those that do not exist."""
    return None if host.endswith(".invalid") else platform_address(host)


def resolver() -> ChannelResolver:
    return ChannelResolver(DefaultNameResolver(known_hosts))


def test_the_corpus_has_both_accepted_and_refused_channels() -> None:
    assert len(ACCEPTED) > 100
    assert len(REFUSED) > 40


def check_address(address: SocketAddress, expected: dict[str, Any]) -> None:
    host = expected["host"]
    if host == "<default-multicast-interface-address>":
        addresses = {
            str(found.ip)
            for interface in system_interfaces()
            if interface.is_up and (interface.supports_multicast or interface.is_loopback)
            for found in interface.addresses
            if found.ip.version == 4
        }
        assert address.host in addresses
        host = address.host
    assert (address.host, address.port) == (host, expected["port"])
    assert address.family.name == {"ipv4": "AF_INET", "ipv6": "AF_INET6"}[expected["family"]]


def check_canonical_form(channel: UdpChannel, expected: str) -> None:
    form = channel.canonical_form
    if expected.endswith("<unique>"):
        beginning = expected.removesuffix("<unique>")
        assert form.startswith(beginning)
        assert form.removeprefix(beginning).isdigit()
    else:
        default = channel.local_data.host
        assert form == expected.replace("<default-multicast-interface-address>", default)


@cases(ACCEPTED)
def test_an_accepted_channel_has_the_addresses_that_the_reference_finds(
    row: dict[str, Any],
) -> None:
    channel = resolver().resolve(row["uri"])

    check_canonical_form(channel, row["canonical_form"])
    check_address(channel.remote_data, row["remote_data"])
    check_address(channel.remote_control, row["remote_control"])
    check_address(channel.local_data, row["local_data"])
    check_address(channel.local_control, row["local_control"])
    expected_interface = row["interface"]
    found_interface = None if channel.interface is None else channel.interface.name
    if expected_interface == "<default-multicast-interface>":
        assert found_interface in {interface.name for interface in system_interfaces()}
    else:
        assert found_interface == expected_interface


@cases(ACCEPTED)
def test_an_accepted_channel_has_the_options_that_the_reference_finds(row: dict[str, Any]) -> None:
    channel = resolver().resolve(row["uri"])

    assert {
        "is_multicast": channel.is_multicast,
        "control_mode": channel.control_mode.name,
        "has_explicit_endpoint": channel.has_explicit_endpoint,
        "has_explicit_control": channel.has_explicit_control,
        "has_tag": channel.tag is not None,
        "tag": channel.tag or 0,
        "has_multicast_ttl": channel.multicast_ttl is not None,
        "multicast_ttl": channel.multicast_ttl or 0,
        "is_multi_destination": channel.is_multi_destination,
        "has_group_semantics": channel.has_group_semantics,
        "protocol_family": channel.family.name.removeprefix("AF_"),
        "so_rcvbuf": channel.socket_rcvbuf_length,
        "so_sndbuf": channel.socket_sndbuf_length,
        "rcv_wnd": channel.receiver_window_length,
        "nak_delay_ns": channel.nak_delay_ns,
        "group_tag": channel.group_tag,
        "channel_rcv_ts_offset": channel.channel_receive_timestamp_offset,
        "channel_snd_ts_offset": channel.channel_send_timestamp_offset,
    }.items() <= row.items()


@cases(REFUSED)
def test_a_refused_channel_says_what_the_reference_says(row: dict[str, Any]) -> None:
    with pytest.raises(ChannelUriError) as refused:
        resolver().resolve(row["uri"])

    short_class = refused.value.reference_type.rpartition(".")[2]
    text = f"{short_class}: {refused.value.reference_message}"
    assert text[:ERROR_TEXT_LENGTH] == row["udp_channel_error"]


# -- what a driver's checks say, as far as they need neither sockets nor images ------------------

STREAM_ID = 1001
TERM_LENGTH = 64 * 1024
SYSTEM_BUFFER_LENGTH = 212_992

#: The reference was refused by a socket, or misses an image: (row, command).
NEEDS_SOCKETS_OR_IMAGES = {
    ("aeron:udp?endpoint=[FF01::FD]:23500|interface=[::1]", "publication"),
    ("aeron:udp?endpoint=[::1]:23500|interface=127.0.0.1", "publication"),
    ("aeron:udp?endpoint=255.255.255.255:23500", "publication"),
    ("aeron:udp?endpoint=255.255.255.255:23500", "subscription"),
    (
        "aeron:udp?control=127.0.0.1:0|control-mode=response|response-correlation-id=17",
        "publication",
    ),
}


def settings() -> Settings:
    # Without timestamps of media, which the Java driver does not have.
    options = {"term_buffer_length": TERM_LENGTH, "media_receive_timestamps": False}
    return driver_settings(Properties(), options)


def lookups() -> PublicationLookups:
    return PublicationLookups(lambda tag, uri: None, lambda tag: None, lambda: 7)


def as_driver() -> ChannelResolver:
    named = TimedNameResolver(DefaultNameResolver(known_hosts), int, lambda duration, name: None)
    return ChannelResolver(named)


def check_publication(uri: str) -> PublicationParams:
    channel = as_driver().resolve(uri)
    found = settings()
    params = network_publication_params(channel, STREAM_ID, found, lookups())
    check_is_original(channel)
    length = sndbuf_length(channel, found)
    check_mtu_fits(channel, params.mtu_length, length, SYSTEM_BUFFER_LENGTH)
    if channel.is_multicast:
        multicast_ttl(channel, found)
    check_response_publication(channel, params)
    flow_control_params(channel.uri.get(keys.FC), found, is_group=channel.has_group_semantics)
    return params


def check_subscription(uri: str) -> NetworkSubscriptionParams:
    channel = as_driver().resolve(uri)
    found = settings()
    params = network_subscription_params(channel, found)
    length = rcvbuf_length(channel, found)
    check_window_fits(channel, params.receiver_window_length, length, SYSTEM_BUFFER_LENGTH)
    if channel.is_multicast:
        multicast_ttl(channel, found)
    return params


def commands(command: str, *, accepted: bool) -> list[dict[str, Any]]:
    key = f"java_driver_add_{command}"
    return [
        row
        for row in ROWS
        if row[key]["accepted"] is accepted
        and (row["uri"], command) not in NEEDS_SOCKETS_OR_IMAGES
        and not row["uri"].startswith("aeron:ipc")
    ]


def test_the_rows_that_are_left_out_are_in_the_corpus() -> None:
    rows = {row["uri"]: row for row in ROWS}

    for uri, command in NEEDS_SOCKETS_OR_IMAGES:
        assert rows[uri][f"java_driver_add_{command}"]["error_code"] == "GENERIC_ERROR"


@cases(commands("publication", accepted=True))
def test_the_checks_accept_a_publication(row: dict[str, Any]) -> None:
    params = check_publication(row["uri"])

    expected = row["java_driver_add_publication"]
    assert (params.mtu_length, params.term_length) == (expected["mtu"], expected["term_length"])


@cases(commands("subscription", accepted=True))
def test_the_checks_accept_a_subscription(row: dict[str, Any]) -> None:
    params = check_subscription(row["uri"])

    assert 0 < params.receiver_window_length <= TERM_LENGTH // 2


@pytest.mark.parametrize(
    ("command", "row"),
    [
        pytest.param(command, row, id=f"{command} {row['uri'][:120]}")
        for command in ("publication", "subscription")
        for row in commands(command, accepted=False)
    ],
)
def test_the_checks_refuse_a_command_as_the_reference(command: str, row: dict[str, Any]) -> None:
    check = check_publication if command == "publication" else check_subscription
    with pytest.raises((ChannelUriError, ControlProtocolError, ConfigurationError)) as refused:
        check(row["uri"])

    expected = row[f"java_driver_add_{command}"]
    code, text = answer_to(refused.value)
    assert (code.name, code.value) == (expected["error_code"], expected["error_code_value"])
    text = text.removeprefix("ERROR - ")
    if expected["text"].endswith("..."):  # the corpus has only the beginning of a long one
        beginning = expected["text"].removesuffix("...")
        assert text[: len(beginning)] == beginning
    else:
        assert text == expected["text"]


# -- what the sockets of a driver say -------------------------------------------------------------


@pytest.fixture
def answered(tmp_path: Path) -> Iterator[Callable[[str, str], OnError | None]]:
    """``answered(command, channel)``: what a driver says to a command, None when it is done."""
    with MediaDriver(
        str(tmp_path / "aeron"),
        threading_mode="INVOKER",
        driver_async_executor_enabled=False,
        term_buffer_length=TERM_LENGTH,
    ) as driver:
        files = RealFileSystem()
        cnc = CncFile.open(files, driver.aeron_dir, writable=True)
        heard = cnc.receiver()
        kinds = {"publication": AddPublication, "subscription": AddSubscription}

        def answer(command: str, channel: str) -> OnError | None:
            correlation_id = cnc.to_driver.next_correlation_id()
            message = kinds[command](1, correlation_id, STREAM_ID, channel)
            assert cnc.to_driver.write(message.TYPE_ID, encode_command(message))
            while True:
                driver.do_work()
                while (received := heard.receive_next()) is not None:
                    said = decode_response(*received)
                    if isinstance(said, OnError) and said.correlation_id == correlation_id:
                        return said
                    if isinstance(said, PublicationReady | SubscriptionReady):
                        return None

        yield answer


@pytest.mark.parametrize(
    ("uri", "command"),
    sorted(NEEDS_SOCKETS_OR_IMAGES),
    ids=[f"{command} {uri}" for uri, command in sorted(NEEDS_SOCKETS_OR_IMAGES)],
)
def test_a_driver_refuses_what_its_sockets_and_images_cannot(
    answered: Callable[[str, str], OnError | None], uri: str, command: str
) -> None:
    (row,) = [row for row in ROWS if row["uri"] == uri]
    expected = row[f"java_driver_add_{command}"]

    said = answered(command, uri)

    assert said is not None
    assert (said.code, said.message) == (expected["error_code_value"], expected["text"])
