"""Clients can write anywhere in a log and in the counters: the driver goes on all the same."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aerolog.testing import FakeFileSystem, ManualClock
from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.driver import MediaDriver
from aerolog.transport.logbuffer.descriptor import LOG_META_LENGTH
from aerolog.transport.memory.cnc import CncFile
from aerolog.transport.protocol import commands as c
from aerolog.transport.protocol import responses as r

S = 1_000_000_000
WORDS = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from([0, 1, -1, 2**63 - 1, -(2**63), 2**32, 65_536, 1 << 62]),
    st.integers(0, 1 << 20).map(lambda n: n * 32),
)
# Tails, active term count, end of stream, connected, term length, initial term id and the rest.
META_OFFSETS = st.one_of(
    st.sampled_from([0, 8, 16, 24, 128, 136, 256, 264, 272, 280, 320, 496]),
    st.integers(0, LOG_META_LENGTH // 8 - 1).map(lambda n: n * 8),
)
SCRIBBLES = st.lists(
    st.one_of(
        st.tuples(st.just("meta"), META_OFFSETS, WORDS),
        st.tuples(st.just("term"), st.integers(0, 3 * 65_536 // 8 - 1).map(lambda n: n * 8), WORDS),
        st.tuples(st.just("position"), st.just(0), WORDS),
        st.tuples(st.just("limit"), st.just(0), WORDS),
        st.tuples(st.just("time"), st.just(0), st.sampled_from([0, S // 2, 2 * S, 20 * S])),
    ),
    max_size=25,
)


class Victim:
    """A driver with one publication and one subscription, turned by hand."""

    def __init__(self, directory: str, channel: str) -> None:
        self.files = FakeFileSystem()
        self.clock = ManualClock()
        self.driver = MediaDriver(
            directory,
            clock=self.clock,
            file_system=self.files,
            threading_mode="INVOKER",
            counters_buffer_length="1m",
            random_source=Random(3),
        )
        self.cnc = CncFile.open(self.files, self.driver.aeron_dir, writable=True)
        self.receiver = self.cnc.receiver()
        ready = self.do(c.AddPublication(9, 100, 7, channel))
        self.do(c.AddSubscription(9, 101, 7, "aeron:ipc?tether=false"))
        self.log = self.files.open_mapped(ready.log_file)
        self.limit_id = ready.limit_counter_id
        (self.position_id,) = [
            k.counter_id for k in self.cnc.counters if k.type_id == CounterType.SUBSCRIBER_POSITION
        ]

    def turn(self) -> None:
        for _ in range(20):
            self.driver.do_work()

    def do(self, command: c.Command) -> r.Response:
        """A command's answer."""
        assert self.cnc.to_driver.write(command.TYPE_ID, c.encode_command(command))
        self.turn()
        found = None
        while (received := self.receiver.receive_next()) is not None:
            message = r.decode_response(*received)
            if getattr(message, "correlation_id", None) == command.correlation_id:
                found = message
        assert found is not None
        return found

    def scribble(self, where: str, offset: int, word: int) -> None:
        if where == "meta":
            self.log.store_i64(self.log.length - LOG_META_LENGTH + offset, word)
        elif where == "term":
            self.log.store_i64(offset, word)
        elif where == "position":
            self.cnc.counters.set_value(self.position_id, word)
        elif where == "limit":
            self.cnc.counters.set_value(self.limit_id, word)
        else:
            self.clock.advance_ns(word)
        self.turn()


@pytest.mark.parametrize("sparse", ["true", "false"])
@settings(max_examples=150, deadline=None)
@given(scribbles=SCRIBBLES)
def test_nothing_that_is_written_into_a_log_ends_the_driver(tmp_path_factory, sparse, scribbles):
    directory = str(tmp_path_factory.mktemp("hostile", numbered=True) / "aeron")
    victim = Victim(directory, f"aeron:ipc?term-length=64k|sparse={sparse}")
    with victim.driver:
        for scribble in scribbles:
            victim.scribble(*scribble)
        other = victim.do(c.AddPublication(10, 200, 8, "aeron:ipc?term-length=64k"))
        assert isinstance(other, r.PublicationReady)
        victim.do(c.AddSubscription(10, 201, 8, "aeron:ipc"))
        victim.turn()
        assert victim.cnc.counters.counter_value(other.limit_counter_id) == 32_768
        for _ in range(5):
            victim.clock.advance_ns(20 * S)
            victim.turn()
        assert victim.cnc.heartbeat_ms == victim.clock.now_epoch_ms()
