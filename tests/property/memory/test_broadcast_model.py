"""The broadcast buffer against a list: a reader misses nothing, or is told that it did."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerolog.transport.errors import BroadcastLappedError
from aerolog.transport.memory.broadcast import BroadcastReceiver, BroadcastTransmitter
from aerolog.transport.memory.mapped_file import MappedFile

CAPACITY = 256
STEPS = st.lists(
    st.tuples(st.integers(1, 1000), st.binary(max_size=CAPACITY // 8)) | st.just("read"),
    max_size=80,
)


@given(STEPS)
def test_a_reader_sees_every_message_or_is_told(steps):
    mapped = MappedFile.anonymous(CAPACITY + 128)
    transmitter, receiver = BroadcastTransmitter(mapped), BroadcastReceiver(mapped)
    unread, unread_bytes = [], 0
    for step in steps:
        if step != "read":
            transmitter.send(*step)
            unread.append(step)
            unread_bytes += (len(step[1]) + 15) & ~7
            continue
        try:
            message = receiver.receive_next()
        except BroadcastLappedError:
            # The reader was a buffer behind, the padding at a wrap included.
            assert unread_bytes + CAPACITY // 8 + 8 >= CAPACITY
            unread, unread_bytes = [], 0
        else:
            assert message == (unread.pop(0) if unread else None)
            unread_bytes -= (len(message[1]) + 15) & ~7 if message else 0


@given(st.lists(st.binary(max_size=CAPACITY // 8), min_size=1, max_size=40))
def test_a_reader_that_keeps_up_is_never_lapped(messages):
    mapped = MappedFile.anonymous(CAPACITY + 128)
    transmitter, receiver = BroadcastTransmitter(mapped), BroadcastReceiver(mapped)
    for number, message in enumerate(messages, 1):
        transmitter.send(number, message)
        assert receiver.receive_next() == (number, message)
    assert receiver.lapped_count == 0
    assert receiver.receive_next() is None


pytestmark = pytest.mark.timeout(300)
