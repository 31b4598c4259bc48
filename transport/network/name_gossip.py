"""The protocol by which drivers exchange their names (spec wire-protocol 15.2).

It has neither sockets nor a clock: its owner passes in datagrams, results of lookups and times, and
sends the frames that `poll` returns.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from aerolog.transport.config.values import INT32_MAX
from aerolog.transport.errors import ConfigurationError, MessageFormatError
from aerolog.transport.network.addresses import SocketAddress
from aerolog.transport.protocol import frames
from aerolog.transport.protocol.frame_codec import (
    ResolutionEntry,
    ResolutionFrame,
    decode_frame,
    encode_frame,
    encode_resolution_entry,
)
from aerolog.transport.time_units import NS_PER_MS, NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from aerolog.transport.network.host_names import IpAddress

MAX_BOOTSTRAP_NEIGHBORS: Final = 20
#: This bounds what unknown hosts can make a driver remember and send.
MAX_CACHE_ENTRIES: Final = 10_000
MAX_NEIGHBORS: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class GossipOptions:
    """Options of a driver's name gossip.

    Attributes:
        name: name of this driver.
        bootstrap: ``host:port`` of the first neighbors.
        mtu_length: bytes of the longest frame.
        neighbor_timeout_ns: names and neighbors are forgotten if nothing is received about them
            for this time.
        self_interval_ns, neighbor_interval_ns, bootstrap_interval_ns: periods for sending the
            driver's own name, for sending all names, and for new lookups of bootstrap neighbors
            that do not answer.
    """

    name: str
    bootstrap: tuple[str, ...] = ()
    mtu_length: int = 1408
    neighbor_timeout_ns: int = 10_000_000_000
    self_interval_ns: int = NS_PER_S
    neighbor_interval_ns: int = 2_000_000_000
    bootstrap_interval_ns: int = 10_000_000_000


def parse_bootstrap(text: str | None) -> tuple[str, ...]:
    """Parse a comma-separated list of at most 20 ``host:port`` texts.

    A text of another form fails when it is looked up, which is logged, as an unknown host is.

    Raises:
        ConfigurationError: if there are more.
    """
    neighbors = tuple(filter(None, text.split(","))) if text else ()
    if len(neighbors) > MAX_BOOTSTRAP_NEIGHBORS:
        raise ConfigurationError(
            f"{len(neighbors)} bootstrap neighbors, at most {MAX_BOOTSTRAP_NEIGHBORS} are allowed"
        )
    return neighbors


@dataclass(slots=True)
class CacheEntry:
    """A name that was received from another driver."""

    address: SocketAddress
    last_activity_ns: int


@dataclass(slots=True)
class Bootstrap:
    """A configured first neighbor, with its address after it is resolved."""

    value: str
    address: SocketAddress | None = None

    @property
    def label(self) -> str:
        """Label of the neighbor's counter."""
        resolved = "" if self.address is None else self.address.label
        return f"Bootstrap neighbor: name={self.value} resolved={resolved}"


class NeighborHandler(Protocol):
    """Called when a neighbor appears or disappears."""

    def __call__(self, address: SocketAddress, *, is_there: bool) -> None:
        """Handle a new neighbor, or one whose timeout has passed."""


def _unheard(address: SocketAddress, *, is_there: bool) -> None:
    """Ignore a change of the neighbors; this is the default handler."""


class Outgoing(NamedTuple):
    """A frame to send."""

    frame: bytes
    destination: SocketAddress


@dataclass(slots=True)
class Work:
    """The work that is due: frames to send in order, and bootstrap neighbors to look up."""

    frames: list[Outgoing] = field(default_factory=list)
    lookups: list[str] = field(default_factory=list)


class NameGossip:
    """The names of other drivers that one driver knows, and their exchange with neighbors.

    Any thread may call `address_of`; all other methods belong to one thread.

    Args:
        options: names, intervals and timeouts.
        bound: address of the resolver's socket.
        now_ns: the present monotonic time.
        on_neighbor: called for every neighbor that appears or disappears.

    Raises:
        ConfigurationError: if the name does not fit into a frame.
    """

    def __init__(
        self,
        options: GossipOptions,
        bound: SocketAddress,
        now_ns: int,
        *,
        on_neighbor: NeighborHandler | None = None,
    ) -> None:
        self._options = options
        self._on_neighbor: NeighborHandler = on_neighbor or _unheard
        self._bound = bound
        self._own = ResolutionEntry(
            options.name, str(bound.ip), bound.port, 0, frames.RESOLUTION_FLAG_SELF
        )
        self._own_frame = encode_frame(ResolutionFrame((self._own,)))
        self._cache: dict[tuple[str, int], CacheEntry] = {}
        self._neighbors: dict[SocketAddress, int] = {}
        self.bootstrap = [Bootstrap(value) for value in options.bootstrap]
        self._next_self_ns = now_ns
        self._next_neighbors_ns = now_ns + options.neighbor_interval_ns
        self._next_bootstrap_ns = now_ns

    @property
    def neighbor_count(self) -> int:
        """Number of neighbors, the value of the counter that has `neighbors_label`."""
        return len(self._neighbors)

    @property
    def cache_entry_count(self) -> int:
        """Number of cached names, the value of the counter that has `cache_label`."""
        return len(self._cache)

    @property
    def neighbors_label(self) -> str:
        """Label of the counter of neighbors."""
        return f"Resolver neighbors: bound {self._bound.label}"

    @property
    def cache_label(self) -> str:
        """Label of the counter of cache entries."""
        return f"Resolver cache entries: name={self._options.name}"

    def is_neighbor(self, bootstrap: Bootstrap) -> bool:
        """Whether a bootstrap neighbor is a neighbor now; its counter is then 1, else 0."""
        return bootstrap.address in self._neighbors

    def address_of(self, host: str) -> IpAddress | None:
        """Return the IPv4 address of a driver's name, also of this one, or None if unknown."""
        entry = self._cache.get((host, 4))
        if entry is not None:
            return entry.address.ip
        return self._bound.ip if host == self._options.name else None

    def on_datagram(self, datagram: bytes, source: SocketAddress, now_ns: int) -> bool:
        """Process a received datagram.

        Returns:
            False if the datagram is malformed: it counts as invalid and changes nothing.
        """
        if len(datagram) < frames.COMMON_HEADER_LENGTH or datagram[frames.VERSION_OFFSET]:
            return False
        kind = datagram[frames.TYPE_OFFSET : frames.TYPE_OFFSET + 2]
        if int.from_bytes(kind, "little") != frames.FRAME_RESOLUTION:
            return True
        try:
            frame = decode_frame(datagram)
        except MessageFormatError:
            return False
        if isinstance(frame, ResolutionFrame):
            for entry in frame.entries:
                self._on_entry(entry, source, now_ns)
        return True

    def on_bootstrap_resolved(self, value: str, address: SocketAddress | None) -> None:
        """Process the result of a bootstrap neighbor's lookup; None keeps the old address."""
        for bootstrap in self.bootstrap:
            if bootstrap.value == value and address is not None:
                bootstrap.address = address

    def poll(self, now_ns: int) -> Work:
        """Forget entries that timed out, and return the frames and lookups that are due."""
        work = Work()
        self._expire(now_ns)
        if now_ns >= self._next_bootstrap_ns:
            self._next_bootstrap_ns = now_ns + self._options.bootstrap_interval_ns
            work.lookups = [b.value for b in self.bootstrap if not self.is_neighbor(b)]
        if now_ns >= self._next_self_ns:
            destinations = dict.fromkeys(
                [b.address for b in self.bootstrap if b.address is not None] + list(self._neighbors)
            )
            if destinations:
                self._next_self_ns = now_ns + self._options.self_interval_ns
                work.frames += [Outgoing(self._own_frame, to) for to in destinations]
        if now_ns >= self._next_neighbors_ns:
            self._next_neighbors_ns = now_ns + self._options.neighbor_interval_ns
            told = list(self._table_frames(now_ns)) if self._neighbors else ()
            work.frames += [Outgoing(frame, to) for frame in told for to in self._neighbors]
        return work

    def _on_entry(self, entry: ResolutionEntry, source: SocketAddress, now_ns: int) -> None:
        if entry.port == self._bound.port and entry.name == self._options.name:
            return
        is_self = entry.flags == frames.RESOLUTION_FLAG_SELF
        ip = ip_address(entry.address)
        if is_self and ip.is_unspecified:
            ip = source.ip
        address = SocketAddress(ip, entry.port)
        # A negative age, which would place the activity in the future, counts as 0.
        activity_ns = now_ns - max(entry.age_ms, 0) * NS_PER_MS
        self._remember(entry.name, address, activity_ns)
        self._meet(address, activity_ns, is_self=is_self)

    def _remember(self, name: str, address: SocketAddress, activity_ns: int) -> None:
        key = (name, address.ip.version)
        known = self._cache.get(key)
        if known is None:
            if len(self._cache) < MAX_CACHE_ENTRIES:
                self._cache[key] = CacheEntry(address, activity_ns)
        elif activity_ns >= known.last_activity_ns:  # older activity is a late repetition
            self._cache[key] = CacheEntry(address, activity_ns)

    def _meet(self, address: SocketAddress, activity_ns: int, *, is_self: bool) -> None:
        known_ns = self._neighbors.get(address)
        if known_ns is None:
            can_send = address.family == self._bound.family and address.port != 0
            if can_send and len(self._neighbors) < MAX_NEIGHBORS:
                self._neighbors[address] = activity_ns
                self._on_neighbor(address, is_there=True)
        elif is_self:
            self._neighbors[address] = max(activity_ns, known_ns)

    def _expire(self, now_ns: int) -> None:
        oldest_ns = now_ns - self._options.neighbor_timeout_ns
        for key in [k for k, entry in self._cache.items() if entry.last_activity_ns < oldest_ns]:
            del self._cache[key]
        for address in [a for a, heard_ns in self._neighbors.items() if heard_ns <= oldest_ns]:
            del self._neighbors[address]
            self._on_neighbor(address, is_there=False)

    def _table_frames(self, now_ns: int) -> Iterator[bytes]:
        entries = (
            ResolutionEntry(
                name,
                str(entry.address.ip),
                entry.address.port,
                min((now_ns - entry.last_activity_ns) // NS_PER_MS, INT32_MAX),
            )
            for (name, _), entry in self._cache.items()
        )
        for batch in _batches(entries, self._options.mtu_length):
            yield encode_frame(ResolutionFrame(tuple(batch)))


def _batches(entries: Iterable[ResolutionEntry], limit: int) -> Iterator[list[ResolutionEntry]]:
    """Group entries by frames; an entry that fits into no frame is left out."""
    batch: list[ResolutionEntry] = []
    length = frames.COMMON_HEADER_LENGTH
    for entry in entries:
        size = len(encode_resolution_entry(entry))
        if size > limit - frames.COMMON_HEADER_LENGTH:
            continue
        if length + size > limit:
            yield batch
            batch, length = [], frames.COMMON_HEADER_LENGTH
        batch.append(entry)
        length += size
    if batch:
        yield batch
