"""A log against a list: whatever is offered and however it is read, the same messages come out."""

from __future__ import annotations

import itertools
import struct

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from aerolog.testing.direct_log import DirectPublication, DirectSubscription
from aerolog.transport.logbuffer.cleaner import clean
from aerolog.transport.logbuffer.descriptor import LogBuffers, log_file_length
from aerolog.transport.logbuffer.metadata import LogMetadata, LogType
from aerolog.transport.memory.mapped_file import MappedFile

TERM = 65536
WINDOW = TERM // 2
MAX_MESSAGE = TERM // 8
ADMIN_ACTION = -3
BACK_PRESSURED = -2
ABORT, BREAK, COMMIT, CONTINUE = 1, 2, 3, 4
LIMIT, POSITIONS = 0, (64, 128, 192)

lengths = st.one_of(
    st.integers(0, 300),
    st.integers(0, MAX_MESSAGE),
    st.sampled_from([0, 1, 1375, 1376, 1377, 2752, 2753, MAX_MESSAGE]),
)
reserved_values = st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1))


class LogModel(RuleBasedStateMachine):
    """One publication, three subscribers that read in different ways, and a driver's part."""

    @initialize(
        exclusive=st.booleans(),
        initial_term_id=st.sampled_from([0, -5, 2**31 - 2, -(2**31)]),
        terms=st.integers(0, 4),
        offset=st.integers(0, TERM // 32).map(lambda n: n * 32),
    )
    def create(self, exclusive, initial_term_id, terms, offset):
        term_id = (initial_term_id + terms + 2**31) % 2**32 - 2**31
        metadata = LogMetadata(
            correlation_id=1,
            session_id=5,
            stream_id=6,
            initial_term_id=initial_term_id,
            term_id=term_id,
            term_offset=offset,
            term_length=TERM,
            mtu_length=1408,
            type=LogType.EXCLUSIVE_PUBLICATION if exclusive else LogType.PUBLICATION,
        )
        self.file = MappedFile.anonymous(log_file_length(TERM))
        self.counters = MappedFile.anonymous(4096)
        self.logs = LogBuffers.create(self.file, metadata)
        self.logs.is_connected = True
        self.start = self.logs.producer_position
        assert self.start == terms * TERM + offset
        for at in POSITIONS:
            self.counters.store_i64(at, self.start)
        self.cleaned = self.start
        self.exclusive = exclusive
        self.publication = DirectPublication(self.logs, self.counters, LIMIT, exclusive=exclusive)
        self.readers = [DirectSubscription(self.logs, self.counters, at) for at in POSITIONS]
        self.expected = []
        self.delivered = [[], [], []]
        self.fragments = []
        self.serial = 0
        self.drive()

    def drive(self):
        """What a driver does: clean behind the slowest reader, move the limit before it."""
        slowest = min(reader.position for reader in self.readers)
        while self.cleaned < slowest:
            self.cleaned = clean(self.logs, self.cleaned, slowest)
        self.counters.store_i64(LIMIT, slowest + WINDOW)

    def payload(self, length):
        self.serial += 1
        return (struct.pack("<q", self.serial) * (length // 8 + 1))[:length]

    def retried(self, offer):
        before = self.publication.position
        result = offer()
        if result == ADMIN_ACTION:
            result = offer()
        if result == BACK_PRESSURED:
            assert self.publication.available_window <= 0
        else:
            assert result > before
            assert result == self.publication.position
        return result

    @rule(length=lengths, reserved=reserved_values)
    def offer(self, length, reserved):
        data = self.payload(length)
        if self.retried(lambda: self.publication.offer(data, reserved)) > 0:
            self.expected.append((data, reserved or 0))

    @rule(pieces=st.lists(st.integers(0, 2000), max_size=4), reserved=reserved_values)
    def offer_parts(self, pieces, reserved):
        parts = [self.payload(length) for length in pieces]
        if self.retried(lambda: self.publication.offer_parts(parts, reserved)) > 0:
            self.expected.append((b"".join(parts), reserved or 0))

    @rule(length=st.integers(0, 1376), commit=st.booleans())
    def claim(self, length, commit):
        claimed = self.publication.claim(length)
        if claimed == ADMIN_ACTION:
            claimed = self.publication.claim(length)
        if isinstance(claimed, int):
            assert claimed == BACK_PRESSURED
            return
        data = self.payload(length)
        claimed[32:] = data
        if commit:
            self.publication.commit()
            self.expected.append((data, 0))
        else:
            self.publication.abort()

    @rule(length=st.integers(0, MAX_MESSAGE))
    def pad(self, length):
        if self.exclusive:
            self.retried(lambda: self.publication.offer_padding(length))

    @rule(length=st.sampled_from([8, 64, 1376, 4000]), count=st.integers(1, 200))
    def offer_records(self, length, count):
        records = [self.payload(length) for _ in range(count)]
        taken, result = self.publication.offer_records(b"".join(records), length)
        assert 0 <= taken <= count
        assert result == self.publication.position if taken == count else BACK_PRESSURED
        self.expected += [(record, 0) for record in records[:taken]]

    @rule(sizes=st.lists(lengths, min_size=1, max_size=30), width=st.sampled_from([4, 8]))
    def offer_values(self, sizes, width):
        values = [self.payload(length) for length in sizes]
        ends = [0]
        for value in values:
            ends.append(ends[-1] + len(value))
        offsets = struct.pack(f"<{len(ends)}{'i' if width == 4 else 'q'}", *ends)
        taken, _ = self.publication.offer_values(b"".join(values), offsets, width)
        self.expected += [(value, 0) for value in values[:taken]]

    @rule(limit=st.integers(1, 50), bound=st.one_of(st.none(), st.integers(1, 20_000)))
    def poll_assembled(self, limit, bound):
        reader = self.readers[0]
        until = 2**63 - 1 if bound is None else reader.position + bound
        before = reader.position
        found = reader.poll(limit, until, assemble=True)
        self.delivered[0] += [(each.payload, each.reserved_value) for each in found]
        assert before // TERM == max(before, reader.position - 1) // TERM

    @rule(actions=st.lists(st.sampled_from([ABORT, BREAK, COMMIT, CONTINUE]), max_size=20))
    def poll_controlled(self, actions):
        reader = self.readers[1]
        queue = list(actions)

        def handler(fragment):
            action = queue.pop(0) if queue else BREAK
            if action != ABORT:
                self.fragments.append(fragment)
                if fragment.flags & 0x40:
                    self.delivered[1].append(
                        (
                            b"".join(each.payload for each in self.fragments),
                            self.fragments[0].reserved_value,
                        )
                    )
                    self.fragments.clear()
            return action

        reader.poll_controlled(handler, 50)

    @rule(room=st.integers(0, 30_000), count=st.integers(1, 100))
    def read_values(self, room, count):
        reader = self.readers[2]
        data, offsets = bytearray(room), bytearray(4 * (count + 1))
        found, needed = reader.read_values(data, offsets)
        ends = struct.unpack_from(f"<{found + 1}i", offsets)
        self.delivered[2] += [
            (bytes(data[start:end]), None) for start, end in itertools.pairwise(ends)
        ]
        if needed >= 0:
            assert needed > room - ends[-1]

    @rule()
    def turn_the_driver(self):
        self.drive()

    @rule()
    def catch_up(self):
        while self.readers[0].position < self.logs.producer_position:
            self.poll_assembled(1000, None)
        while self.readers[1].position < self.logs.producer_position:
            self.poll_controlled([CONTINUE] * 50)
        while self.readers[2].position < self.logs.producer_position:
            self.read_values(1 << 20, 1000)
        for delivered in self.delivered:
            assert len(delivered) == len(self.expected)
        self.drive()

    @invariant()
    def what_came_out_is_the_beginning_of_what_went_in(self):
        if not hasattr(self, "delivered"):
            return
        for index, delivered in enumerate(self.delivered):
            expected = self.expected[: len(delivered)]
            if index == 2:
                expected = [(payload, None) for payload, _ in expected]
            assert delivered == expected

    @invariant()
    def the_tail_is_never_beyond_the_window_by_more_than_one_message(self):
        if hasattr(self, "logs"):
            room = self.counters.load_i64(LIMIT) + 2 * MAX_MESSAGE
            assert self.logs.producer_position <= room


LogModel.TestCase.settings = settings(
    max_examples=60,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
TestLogModel = LogModel.TestCase
