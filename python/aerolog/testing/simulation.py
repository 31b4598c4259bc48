"""Drivers, clients and archives in one thread, under one seed.

A simulation turns one party at a time: an agent of a driver or of an archive, a client, or a
function of the test. The seed decides whose turn it is, how long the turn takes and who is left
without one for a while; time is the simulation's own. Nothing asks the machine for its time, its
randomness, its threads, its files or its network, so the same seed gives the same run.
"""

from __future__ import annotations

import gc
import random
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aerolog.testing.hosts import SimulatedHost
from aerolog.testing.network import FakeNetwork
from aerolog.transport.concurrent.clock import ManualClock
from aerolog.transport.errors import AerologError
from aerolog.transport.protocol.frame_codec import decode_frames
from aerolog.transport.resource import Resource
from aerolog.transport.time_units import NS_PER_MS, NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.testing.filesystem import FakeFileSystem
    from aerolog.transport.network.port import Address

_US: Final = 1_000
_FIRST_LEAP_NS: Final = 50 * _US
_FRAME_TEXT: Final = 200  # characters of a frame in the trace
_DRAWS: Final = 4  # before everybody is asked


def _port(address: Address) -> str:
    return f"{address[0]}:{address[1]}"


class SimulationTimeoutError(AerologError, TimeoutError):
    """What was waited for did not happen in the simulated time given."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How time passes and who gets to work; times in nanoseconds.

    Attributes:
        turn_ns: a turn takes up to so long.
        leap_ns: when nobody has anything to do, time leaps ahead by up to so much, yet never over
            the arrival of a datagram.
        stall_chance: the chance of a party, per turn, to be left without turns for a while.
        stall_ns: it then lasts up to so long.
    """

    turn_ns: int = 10 * _US
    leap_ns: int = 10 * NS_PER_MS
    stall_chance: float = 0.0
    stall_ns: int = 20 * NS_PER_MS


class Party:
    """Somebody who works in turns.

    Attributes:
        name: what the trace calls the party.
        ready_ns: no turn before this time.
    """

    __slots__ = ("is_turning", "name", "number", "ready_ns", "turn")

    def __init__(self, name: str, number: int, turn: Callable[[], int | None]) -> None:
        self.name = name
        self.number = number
        self.turn = turn
        self.ready_ns = 0
        self.is_turning = False

    def __repr__(self) -> str:
        return f"<Party {self.name}>"


class Simulation(Resource):
    """A world of its own: hosts, a network between them, and time.

    A context manager: on leaving, everything is closed. While it is open the garbage collector
    rests, since what it finds, and when, is not the seed's.

    Args:
        seed: what every choice follows from.
        pace: how time passes.
        trace: is given a line for everything that happens.

    Attributes:
        clock: the time of everybody.
        network: between the hosts.
        random: a source for the test's own choices, which are part of the run.
        parties: who works, in the order of joining.
        turn_count: turns so far.

    Example:
        with Simulation(seed=7) as simulation:
            driver = simulation.host().start_driver()
    """

    def __init__(
        self,
        seed: int = 0,
        *,
        pace: Pace | None = None,
        trace: Callable[[str], object] | None = None,
    ) -> None:
        self.seed = seed
        self.pace = pace or Pace()
        self.clock = ManualClock()
        self.network = FakeNetwork(self.clock, seed)
        self.random = random.Random(f"aerolog {seed}")  # noqa: S311 -- repeatable, no secret
        self.hosts: list[SimulatedHost] = []
        self.parties: list[Party] = []
        self.turn_count = 0
        self._trace = trace
        if trace is not None:
            self.network.tap = self._trace_datagram
        self._began_ns = self.clock.now_ns()
        self._fingerprint = 0
        self._party_count = 0
        self._quiet_turns = 0
        self._leap_ns = _FIRST_LEAP_NS
        self._collects = gc.isenabled()
        self._closed = False
        gc.disable()

    # -- who is there ----------------------------------------------------------------------------

    def host(self, name: str = "", disk: FakeFileSystem | None = None) -> SimulatedHost:
        """Add a host with a disk and an address of its own.

        Args:
            name: the name of the host; numbered when empty.
            disk: the disk for the archive's folder; a new one when None.
        """
        host = SimulatedHost(self, name or f"host-{len(self.hosts) + 1}", disk)
        self.hosts.append(host)
        return host

    def add_party(self, name: str, turn: Callable[[], int | None]) -> Party:
        """Let somebody work in turns.

        Args:
            name: what the trace calls the party.
            turn: one turn: does a bit of work and does not wait. Returns how much was done; with 0
                or None everywhere, time leaps ahead.
        """
        self._party_count += 1
        party = Party(name, self._party_count, turn)
        self.parties.append(party)
        return party

    def remove_party(self, party: Party) -> None:
        """Give somebody no more turns; nothing happens the second time."""
        if party in self.parties:
            self.parties.remove(party)

    # -- what happens ----------------------------------------------------------------------------

    @property
    def now_s(self) -> float:
        """Simulated seconds since the beginning."""
        return (self.clock.now_ns() - self._began_ns) / NS_PER_S

    @property
    def fingerprint(self) -> str:
        """The fingerprint of everything that happened so far; equal runs have the same."""
        return f"{hash((self._fingerprint, self.network.fingerprint)) & (1 << 64) - 1:016x}"

    def note(self, event: str) -> None:
        """Make something that happened a part of the trace and of the fingerprint."""
        self._fingerprint = hash((self._fingerprint, zlib.crc32(event.encode())))
        self._tell(event)

    def _trace_datagram(
        self, source: Address, destination: Address, data: bytes, fate: str
    ) -> None:
        for frame in decode_frames(data):
            self._tell(
                f"{_port(source)} -> {_port(destination)} {fate}: {repr(frame)[:_FRAME_TEXT]}"
            )

    def _tell(self, line: str) -> None:
        if self._trace is not None:
            self._trace(f"{self.now_s:12.6f} {line}")

    def step(self) -> int:
        """Give somebody a turn, or let time pass when nobody is ready.

        A party that waits in its turn, as blocking calls of a client do, may call this: it then
        gets no second turn inside the first.

        Returns:
            How much work was done.
        """
        random, pace = self.random.random, self.pace
        party = self._pick()
        if party is None:
            self._leap()
            return 0
        if pace.stall_chance and random() < pace.stall_chance:
            self.stall(party, int(random() * pace.stall_ns))
            return 0
        party.is_turning = True
        try:
            work = party.turn() or 0
        finally:
            party.is_turning = False
        self.turn_count += 1
        self.clock.advance_ns(int(random() * pace.turn_ns))
        self._fingerprint = hash((self._fingerprint, party.number, self.clock.now_ns(), work))
        if work:
            self._quiet_turns = 0
            self._leap_ns = _FIRST_LEAP_NS
            if self._trace is not None:
                self._tell(f"{party.name} did {work}")
        else:
            self._quiet_turns += 1
            if self._quiet_turns > len(self.parties):
                self._leap()
        return work

    def _pick(self) -> Party | None:
        """Somebody who is ready; None when nobody is."""
        now_ns, parties = self.clock.now_ns(), self.parties
        random, count = self.random.random, len(parties)
        for _ in range(min(_DRAWS, count)):
            party = parties[int(random() * count)]
            if party.ready_ns <= now_ns and not party.is_turning:
                return party
        ready = [p for p in parties if p.ready_ns <= now_ns and not p.is_turning]
        return ready[int(random() * len(ready))] if ready else None

    def _leap(self) -> None:
        """Let time pass; longer and longer while nothing happens."""
        now_ns = self.clock.now_ns()
        leap_ns = max(1, int(self.random.random() * self._leap_ns))
        arrival_ns = self.network.next_delivery_ns()
        if arrival_ns is not None:
            leap_ns = min(leap_ns, max(1, arrival_ns - now_ns))
        self.clock.advance_ns(leap_ns)
        self._leap_ns = min(3 * self._leap_ns, self.pace.leap_ns)
        self._quiet_turns = 0

    def stall(self, party: Party, duration_ns: int) -> None:
        """Leave a party without turns, as a machine does that has something else to do."""
        party.ready_ns = self.clock.now_ns() + duration_ns
        self.note(f"{party.name} stalls for {duration_ns} ns")

    def run(self, until: Callable[[], object] | None = None, timeout: float = 60.0) -> None:
        """Turn everybody until a condition holds.

        Args:
            until: asked between turns; None runs for as long as ``timeout``.
            timeout: simulated seconds.

        Raises:
            SimulationTimeoutError: the condition did not come to hold in that time.
        """
        deadline_ns = self.clock.now_ns() + int(timeout * NS_PER_S)
        while until is None or not until():
            if self.clock.now_ns() >= deadline_ns:
                if until is None:
                    return
                raise SimulationTimeoutError(
                    f"seed {self.seed}: not within {timeout:g} simulated seconds"
                )
            self.step()

    # -- the end ---------------------------------------------------------------------------------

    def close(self) -> None:
        """Close what runs on the hosts; idempotent."""
        if self._closed:
            return
        self._closed = True
        try:
            for host in self.hosts:
                host.close()
        finally:
            self.parties.clear()
            if self._collects:
                gc.enable()
