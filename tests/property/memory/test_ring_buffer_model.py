"""The ring buffer against a model: a list of records, and spec cnc-and-commands 3.3."""

from collections import deque

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from aerolog.transport.memory.mapped_file import MappedFile
from aerolog.transport.memory.ring_buffer import ManyToOneRingBuffer, RingAction

CAPACITY = 512
MAX_MESSAGE = CAPACITY // 8


def aligned(length):
    return (length + 8 + 7) & ~7


class RingModel(RuleBasedStateMachine):
    """Records are [type, message, state, space]; state is claimed, ready or padding."""

    def __init__(self):
        super().__init__()
        self.mapped = MappedFile.anonymous(CAPACITY + 768)
        self.ring = ManyToOneRingBuffer(self.mapped)
        self.records = deque()
        self.head = 0
        self.tail = 0
        self.claims = {}

    def model_claim(self, type_id, message, state):
        """The record that a claim makes, None when there is no room."""
        need = aligned(len(message))
        if need > CAPACITY - (self.tail - self.head):
            return None
        to_end = CAPACITY - self.tail % CAPACITY
        if need > to_end:
            self.records.append([-1, b"", "padding", to_end])
            self.tail += to_end
            if need > self.head % CAPACITY:
                return None
        record = [type_id, message, state, need]
        self.records.append(record)
        self.tail += need
        return record

    @rule(type_id=st.integers(1, 2**31 - 1), message=st.binary(max_size=MAX_MESSAGE))
    def write(self, type_id, message):
        record = self.model_claim(type_id, message, "ready")
        assert self.ring.write(type_id, message) == (record is not None)

    @rule(type_id=st.integers(1, 100), message=st.binary(max_size=MAX_MESSAGE))
    def claim(self, type_id, message):
        record = self.model_claim(type_id, message, "claimed")
        index = self.ring.try_claim(type_id, len(message))
        assert (index >= 0) == (record is not None)
        if record is not None:
            self.claims[index] = record

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), keep=st.booleans())
    def finish(self, data, keep):
        index = data.draw(st.sampled_from(sorted(self.claims)))
        record = self.claims.pop(index)
        if keep:
            self.ring.claimed_view(index)[:] = record[1]
            self.ring.commit(index)
            record[2] = "ready"
        else:
            self.ring.abort(index)
            record[2] = "padding"

    @rule(limit=st.integers(1, 10), stop=st.sampled_from([None, *RingAction]))
    def read(self, limit, stop):
        seen = []

        def handle(type_id, message):
            seen.append((type_id, message))
            return stop

        count = self.ring.read(handle, limit)
        expected = self.model_read(limit, stop)
        assert seen == expected
        assert count == (0 if stop is RingAction.ABORT else len(expected))

    def model_read(self, limit, stop):
        expected = []
        block = CAPACITY - self.head % CAPACITY
        taken = 0
        while self.records and taken < block and len(expected) < limit:
            type_id, message, state, space = self.records[0]
            if state == "claimed":
                break
            if state == "ready":
                expected.append((type_id, message))
                if stop is RingAction.ABORT:
                    break
            self.records.popleft()
            taken += space
            if state == "ready" and stop is RingAction.BREAK:
                break
        self.head += taken
        return expected

    @rule()
    def unblock(self):
        blocked = bool(self.records) and self.records[0][2] == "claimed"
        assert self.ring.unblock() == blocked
        if blocked:
            record = self.records[0]
            record[2] = "padding"
            (index,) = (at for at, claim in self.claims.items() if claim is record)
            del self.claims[index]

    @invariant()
    def positions_agree(self):
        assert self.ring.consumer_position == self.head
        assert self.ring.producer_position == self.tail
        assert self.tail - self.head <= CAPACITY
        assert self.ring.corruption_count == 0

    @invariant()
    def free_space_is_zero(self):
        data = bytes(self.mapped.view(0, CAPACITY)) * 2
        free = CAPACITY - (self.tail - self.head)
        start = self.tail % CAPACITY
        assert data[start : start + free] == bytes(free)


TestRingBuffer = RingModel.TestCase
TestRingBuffer.settings = settings(max_examples=60, stateful_step_count=60, deadline=None)
pytestmark = pytest.mark.timeout(300)
