"""Settings of the network that no driver can run with, refused before it takes its directory."""

import re

import pytest

from aerolog.transport.config.sources import Properties
from aerolog.transport.driver.properties import driver_settings
from aerolog.transport.driver.validation import check_socket_buffers, validate
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.network.socket_limits import SocketLimits

LIMITS = SocketLimits(
    default_sndbuf=212_992, max_sndbuf=4 << 20, default_rcvbuf=106_496, max_rcvbuf=2 << 20
)


def given(**options):
    return driver_settings(Properties(), options)


def test_the_defaults_are_fine():
    settings = given()
    check_socket_buffers(settings, LIMITS)
    validate(settings)
    assert settings.warnings == []


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"socket_so_sndbuf": 4096, "mtu_length": 8192},
            "mtuLength=8192 > SO_SNDBUF=4096, increase aeron.socket.so_sndbuf to match MTU",
        ),
        (
            {"socket_so_rcvbuf": "64k"},
            (
                "initialWindowLength=131072 > SO_RCVBUF=65536, increase aeron.socket.so_rcvbuf "
                "limits to match initialWindowLength"
            ),
        ),
        (
            {"socket_so_rcvbuf": 0},
            (
                "initialWindowLength=131072 > SO_RCVBUF=106496, increase aeron.socket.so_rcvbuf "
                "limits to match initialWindowLength"
            ),
        ),
    ],
)
def test_what_does_not_fit_into_a_buffer_is_refused_in_the_reference_s_words(options, text):
    with pytest.raises(ConfigurationError) as refused:
        check_socket_buffers(given(**options), LIMITS)
    assert refused.value.reference_message == text


def test_buffers_that_the_system_does_not_grant_are_warned_about():
    settings = given(socket_so_sndbuf="64m", socket_so_rcvbuf="64m")
    check_socket_buffers(settings, LIMITS)
    assert settings.warnings == [
        (
            "Could not set desired SO_SNDBUF, adjust OS to allow aeron.socket.so_sndbuf "
            "attempted=67108864, actual=4194304"
        ),
        (
            "Could not set desired SO_RCVBUF, adjust OS to allow aeron.socket.so_rcvbuf "
            "attempted=67108864, actual=2097152"
        ),
    ]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"driver_resolver_interface": "127.0.0.1:0"}, "resolver.name must be set"),
        (
            {
                "driver_resolver_name": "me",
                "driver_resolver_interface": "127.0.0.1:0",
                "driver_resolver_bootstrap_neighbor": ",".join(["a:1"] * 21),
            },
            "21 bootstrap neighbors",
        ),
        ({"udp_channel_incoming_interceptors": "gain"}, "unknown interceptor gain"),
        ({"udp_channel_outgoing_interceptors": "gain"}, "unknown interceptor gain"),
        ({"udp_channel_incoming_interceptors": "fixed-loss"}, "lack term-id"),
        ({"rehearse_send_data": "rate=2"}, "loss rate must be in 0..1"),
        ({"rehearse_send_control": "lose=all"}, "unknown keys of a rehearsal: lose"),
        ({"rehearse_receive_data": "rate"}, "key=value"),
        ({"rehearse_receive_control": "delay=soon"}, "soon"),
        (
            {"send_channel_endpoint_supplier": "debug", "debug_send_data_loss_rate": 1.5},
            "debug",
        ),
        (
            {
                "driver_async_executor_idle_strategy": "backoff",
                "driver_async_executor_idle_strategy_init_args": "never",
            },
            "async.executor.idle.strategy.init.args",
        ),
    ],
)
def test_what_cannot_be_used_is_named(options, text):
    with pytest.raises(ConfigurationError, match=re.escape(text)):
        validate(given(**options))
