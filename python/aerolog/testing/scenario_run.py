"""One run of a scenario: its simulation, writers and readers, and what holds at the end."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from aerolog.testing.scenarios import Harm, HarmPlan, Scenario
from aerolog.testing.simulation import Pace, Simulation, SimulationTimeoutError
from aerolog.testing.streams import CheckedReader, CheckedWriter, Ledger, StreamCheckError
from aerolog.transport.errors import AeronTimeoutError
from aerolog.transport.time_units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.testing.hosts import SimulatedHost
    from aerolog.testing.scenarios import ReaderPlan, StreamPlan
    from aerolog.testing.simulation import Party
    from aerolog.testing.streams import Reading
    from aerolog.transport.client import Aeron

_PATIENCE_S: Final = 30.0  # without progress: each try to join may take a second, and be lost
# Below the client liveness timeout of simulated drivers.
_CLIENT_STALL_S: Final = 1.5
_LIMIT_S: Final = 300.0
_LOOK_EVERY: Final = 16  # turns; what is waited for does not go away


@dataclass(slots=True)
class Outcome:
    """What came of a scenario.

    Attributes:
        fingerprint: the fingerprint of the run.
        turns: how many turns all parties took together.
        seconds: simulated.
        sent: messages accepted.
        received: messages that arrived, at every reader.
        ended: images that went before everything had been read.
        lost: datagrams.
    """

    fingerprint: str
    turns: int
    seconds: float
    sent: int
    received: int
    ended: int
    lost: int


@dataclass(slots=True, eq=False)
class _Role:
    """A writer or reader, the client that it uses, and whether harm has come to it."""

    name: str
    host: SimulatedHost
    client: Aeron
    work: CheckedWriter | CheckedReader
    party: Party | None = None
    is_lost: bool = False


@dataclass(slots=True, eq=False)
class _Writer(_Role):
    work: CheckedWriter


@dataclass(slots=True, eq=False)
class _Reader(_Role):
    work: CheckedReader
    may_fall_behind: bool = False


@dataclass(slots=True, eq=False)
class _Stream:
    """A publication with everybody who has to do with it."""

    plan: StreamPlan
    writers: list[_Writer] = field(default_factory=list)
    readers: list[_Reader] = field(default_factory=list)
    awaited: int = 0  # readers that have yet to join


class ScenarioRun:
    """One scenario in a simulation of its own.

    Args:
        scenario: the scenario to run.
        trace: is given a line for everything that happens.
    """

    def __init__(self, scenario: Scenario, trace: Callable[[str], object] | None = None) -> None:
        self.scenario = scenario
        pace = Pace(stall_chance=scenario.stall_chance)
        self.simulation = Simulation(scenario.seed, pace=pace, trace=trace)
        self.ledger = Ledger()
        self._hosts = [self.simulation.host() for _ in range(scenario.hosts)]
        self._streams = [_Stream(plan) for plan in scenario.streams]
        self._clients: dict[int, Aeron] = {}
        self._agenda: list[tuple[int, int, Callable[[], None]]] = []
        self._may_end = scenario.harsh
        self._errors: list[BaseException] = []

    def run(self) -> Outcome:
        """Run the scenario to its end.

        Raises:
            StreamCheckError: something arrived that was not sent so, or an end without a reason.
            SimulationTimeoutError: a stream that nothing hinders any more does not get through.
        """
        with self.simulation as simulation:
            self._set_up()
            simulation.run(self._agenda_is_done)
            simulation.network.heal()
            simulation.note("no more harm")
            self._run_until(self._everything_arrived, "everything sent to arrive")
            for stream in self._streams:
                for writer in stream.writers:
                    self._end_writer(writer)
            self._run_until(self._all_images_gone, "the images to go")
            self._epilogue()
            self._check_ends()
            self._check_errors()
            return self._outcome()

    # -- the beginning ---------------------------------------------------------------------------

    def _set_up(self) -> None:
        scenario, simulation = self.scenario, self.simulation
        link = scenario.link
        simulation.network.set_link(
            loss=link.loss,
            duplicate=link.duplicate,
            reorder=link.reorder,
            delay_ns=link.delay_ns,
            jitter_ns=link.jitter_ns,
        )
        for host in self._hosts:
            self._start_host(host)
        for stream in self._streams:
            for _ in range(stream.plan.writers):
                self._add_writer(stream)
            for plan in stream.plan.readers:
                stream.awaited += 1
                self._at(plan.joins_at_s, partial(self._add_reader, stream, plan))
        for harm in scenario.harms:
            self._at(harm.at_s, partial(self._do_harm, harm))
        self._agenda.sort(key=lambda entry: entry[:2])
        simulation.add_party("director", self._direct)

    def _start_host(self, host: SimulatedHost) -> None:
        host.start_driver()

    def _at(self, at_s: float, action: Callable[[], None]) -> None:
        due_ns = self.simulation.clock.now_ns() + int(at_s * NS_PER_S)
        self._agenda.append((due_ns, len(self._agenda), action))
        self._agenda.sort(key=lambda entry: entry[:2])

    def _direct(self) -> int:
        if not self._agenda or self._agenda[0][0] > self.simulation.clock.now_ns():
            return 0
        _, _, action = self._agenda.pop(0)
        action()
        return 1

    def _agenda_is_done(self) -> bool:
        return not self._agenda

    def _client(self, host: SimulatedHost) -> Aeron:
        """A client of the host, its only one or one of many."""
        number = self._hosts.index(host)
        client = self._clients.get(number)
        if client not in host.clients or client.closed or self.scenario.own_clients:
            client = self._clients[number] = host.connect(on_error=self._on_client_error)
        return client

    def _on_client_error(self, error: BaseException) -> None:
        self.simulation.note(f"client error: {error!r}")
        self._errors.append(error)

    def _add_writer(self, stream: _Stream) -> None:
        plan, host = stream.plan, self._hosts[stream.plan.host]
        client = self._client(host)
        is_first = all(writer.is_lost for writer in stream.writers)
        work = CheckedWriter(
            self.ledger,
            client,
            plan.channel,
            plan.stream_id,
            self._random(),
            plan.count,
            exclusive=plan.exclusive,
            destinations=plan.destinations if is_first else (),
            max_length=plan.max_length,
        )
        name = f"writer {plan.stream_id}-{len(stream.writers)}"
        writer = _Writer(name, host, client, work)
        writer.party = self.simulation.add_party(name, lambda: self._write(writer, plan.pause_ns))
        stream.writers.append(writer)

    def _write(self, writer: _Writer, pause_ns: int) -> int:
        work = writer.work.turn()
        if work and pause_ns and writer.party is not None:
            pause_ns = int(self.simulation.random.random() * pause_ns)
            writer.party.ready_ns = self.simulation.clock.now_ns() + pause_ns
        return work

    def _add_reader(self, stream: _Stream, plan: ReaderPlan) -> None:
        stream.awaited -= 1
        host = self._hosts[plan.host]
        if host.driver is None:
            return
        client = self._client(host)
        name = f"reader {stream.plan.stream_id}-{len(stream.readers)}"
        work = CheckedReader(
            self.ledger,
            client,
            plan.channel,
            stream.plan.stream_id,
            self._random(),
            reliable=plan.reliable,
            note=lambda event: self.simulation.note(f"{name}: {event}"),
        )
        party = self.simulation.add_party(name, work.turn)
        reader = _Reader(name, host, client, work, party)
        reader.may_fall_behind = plan.may_fall_behind
        stream.readers.append(reader)
        if plan.leaves_at_s is not None:
            self._at(plan.leaves_at_s - plan.joins_at_s, lambda: self._end_reader(reader))

    def _random(self) -> random.Random:
        return random.Random(self.simulation.random.getrandbits(64))  # noqa: S311 -- repeatable

    # -- what happens to them --------------------------------------------------------------------

    def _do_harm(self, plan: HarmPlan) -> None:
        host = self._hosts[plan.host]
        self.simulation.note(f"harm: {plan}")
        if plan.harm is Harm.PARTITION:
            other = self._hosts[plan.other]
            self.simulation.network.partition(host.network, other.network)
            self._at(plan.lasts_s, self.simulation.network.heal)
        elif plan.harm is Harm.STALL:
            parties = self.simulation.parties
            party = parties[int(self.simulation.random.random() * len(parties))]
            # A client that is given up for dead has its counters taken away and used again, and
            # programs of its process that read on meanwhile read anything, as the reference's do.
            longest_s = _CLIENT_STALL_S if " client " in party.name else plan.lasts_s
            self.simulation.stall(party, int(min(plan.lasts_s, longest_s) * NS_PER_S))
        elif plan.harm is Harm.KILL_CLIENT and host.clients:
            client = host.clients[int(self.simulation.random.random() * len(host.clients))]
            host.kill_client(client)
            self._lose(lambda role: role.client is client)
        elif plan.harm is Harm.KILL_HOST and host.driver is not None:
            host.kill()
            self._lose(lambda role: role.host is host)
            self._at(max(plan.lasts_s, 2.5), lambda: self._restart(host))

    def _restart(self, host: SimulatedHost) -> None:
        self._start_host(host)
        for stream in self._streams:
            if self._hosts[stream.plan.host] is host:
                for _ in range(stream.plan.writers):
                    self._add_writer(stream)
            for plan in stream.plan.readers:
                if self._hosts[plan.host] is host:
                    stream.awaited += 1
                    self._add_reader(stream, plan)

    def _lose(self, is_hit: Callable[[_Role], bool]) -> None:
        for stream in self._streams:
            for role in (*stream.writers, *stream.readers):
                if is_hit(role) and not role.is_lost:
                    role.is_lost = True
                    self._dismiss(role)

    def _dismiss(self, role: _Role) -> None:
        if role.party is not None:
            self.simulation.remove_party(role.party)
            role.party = None

    def _end_reader(self, reader: _Reader) -> None:
        if not reader.is_lost and not reader.client.closed:
            reader.is_lost = True
            reader.work.close()
            self._dismiss(reader)

    def _end_writer(self, writer: _Writer) -> None:
        if not writer.is_lost and not writer.client.closed:
            writer.work.close()
            self._dismiss(writer)

    def _epilogue(self) -> None:
        """What happens after the last image has gone."""

    # -- what has to hold ------------------------------------------------------------------------

    def _run_until(self, condition: Callable[[], bool], what: str) -> None:
        self.simulation.note(f"waiting for {what}")
        simulation = self.simulation
        before, turns, last_s = -1, 0, simulation.now_s

        def is_over() -> bool:
            nonlocal before, turns, last_s
            turns += 1
            if turns % _LOOK_EVERY:
                return False
            progress = self._progress()
            if progress != before:
                before, last_s = progress, simulation.now_s
            elif simulation.now_s - last_s > _PATIENCE_S:
                raise SimulationTimeoutError(
                    f"nothing comes of waiting for {what}: {self._state()}"
                )
            return condition()

        simulation.run(is_over, _LIMIT_S)

    def _progress(self) -> int:
        """Messages read, and images that came and went."""
        readers = [reader.work for stream in self._streams for reader in stream.readers]
        return sum(r.count + 2 * len(r.readings) - len(r.open_readings) for r in readers)

    def _state(self) -> str:
        """How far writers and readers are that nothing has happened to."""
        found = [
            f"{writer.name} sent {writer.work.sent} of {writer.work.count}"
            for stream in self._streams
            for writer in stream.writers
            if not writer.is_lost
        ]
        found += [
            f"{reader.name} has {reader.work.open_readings}"
            for stream in self._streams
            for reader in stream.readers
            if not reader.is_lost
        ]
        return "; ".join(found)

    def _notice_ends(self) -> None:
        """In harsh scenarios a client may end, with a reason; what it had is lost then."""
        for stream in self._streams:
            for role in (*stream.writers, *stream.readers):
                if not role.is_lost and (role.client.closed or role.work.error is not None):
                    if not self._may_end:
                        raise StreamCheckError(
                            f"{role.name} ended without a reason: {role.client.close_reason!r}, "
                            f"{role.work.error!r}"
                        )
                    role.is_lost = True

    def _everything_arrived(self) -> bool:
        self._notice_ends()
        return all(self._has_arrived(stream) for stream in self._streams)

    def _has_arrived(self, stream: _Stream) -> bool:
        writers = [writer for writer in stream.writers if not writer.is_lost]
        readers = [reader for reader in stream.readers if not reader.is_lost]
        if not writers or not readers:
            return True
        if not all(writer.work.done for writer in writers):
            return False
        sent = {id(writer.work.stream) for writer in writers}
        for reader in readers:
            whole = {id(r.stream) for r in reader.work.open_readings if r.is_complete}
            if not sent <= whole:
                return False
        return True

    def _all_images_gone(self) -> bool:
        return not any(
            reader.work.open_readings
            for stream in self._streams
            for reader in stream.readers
            if not reader.is_lost and not reader.client.closed
        )

    def _check_ends(self) -> None:
        """In a mild scenario no image goes before everything was read, and each says so."""
        for stream in self._streams:
            for reader in stream.readers:
                for reading in reader.work.readings:
                    if reading.gone and not (self._may_end or reader.may_fall_behind):
                        _check_end(reading, reader.work.reliable)

    def _check_errors(self) -> None:
        """Nobody has noted an error but those by which a harsh scenario ends a client."""
        for error in self._errors:
            if not (self._may_end and isinstance(error, AeronTimeoutError)):
                raise StreamCheckError(f"a client has reported {error!r}") from error
        for host in self._hosts:
            if host.driver is None:
                continue
            errors = [found.text.splitlines()[0] for found in host.driver.context.cnc.errors()]
            if errors:
                raise StreamCheckError(f"errors in the driver of {host.name}: {errors}")

    def _outcome(self) -> Outcome:
        readers = [reader.work for stream in self._streams for reader in stream.readers]
        return Outcome(
            fingerprint=self.simulation.fingerprint,
            turns=self.simulation.turn_count,
            seconds=self.simulation.now_s,
            sent=sum(len(stream.messages) for stream in self.ledger.streams.values()),
            received=sum(reader.count for reader in readers),
            ended=sum(not reading.is_complete for reader in readers for reading in reader.readings),
            lost=self.simulation.network.lost,
        )


def _check_end(reading: Reading, reliable: bool) -> None:
    if reliable and not reading.is_complete:
        raise StreamCheckError(f"the image went before everything was read: {reading}")
    if not reading.image.is_end_of_stream:
        raise StreamCheckError(f"the image went without the end of its stream: {reading}")
