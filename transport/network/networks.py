"""Networks, through which a driver opens its ports: real sockets, rehearsals or simulations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, TypedDict, Unpack

from aerolog.transport.network import sockets
from aerolog.transport.network.host_names import platform_address
from aerolog.transport.network.rehearsal import Disturbance, RehearsedPort
from aerolog.transport.network.socket_limits import SocketLimits, probe_socket_limits
from aerolog.transport.network.system_interfaces import system_interfaces

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from aerolog.transport.concurrent.clock import Clock
    from aerolog.transport.network.host_names import IpAddress
    from aerolog.transport.network.interfaces import NetworkInterface
    from aerolog.transport.network.port import Address, DatagramPort

    DisturbanceMaker = Callable[[], Disturbance | None]


class PortOptions(TypedDict, total=False):
    """Options of both ``open_send_port`` and ``open_receive_port`` of the module ``sockets``."""

    interface_index: int
    ttl: int
    so_sndbuf: int
    so_rcvbuf: int
    offload: bool
    timestamps: bool


class SendPortOptions(PortOptions, total=False):
    """Options of ``open_send_port``."""

    control: Address | None
    connect: bool


class Network(Protocol):
    """A network opens ports; the module ``sockets`` describes the arguments."""

    def open_send_port(
        self, remote: Address | None, local: Address, **options: Unpack[SendPortOptions]
    ) -> DatagramPort:
        """Open the port of a send channel endpoint."""

    def open_receive_port(
        self, endpoint: Address, interface: Address | None = None, **options: Unpack[PortOptions]
    ) -> DatagramPort:
        """Open the port of a receive channel endpoint or destination."""

    def interfaces(self) -> Sequence[NetworkInterface]:
        """Return the machine's interfaces.

        Raises:
            OSError: if they cannot be listed.
        """

    def address_of(self, host: str) -> IpAddress | None:
        """Return the address of a host name or number, or None if it has none; may block."""

    def socket_limits(self) -> SocketLimits:
        """Return the default and greatest buffer lengths of the machine's sockets."""


class SystemNetwork:
    """The machine's own network; see ``Network``."""

    open_send_port = staticmethod(sockets.open_send_port)
    open_receive_port = staticmethod(sockets.open_receive_port)
    interfaces = staticmethod(system_interfaces)
    address_of = staticmethod(platform_address)
    socket_limits = staticmethod(probe_socket_limits)


def _undisturbed() -> Disturbance | None:
    return None


class WrappedNetwork:
    """A network that wraps the ports of another network.

    Args:
        inner: the network that opens the ports.
    """

    def __init__(self, inner: Network) -> None:
        self._inner = inner

    def interfaces(self) -> Sequence[NetworkInterface]:
        """Return the interfaces of the inner network."""
        return self._inner.interfaces()

    def address_of(self, host: str) -> IpAddress | None:
        """Return the inner network's address of a host."""
        return self._inner.address_of(host)

    def socket_limits(self) -> SocketLimits:
        """Return the socket limits of the inner network."""
        return self._inner.socket_limits()


class RehearsedNetwork(WrappedNetwork):
    """A network whose ports disturb datagrams, separately for each direction of each port.

    Args:
        inner: the network that opens the ports.
        send_data: makes the disturbance of datagrams that a send port sends; called once for each
            port, and None disturbs nothing.
        send_control: the same for datagrams that a send port receives.
        receive_data: the same for datagrams that a receive port receives.
        receive_control: the same for datagrams that a receive port sends.
        clock: the clock for delays; the machine's if None.
    """

    def __init__(
        self,
        inner: Network,
        *,
        send_data: DisturbanceMaker = _undisturbed,
        send_control: DisturbanceMaker = _undisturbed,
        receive_data: DisturbanceMaker = _undisturbed,
        receive_control: DisturbanceMaker = _undisturbed,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(inner)
        self._send = (send_data, send_control)
        self._receive = (receive_control, receive_data)
        self._clock = clock

    def open_send_port(
        self, remote: Address | None, local: Address, **options: Unpack[SendPortOptions]
    ) -> DatagramPort:
        """Open a send port with its disturbances; see ``sockets.open_send_port``."""
        return self._around(self._inner.open_send_port(remote, local, **options), self._send)

    def open_receive_port(
        self, endpoint: Address, interface: Address | None = None, **options: Unpack[PortOptions]
    ) -> DatagramPort:
        """Open a receive port with its disturbances; see ``sockets.open_receive_port``."""
        port = self._inner.open_receive_port(endpoint, interface, **options)
        return self._around(port, self._receive)

    def _around(
        self, port: DatagramPort, makers: tuple[DisturbanceMaker, DisturbanceMaker]
    ) -> DatagramPort:
        outgoing, incoming = (make() for make in makers)
        if outgoing is None and incoming is None:
            return port
        return RehearsedPort(port, outgoing, incoming, self._clock)


#: The machine's own network.
SYSTEM_NETWORK: Final[Network] = SystemNetwork()
