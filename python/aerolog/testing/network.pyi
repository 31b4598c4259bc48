from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address

from aerolog.transport.concurrent.clock import Clock
from aerolog.transport.network.interfaces import NetworkInterface
from aerolog.transport.network.port import Address, DatagramPort
from aerolog.transport.network.socket_limits import SocketLimits

class FakeNetwork:
    sent: int
    delivered: int
    lost: int
    cut: int
    duplicated: int
    reordered: int
    unheard: int
    overflowed: int
    fingerprint: int
    names: dict[str, str]
    tap: Callable[[Address, Address, bytes, str], object] | None
    def __init__(self, clock: Clock, seed: int = 0) -> None: ...
    def host(self, ipv4: str = "", ipv6: str = "") -> FakeHost: ...
    def set_link(
        self,
        source: FakeHost | None = None,
        destination: FakeHost | None = None,
        *,
        loss: float = 0.0,
        duplicate: float = 0.0,
        reorder: float = 0.0,
        reorder_ns: int = 1_000_000,
        delay_ns: int = 0,
        jitter_ns: int = 0,
    ) -> None: ...
    def partition(self, left: FakeHost, right: FakeHost, *, both_ways: bool = True) -> None: ...
    def heal(self) -> None: ...
    def next_delivery_ns(self) -> int | None: ...

class FakeHost:
    network: FakeNetwork
    ipv4: str
    ipv6: str
    def __init__(self, network: FakeNetwork, index: int, ipv4: str, ipv6: str) -> None: ...
    def open_send_port(
        self,
        remote: Address | None,
        local: Address,
        *,
        control: Address | None = None,
        connect: bool = True,
        interface_index: int = 0,
        ttl: int = 0,
        so_sndbuf: int = 0,
        so_rcvbuf: int = 0,
        offload: bool = True,
        timestamps: bool = False,
    ) -> FakePort: ...
    def open_receive_port(
        self,
        endpoint: Address,
        interface: Address | None = None,
        *,
        interface_index: int = 0,
        ttl: int = 0,
        so_sndbuf: int = 0,
        so_rcvbuf: int = 0,
        offload: bool = True,
        timestamps: bool = False,
    ) -> FakePort: ...
    def interfaces(self) -> list[NetworkInterface]: ...
    def address_of(self, host: str) -> IPv4Address | IPv6Address | None: ...
    def socket_limits(self) -> SocketLimits: ...
    def close_ports(self) -> None: ...

class FakePort(DatagramPort):
    def __init__(
        self, host: FakeHost, local: Address, ttl: int, so_rcvbuf: int, timestamps: bool
    ) -> None: ...
