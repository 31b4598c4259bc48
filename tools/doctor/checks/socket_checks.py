"""Checks of sockets: buffers against windows and datagrams, channels that could not be opened."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from aerolog.tools.doctor.findings import Area, FindingKind, Severity
from aerolog.tools.views import counter_keys
from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.logbuffer.metadata import LogType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aerolog.tools.doctor.findings import Finding
    from aerolog.tools.doctor.system_snapshot import Case, DriverSnapshot, LogSnapshot
    from aerolog.tools.views.counters_snapshot import Counter

_LOCAL_ADDRESS: Final = CounterType.LOCAL_SOCKET_ADDRESS
_ERRORED: Final = -1
#: What an operating system should permit where streams are fast: the windows that people set.
_HOST_BUFFER: Final = 2 * 1024 * 1024

_kind: Final = partial(FindingKind, Area.SOCKETS)

RECEIVE_BUFFER = _kind(
    "receive-buffer-small",
    Severity.WARNING,
    "the receive buffer of the socket has {buffer!b}, the receiver permits its senders"
    " {window!b} at once",
    "a burst as long as the window does not fit into the socket: what does not fit is dropped and"
    " has to be sent again",
    "give the channel so-rcvbuf={window} or more (aeron.socket.so_rcvbuf for all), with sysctl -w"
    " net.core.rmem_max={window} where the system permits less; or a smaller rcv-wnd",
)
RECEIVE_BUFFER_CAPPED = _kind(
    "receive-buffer-capped",
    Severity.WARNING,
    "a receive buffer of {asked!b} was asked for, the system permits {granted!b}",
    "the system cut it without an error; bursts are dropped sooner than was planned",
    "sysctl -w net.core.rmem_max={asked}, kept in /etc/sysctl.d; then start the driver anew",
)
SEND_BUFFER = _kind(
    "send-buffer-small",
    Severity.WARNING,
    "the send buffer of the socket has {buffer!b}, a datagram may have {mtu!b}",
    "a datagram that does not fit is not sent",
    "give the channel a greater so-sndbuf (aeron.socket.so_sndbuf for all), or a smaller mtu",
)
SEND_BUFFER_CAPPED = _kind(
    "send-buffer-capped",
    Severity.WARNING,
    "a send buffer of {asked!b} was asked for, the system permits {granted!b}",
    "the system cut it without an error; the sender meets a full socket sooner than was planned",
    "sysctl -w net.core.wmem_max={asked}, kept in /etc/sysctl.d; then start the driver anew",
)
HOST_BUFFERS = _kind(
    "host-buffers-small",
    Severity.NOTICE,
    "the system permits receive buffers of {granted!b} at most (net.core.rmem_max)",
    "greater windows, which fast or distant streams need, cannot be asked for: 2 MiB is usual",
    "sysctl -w net.core.rmem_max=2097152 net.core.wmem_max=2097152, kept in /etc/sysctl.d",
)
CHANNEL_ERRORED = _kind(
    "channel-errored",
    Severity.CRITICAL,
    "the channel could not be opened: {label}",
    "its address is taken, not of this machine, or cannot be resolved; nothing is sent or received"
    " through it",
    "look at the error log (`aerolog errors`) for the system's message; correct endpoint, interface"
    " or port",
)


def channels_are_open(case: Case) -> Iterator[Finding]:
    """Could every channel be opened?"""
    driver = case.driver
    if driver is None or not driver.is_alive(case.now.now_ms):
        return
    for type_id in (
        CounterType.SEND_CHANNEL_STATUS,
        CounterType.RECEIVE_CHANNEL_STATUS,
        _LOCAL_ADDRESS,
    ):
        for counter in driver.of_type(type_id):
            if counter.value == _ERRORED:
                yield CHANNEL_ERRORED.found(_channel(counter), label=counter.label)


def buffers_fit(case: Case) -> Iterator[Finding]:
    """Are socket buffers as great as windows and datagrams need them?"""
    driver = case.driver
    if driver is None:
        return
    names = _channels_of_logs(driver)
    said: set[tuple[str, str]] = set()
    for log_id, log in sorted(driver.logs.items()):
        channel = names.get(log_id, log.path)
        for finding in _buffers(log, channel):
            # Streams of a channel share its socket.
            if (finding.code, channel) not in said:
                said.add((finding.code, channel))
                yield finding


def _buffers(log: LogSnapshot, channel: str) -> Iterator[Finding]:
    meta = log.metadata
    receive, send = meta.socket_rcvbuf_length, meta.socket_sndbuf_length
    if meta.type is LogType.IMAGE:
        most = meta.os_max_socket_rcvbuf_length
        asked = receive or meta.os_default_socket_rcvbuf_length
        buffer = min(asked, most) if most > 0 else asked
        if receive > most > 0:
            yield RECEIVE_BUFFER_CAPPED.found(channel, asked=receive, granted=most)
        if 0 < buffer < meta.receiver_window_length:
            yield RECEIVE_BUFFER.found(channel, buffer=buffer, window=meta.receiver_window_length)
        return
    most = meta.os_max_socket_sndbuf_length
    if send > most > 0:
        yield SEND_BUFFER_CAPPED.found(channel, asked=send, granted=most)
    buffer = min(send, most) if most > 0 else send
    if 0 < buffer < meta.mtu_length:
        yield SEND_BUFFER.found(channel, buffer=buffer, mtu=meta.mtu_length)


def machine_permits(case: Case) -> Iterator[Finding]:
    """Does the system permit buffers of the usual size?"""
    driver, granted = case.driver, case.now.host.max_rcvbuf
    if driver is None or not 0 <= granted < _HOST_BUFFER:
        return
    if driver.of_type(CounterType.RECEIVE_CHANNEL_STATUS):
        yield HOST_BUFFERS.found("this machine", granted=granted)


def _channels_of_logs(driver: DriverSnapshot) -> dict[int, str]:
    found: dict[int, str] = {}
    for stream in driver.streams:
        if stream.publisher is not None:
            found[stream.publisher.registration_id] = stream.channel
        for receiver in stream.receivers:
            found[receiver.registration_id] = receiver.channel
    return found


def _channel(counter: Counter) -> str:
    return counter_keys.label_channel(counter.label) or counter.label


CHECKS: Final = (channels_are_open, buffers_fit, machine_permits)
