"""A driver's network whose ports log their datagrams, when its event log asks for that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.transport.driver.events.driver_events import DriverEvents, WrittenDriverEvents
from aerolog.transport.driver.events.logged_port import LoggedPort
from aerolog.transport.events.event_codes import DriverEventCode
from aerolog.transport.network.networks import WrappedNetwork

if TYPE_CHECKING:
    from typing import TypeGuard, Unpack

    from aerolog.transport.network.networks import Network, PortOptions, SendPortOptions
    from aerolog.transport.network.port import Address, DatagramPort

E = DriverEventCode


def _logs_frames(events: DriverEvents) -> TypeGuard[WrittenDriverEvents]:
    return isinstance(events, WrittenDriverEvents) and events.wants(
        E.FRAME_IN, E.FRAME_OUT, E.NAK_RECEIVED, E.NAK_SENT
    )


def logged(network: Network, events: DriverEvents) -> Network:
    """Return the network through which a driver opens its ports; itself when no frame is logged.

    Args:
        network: the network that opens the ports.
        events: the driver's event log.
    """
    return LoggedNetwork(network, events) if _logs_frames(events) else network


def logged_port(
    port: DatagramPort, events: DriverEvents, remote: Address | None = None
) -> DatagramPort:
    """Return a port that logs the datagrams of another; itself when no frame is logged.

    Args:
        port: the open port.
        events: the driver's event log.
        remote: the address of its connected peer, None without one.
    """
    if not _logs_frames(events):
        return port
    return LoggedPort(
        port,
        events.log,
        remote,
        frame_in=events.code(E.FRAME_IN),
        frame_out=events.code(E.FRAME_OUT),
        nak_received=events.code(E.NAK_RECEIVED),
        nak_sent=events.code(E.NAK_SENT),
    )


def name_port(port: DatagramPort, channel: str) -> None:
    """Give a port that logs the channel of its endpoint; other ports are left as they are."""
    if isinstance(port, LoggedPort):
        port.name_channel(channel)


class LoggedNetwork(WrappedNetwork):
    """A network whose ports log their datagrams.

    Args:
        inner: the network that opens the ports.
        events: the driver's event log.
    """

    def __init__(self, inner: Network, events: WrittenDriverEvents) -> None:
        super().__init__(inner)
        self._events = events

    def open_send_port(
        self, remote: Address | None, local: Address, **options: Unpack[SendPortOptions]
    ) -> DatagramPort:
        """Open a send port that logs; see ``sockets.open_send_port``."""
        port = self._inner.open_send_port(remote, local, **options)
        return logged_port(port, self._events, remote)

    def open_receive_port(
        self, endpoint: Address, interface: Address | None = None, **options: Unpack[PortOptions]
    ) -> DatagramPort:
        """Open a receive port that logs; see ``sockets.open_receive_port``."""
        port = self._inner.open_receive_port(endpoint, interface, **options)
        return logged_port(port, self._events)
