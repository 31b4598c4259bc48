"""Counters against a model: ids are dense, rest after being freed, and are reused in order."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from aerolog.testing import ManualClock
from aerolog.transport.errors import CountersFullError
from aerolog.transport.memory.counters import CountersManager, CountersReader
from aerolog.transport.memory.mapped_file import MappedFile

CAPACITY = 6
I64 = st.integers(-(2**63), 2**63 - 1)


class CountersModel(RuleBasedStateMachine):
    """The model: what each id holds, and the freed ids with the time at which they may return."""

    def __init__(self):
        super().__init__()
        mapped = MappedFile.anonymous(CAPACITY * 640)
        sections = (mapped, 0, CAPACITY * 512, CAPACITY * 512, CAPACITY * 128)
        self.clock = ManualClock()
        self.manager = CountersManager(*sections, self.clock, 100)
        self.reader = CountersReader(*sections)
        self.live = {}
        self.freed = []
        self.high = 0

    def model_next(self):
        now = self.clock.now_epoch_ms()
        for entry in self.freed:
            if entry[1] <= now:
                self.freed.remove(entry)
                return entry[0]
        if self.high == CAPACITY:
            return None
        self.high += 1
        return self.high - 1

    @rule(
        type_id=st.integers(0, 2000),
        label=st.text(max_size=500),
        key=st.binary(max_size=130),
        ids=st.tuples(st.none() | I64, st.none() | I64),
        value=st.none() | I64,
    )
    def allocate(self, type_id, label, key, ids, value):
        registration_id, owner_id = ids
        args = (type_id, label, key, registration_id, owner_id, None, value)
        expected = self.model_next()
        if expected is None:
            with pytest.raises(CountersFullError):
                self.manager.allocate(*args)
            return
        assert self.manager.allocate(*args) == expected
        self.live[expected] = (
            type_id,
            value or 0,
            registration_id or 0,
            owner_id or 0,
            label.encode("ascii", "replace").decode()[:380],
            key[:112].ljust(112, b"\0"),
        )

    @precondition(lambda self: self.live)
    @rule(data=st.data())
    def free(self, data):
        counter_id = data.draw(st.sampled_from(sorted(self.live)))
        self.manager.free(counter_id)
        del self.live[counter_id]
        self.freed.append((counter_id, self.clock.now_epoch_ms() + 100))

    @precondition(lambda self: self.live)
    @rule(data=st.data(), value=I64)
    def set_value(self, data, value):
        counter_id = data.draw(st.sampled_from(sorted(self.live)))
        self.reader.set_value(counter_id, value)
        held = self.live[counter_id]
        self.live[counter_id] = (held[0], value, *held[2:])

    @rule(duration_ms=st.integers(0, 150))
    def wait(self, duration_ms):
        self.clock.advance_ns(duration_ms * 1_000_000)

    @invariant()
    def readers_see_what_is_live(self):
        seen = {
            each.counter_id: (
                each.type_id,
                each.value,
                each.registration_id,
                each.owner_id,
                each.label,
                each.key,
            )
            for each in self.reader
        }
        assert seen == self.live

    @invariant()
    def room_is_told(self):
        now = self.clock.now_epoch_ms()
        rested = sum(deadline <= now for _, deadline in self.freed)
        assert self.manager.available() == CAPACITY - self.high + rested


TestCounters = CountersModel.TestCase
TestCounters.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
pytestmark = pytest.mark.timeout(300)
