"""Checks a driver's settings against each other; the first failure wins (spec configuration 6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.transport.concurrent.idle import idle_strategy
from aerolog.transport.driver import properties as p
from aerolog.transport.driver.channels.channel_params import check_mtu_length, check_term_length
from aerolog.transport.driver.conductor.command_error import CONFIGURATION_EXCEPTION, CommandError
from aerolog.transport.driver.names.gossip_agent import gossip_options
from aerolog.transport.driver.network_supplier import rehearsed
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.memory.cnc import CncLengths
from aerolog.transport.network.networks import SYSTEM_NETWORK, Network

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.transport.config.definition import Property
    from aerolog.transport.config.settings import Settings
    from aerolog.transport.network.socket_limits import SocketLimits

_MAX_INT32 = 2**31 - 1
_MIN_LOSS_REPORT_LENGTH = 1 << 20


def validate(settings: Settings, network: Network = SYSTEM_NETWORK) -> None:
    """Refuse settings that no driver can run with; warnings are added to the settings' own.

    Args:
        settings: the driver's configuration.
        network: the network in which the driver opens its ports.

    Raises:
        ConfigurationError: the message names the property, its value and the rule it breaks.
    """
    check_socket_buffers(settings, network.socket_limits())
    if settings[p.DRIVER_RESOLVER_INTERFACE] and not settings[p.DRIVER_RESOLVER_NAME]:
        raise ConfigurationError(
            f"{p.DRIVER_RESOLVER_NAME.name} must be set when {p.DRIVER_RESOLVER_INTERFACE.name} is"
        )
    for mtu in (p.MTU_LENGTH, p.IPC_MTU_LENGTH):
        _check(settings, mtu, check_mtu_length)
    _check_page_size(settings)
    _check_session_range(settings)
    for term in (p.TERM_BUFFER_LENGTH, p.IPC_TERM_BUFFER_LENGTH):
        _check(settings, term, check_term_length)
    _check_windows(settings)
    _check_timeouts(settings)
    cnc_lengths(settings)
    _check_idle_strategies(settings)
    loss_report = p.LOSS_REPORT_BUFFER_LENGTH
    if loss_report_length(settings) < _MIN_LOSS_REPORT_LENGTH:
        raise ConfigurationError(
            f"{loss_report.name}={settings[loss_report]} is less than {_MIN_LOSS_REPORT_LENGTH}"
        )
    if settings[p.DRIVER_RESOLVER_INTERFACE]:
        gossip_options(settings)
    rehearsed(SYSTEM_NETWORK, settings)  # parses the properties and opens no port


def check_socket_buffers(settings: Settings, limits: SocketLimits) -> None:
    """Compare socket buffers with the system's limits and with the data that they must hold.

    Args:
        settings: the driver's configuration; a buffer beyond the system's limit adds a warning.
        limits: the buffer lengths that the system grants.

    Raises:
        ConfigurationError: a buffer is shorter than a datagram or the initial window.
    """
    sndbuf, rcvbuf = settings[p.SOCKET_SO_SNDBUF], settings[p.SOCKET_SO_RCVBUF]
    for asked, granted, prop, name in (
        (sndbuf, limits.max_sndbuf, p.SOCKET_SO_SNDBUF, "SO_SNDBUF"),
        (rcvbuf, limits.max_rcvbuf, p.SOCKET_SO_RCVBUF, "SO_RCVBUF"),
    ):
        if asked > granted:
            settings.warnings.append(
                f"Could not set desired {name}, adjust OS to allow {prop.name} "
                f"attempted={asked}, actual={granted}"
            )
    mtu, window = settings[p.MTU_LENGTH], settings[p.RCV_INITIAL_WINDOW_LENGTH]
    if mtu > (sndbuf or limits.default_sndbuf):
        raise ConfigurationError(
            f"mtuLength={mtu} > SO_SNDBUF={sndbuf or limits.default_sndbuf}, "
            f"increase {p.SOCKET_SO_SNDBUF.name} to match MTU",
            reference_type=CONFIGURATION_EXCEPTION,
        )
    if window > (rcvbuf or limits.default_rcvbuf):
        raise ConfigurationError(
            f"initialWindowLength={window} > SO_RCVBUF={rcvbuf or limits.default_rcvbuf}, "
            f"increase {p.SOCKET_SO_RCVBUF.name} limits to match initialWindowLength",
            reference_type=CONFIGURATION_EXCEPTION,
        )


def cnc_lengths(settings: Settings) -> CncLengths:
    """Return the lengths of the sections of cnc.dat.

    Raises:
        ConfigurationError: a length that the layout does not allow.
    """
    return CncLengths.of(
        settings[p.CONDUCTOR_BUFFER_LENGTH],
        settings[p.CLIENTS_BUFFER_LENGTH],
        settings[p.COUNTERS_BUFFER_LENGTH],
        settings[p.ERROR_BUFFER_LENGTH],
    )


def loss_report_length(settings: Settings) -> int:
    """Return the length of the loss report in bytes, rounded up to whole pages."""
    page = settings[p.FILE_PAGE_SIZE]
    return -(-settings[p.LOSS_REPORT_BUFFER_LENGTH] // page) * page


def _check(settings: Settings, prop: Property[int], checker: Callable[[int], None]) -> None:
    try:
        checker(settings[prop])
    except CommandError as error:
        reason = error.message.rpartition(" : ")[2].removeprefix("ERROR - ")
        raise ConfigurationError(f"{prop.name}: {reason}") from None


def _check_idle_strategies(settings: Settings) -> None:
    for name, arguments in (
        (p.CONDUCTOR_IDLE_STRATEGY, p.CONDUCTOR_IDLE_STRATEGY_INIT_ARGS),
        (p.SENDER_IDLE_STRATEGY, p.SENDER_IDLE_STRATEGY_INIT_ARGS),
        (p.RECEIVER_IDLE_STRATEGY, p.RECEIVER_IDLE_STRATEGY_INIT_ARGS),
        (p.SHAREDNETWORK_IDLE_STRATEGY, p.SHAREDNETWORK_IDLE_STRATEGY_INIT_ARGS),
        (p.SHARED_IDLE_STRATEGY, p.SHARED_IDLE_STRATEGY_INIT_ARGS),
        (
            p.DRIVER_ASYNC_EXECUTOR_IDLE_STRATEGY,
            p.DRIVER_ASYNC_EXECUTOR_IDLE_STRATEGY_INIT_ARGS,
        ),
    ):
        try:
            idle_strategy(settings[name], settings[arguments])
        except ConfigurationError as error:
            raise ConfigurationError(f"{arguments.name}: {error}") from None


def _check_page_size(settings: Settings) -> None:
    page = settings[p.FILE_PAGE_SIZE]
    if page & (page - 1):
        raise ConfigurationError(f"{p.FILE_PAGE_SIZE.name}={page} is not a power of two")


def _check_session_range(settings: Settings) -> None:
    low_name = p.PUBLICATION_RESERVED_SESSION_ID_LOW.name
    low = settings[p.PUBLICATION_RESERVED_SESSION_ID_LOW]
    high = settings[p.PUBLICATION_RESERVED_SESSION_ID_HIGH]
    if low > high:
        raise ConfigurationError(f"{low_name}={low} is greater than the high end, {high}")
    if high - low > _MAX_INT32:
        raise ConfigurationError(
            f"{low_name}={low} to {high} reserves more than {_MAX_INT32} session ids"
        )


def _check_windows(settings: Settings) -> None:
    mtu, window = settings[p.MTU_LENGTH], settings[p.RCV_INITIAL_WINDOW_LENGTH]
    if mtu > window:
        raise ConfigurationError(
            f"{p.RCV_INITIAL_WINDOW_LENGTH.name}={window} is less than {p.MTU_LENGTH.name}={mtu}"
        )


def _check_timeouts(settings: Settings) -> None:
    longer_than = [
        (p.PUBLICATION_UNBLOCK_TIMEOUT, p.CLIENT_LIVENESS_TIMEOUT),
        (p.CLIENT_LIVENESS_TIMEOUT, p.TIMER_INTERVAL),
        (p.UNTETHERED_WINDOW_LIMIT_TIMEOUT, p.TIMER_INTERVAL),
        (p.UNTETHERED_RESTING_TIMEOUT, p.TIMER_INTERVAL),
    ]
    if settings[p.UNTETHERED_LINGER_TIMEOUT] != p.UNTETHERED_LINGER_TIMEOUT.default:
        longer_than.append((p.UNTETHERED_LINGER_TIMEOUT, p.TIMER_INTERVAL))
    for longer, shorter in longer_than:
        if settings[longer] <= settings[shorter]:
            raise ConfigurationError(
                f"{longer.name}={settings[longer]}ns must be longer than "
                f"{shorter.name}={settings[shorter]}ns"
            )
