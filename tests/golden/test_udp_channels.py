"""Every UDP channel of the corpus resolves, and is refused, as by the reference."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from aerolog.transport.errors import ChannelUriError
from aerolog.transport.network.names import platform_address
from aerolog.transport.network.resolvers import DefaultNameResolver
from aerolog.transport.network.system_interfaces import system_interfaces
from aerolog.transport.network.udp_channel import ChannelResolver

if TYPE_CHECKING:
    from aerolog.transport.network.addresses import SocketAddress
    from aerolog.transport.network.names import IpAddress
    from aerolog.transport.network.udp_channel import UdpChannel

SHARED = Path(os.environ.get("AEROLOG_SHARED", Path(__file__).parents[3] / "shared"))
CORPUS = SHARED / "golden" / "channel-uris.json"

#: The corpus keeps this much of an error text.
ERROR_TEXT_LENGTH = 300


def load() -> list[dict[str, Any]]:
    rows = json.loads(CORPUS.read_text())["rows"] if CORPUS.exists() else []
    return [row for row in rows if row["udp_channel_accepted"] is not None]


ROWS = load()
ACCEPTED = [row for row in ROWS if row["udp_channel_accepted"]]
REFUSED = [row for row in ROWS if not row["udp_channel_accepted"]]

pytestmark = pytest.mark.skipif(not ROWS, reason=f"no corpus at {CORPUS}; set AEROLOG_SHARED")


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
