"""Scenarios: what a seed makes of hosts, streams, their readers, and the harm that comes to them.

A scenario is data, made of a seed alone; ``ScenarioRun`` and ``ArchiveScenarioRun`` run it. Mild
ones bring loss, duplicates, reordering, delay, short partitions and short stalls: every stream
gets through whole. Harsh ones bring long partitions, long stalls and kills as well: streams may
end, with a reason.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final

from aerolog.transport.time_units import NS_PER_MS

if TYPE_CHECKING:
    from collections.abc import Callable

_BYTES: Final = 400_000  # of a writer at most
_FIRST_PORT: Final = 40_000
_GROUP: Final = "224.20.30.39"


class Kind(Enum):
    """What a scenario is about."""

    IPC = "ipc"
    UDP = "udp"
    ARCHIVE = "archive"


class Harm(Enum):
    """What happens at some time of a scenario."""

    PARTITION = "partition"
    STALL = "stall"
    KILL_CLIENT = "kill-client"
    KILL_HOST = "kill-host"
    KILL_ARCHIVE = "kill-archive"
    FULL_DISK = "full-disk"
    POWER_CUT = "power-cut"


#: What a harsh scenario may do beside long stalls and partitions.
_KILLS: Final = {
    Kind.IPC: (Harm.KILL_CLIENT, Harm.KILL_HOST),
    Kind.UDP: (Harm.KILL_CLIENT, Harm.KILL_HOST),
    Kind.ARCHIVE: (Harm.KILL_ARCHIVE, Harm.FULL_DISK, Harm.POWER_CUT),
}


@dataclass(frozen=True, slots=True)
class LinkPlan:
    """How bad the network is; see ``FakeNetwork.set_link``."""

    loss: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    delay_ns: int = 0
    jitter_ns: int = 0


@dataclass(frozen=True, slots=True)
class ReaderPlan:
    """A subscription of a scenario.

    Attributes:
        host: number of its host.
        channel: the channel of the subscription.
        joins_at_s: simulated seconds after the start.
        leaves_at_s: None to stay.
        reliable: whether everything has to arrive.
        may_fall_behind: the publisher does not know of it from the start, so that its image may
            end, and begin anew further on.
    """

    host: int
    channel: str
    joins_at_s: float = 0.0
    leaves_at_s: float | None = None
    reliable: bool = True
    may_fall_behind: bool = False


@dataclass(frozen=True, slots=True)
class StreamPlan:
    """One publication with its writers and readers.

    Attributes:
        host: number of the publisher's host.
        channel: the channel of the publication.
        stream_id: the stream id of all writers and readers.
        exclusive: whether it has one writer and a log of its own.
        writers: clients that share the publication.
        count: messages of each writer.
        max_length: bytes of the longest message.
        pause_ns: the longest pause of a writer after a burst.
        destinations: where a publication with ``control-mode=manual`` sends.
        readers: subscriptions.
    """

    host: int
    channel: str
    stream_id: int
    exclusive: bool
    writers: int
    count: int
    max_length: int
    pause_ns: int
    readers: tuple[ReaderPlan, ...]
    destinations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HarmPlan:
    """Something bad that happens in a scenario.

    Attributes:
        at_s: simulated seconds after the start.
        harm: what.
        host: number of the host it happens to.
        other: the host at the other end of a partition.
        lasts_s: simulated seconds, also of a host's absence.
    """

    at_s: float
    harm: Harm
    host: int
    other: int = 0
    lasts_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Scenario:
    """Everything that a seed decides before the start.

    Attributes:
        kind: what it is about.
        seed: the seed that the scenario was made from.
        harsh: streams may end.
        hosts: how many.
        link: between and on all hosts.
        streams: what is published and read.
        harms: what goes wrong, in the order of time.
        stall_chance: the chance of any party, per turn, to be stalled.
        own_clients: every writer and reader is a client of its own.
    """

    kind: Kind
    seed: int
    harsh: bool
    hosts: int
    link: LinkPlan
    streams: tuple[StreamPlan, ...]
    harms: tuple[HarmPlan, ...]
    stall_chance: float
    own_clients: bool

    def __str__(self) -> str:
        lines = [
            f"{self.kind.value} seed {self.seed}, {'harsh' if self.harsh else 'mild'}",
            f"  {self.hosts} hosts, {self.link}, stall_chance={self.stall_chance}",
        ]
        for stream in self.streams:
            lines.append(f"  {stream.writers} x {stream.count} messages on {stream}")
            lines += [f"    {reader}" for reader in stream.readers]
        lines += [f"  {harm}" for harm in self.harms]
        return "\n".join(lines)


def make_scenario(kind: Kind | str, seed: int) -> Scenario:
    """The scenario of a seed.

    Args:
        kind: what it is about.
        seed: any number.
    """
    return _Maker(Kind(kind), seed).make()


@dataclass(slots=True)
class _Maker:
    kind: Kind
    seed: int
    draw: random.Random = field(init=False)
    harsh: bool = False

    def __post_init__(self) -> None:
        self.draw = random.Random(f"{self.kind.value} {self.seed}")  # noqa: S311 -- repeatable

    def chance(self, of_one: float) -> bool:
        return self.draw.random() < of_one

    def make(self) -> Scenario:
        draw = self.draw
        self.harsh = harsh = self.chance(0.6 if self.kind is Kind.ARCHIVE else 0.3)
        is_udp = self.kind is Kind.UDP
        hosts = draw.randint(2, 4) if is_udp else 1
        link = self.link() if is_udp else LinkPlan()
        streams = tuple(self.stream(number, hosts) for number in range(draw.randint(1, 3)))
        return Scenario(
            kind=self.kind,
            seed=self.seed,
            harsh=harsh,
            hosts=hosts,
            link=link,
            streams=streams,
            harms=self.harms(hosts, harsh=harsh),
            stall_chance=draw.choice((0.0, 0.001, 0.01)),
            own_clients=self.chance(0.5),
        )

    def link(self) -> LinkPlan:
        draw = self.draw
        return LinkPlan(
            loss=draw.choice((0.0, 0.01, 0.05, 0.1, 0.2, 0.3)),
            duplicate=draw.choice((0.0, 0.0, 0.05, 0.3)),
            reorder=draw.choice((0.0, 0.0, 0.05, 0.3)),
            delay_ns=draw.choice((0, 50_000, NS_PER_MS, 10 * NS_PER_MS)),
            jitter_ns=draw.choice((0, 0, 50_000, 2 * NS_PER_MS)),
        )

    def stream(self, number: int, hosts: int) -> StreamPlan:
        draw = self.draw
        exclusive = self.chance(0.5)
        host = draw.randrange(hosts)
        term_length = draw.choice(("64k", "64k", "64k", "128k", "256k"))
        mtu = draw.choice((1408, 1408, 1408, 256, 4096, 8192))
        options = f"term-length={term_length}|mtu={mtu}"
        max_length = draw.choice((32, 1000, 1000, 4000, 8000))
        readers = [self.times(draw.randrange(hosts)) for _ in range(draw.randint(1, 3))]
        if self.kind is Kind.UDP:
            make = draw.choice((_unicast, _unicast, _dynamic, _manual, _multicast))
            channel, places, destinations = make(number, host, [r.host for r in readers])
            options = f"{channel}|{options}{self.flow_control(make, places, readers)}"
        else:
            options = f"aeron:ipc?{options}"
            places, destinations = [_Place(r.host, "aeron:ipc") for r in readers], ()
        some_leave = any(reader.leaves_at_s is not None for reader in readers)
        return StreamPlan(
            host=host,
            channel=options,
            stream_id=1000 + number,
            exclusive=exclusive,
            writers=1 if exclusive else draw.randint(1, 3),
            count=min(draw.choice((20, 50, 100, 200)), _BYTES // max_length),
            max_length=max_length,
            pause_ns=draw.choice((0, 5 * NS_PER_MS, 50 * NS_PER_MS)),
            readers=tuple(
                ReaderPlan(
                    place.host,
                    place.channel,
                    r.joins_at_s,
                    r.leaves_at_s,
                    may_fall_behind="fc=min" in options and (some_leave or r.joins_at_s > 0),
                )
                for r, place in zip(readers, places, strict=True)
            ),
            destinations=destinations,
        )

    def flow_control(
        self, make: Callable[..., _Channels], places: list[_Place], readers: list[ReaderPlan]
    ) -> str:
        """Several receivers: the slowest one decides, once all that are there to stay are known."""
        if make is _unicast:
            return ""
        steady = {
            place.channel
            for place, reader in zip(places, readers, strict=True)
            if reader.joins_at_s == 0.0 and reader.leaves_at_s is None
        }
        return f"|fc=min,g:/{len(steady)}" if steady and not self.harsh else "|fc=min"

    def times(self, host: int) -> ReaderPlan:
        draw = self.draw
        joins_at_s = 0.0 if self.chance(0.6) else draw.random() * 0.5
        leaves_at_s = joins_at_s + draw.random() if self.chance(0.15) else None
        return ReaderPlan(host, "", joins_at_s, leaves_at_s)

    def harms(self, hosts: int, *, harsh: bool) -> tuple[HarmPlan, ...]:
        draw = self.draw
        found = []
        for _ in range(draw.randint(0, 3)):
            host, other = draw.randrange(hosts), draw.randrange(hosts)
            if self.kind is Kind.UDP and self.chance(0.5):
                lasts_s = draw.random() * (5.0 if harsh else 0.5)
                found.append(HarmPlan(draw.random(), Harm.PARTITION, host, other, lasts_s))
            else:
                lasts_s = draw.random() * (4.0 if harsh and self.chance(0.3) else 0.3)
                found.append(HarmPlan(draw.random(), Harm.STALL, host, other, lasts_s))
        if harsh:
            harm = draw.choice(_KILLS[self.kind])
            lasts_s = draw.random() * 3.0
            found.append(HarmPlan(draw.random(), harm, draw.randrange(hosts), lasts_s=lasts_s))
        return tuple(sorted(found, key=lambda plan: plan.at_s))


@dataclass(frozen=True, slots=True)
class _Place:
    """The host of a reader, and the channel by which it subscribes."""

    host: int
    channel: str


_Channels = tuple[str, list[_Place], tuple[str, ...]]


def _address(host: int) -> str:
    return f"10.0.0.{host + 1}"


def _endpoint(number: int, index: int, host: int) -> str:
    return f"endpoint={_address(host)}:{_FIRST_PORT + 100 * (number + 1) + index}"


def _unicast(number: int, _host: int, readers: list[int]) -> _Channels:
    """All readers are where the one endpoint is."""
    channel = f"aeron:udp?{_endpoint(number, 0, readers[0])}"
    return channel, [_Place(readers[0], channel) for _ in readers], ()


def _dynamic(number: int, host: int, readers: list[int]) -> _Channels:
    control = f"control={_address(host)}:{_FIRST_PORT + number}|control-mode=dynamic"
    places = [
        _Place(reader, f"aeron:udp?{_endpoint(number, index, reader)}|{control}")
        for index, reader in enumerate(readers)
    ]
    return f"aeron:udp?{control}", places, ()


def _manual(number: int, host: int, readers: list[int]) -> _Channels:
    control = f"control={_address(host)}:{_FIRST_PORT + number}|control-mode=manual"
    places = [
        _Place(reader, f"aeron:udp?{_endpoint(number, index, reader)}")
        for index, reader in enumerate(readers)
    ]
    return f"aeron:udp?{control}", places, tuple(place.channel for place in places)


def _multicast(number: int, host: int, readers: list[int]) -> _Channels:
    endpoint = f"aeron:udp?endpoint={_GROUP}:{_FIRST_PORT + number}"
    places = [_Place(reader, f"{endpoint}|interface={_address(reader)}") for reader in readers]
    return f"{endpoint}|interface={_address(host)}", places, ()
