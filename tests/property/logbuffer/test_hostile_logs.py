"""A log full of garbage: every reader and the driver's part come back, none leaves the log."""

from __future__ import annotations

import struct

from hypothesis import given, settings
from hypothesis import strategies as st

from aerolog.testing.direct_log import DirectPublication, DirectSubscription
from aerolog.transport.errors import FileFormatError
from aerolog.transport.logbuffer.cleaner import clean, unblock
from aerolog.transport.logbuffer.descriptor import LogBuffers, log_file_length
from aerolog.transport.logbuffer.metadata import LogMetadata, LogType
from aerolog.transport.memory.mapped_file import MappedFile

TERM = 65536
int32 = st.integers(-(2**31), 2**31 - 1)
int64 = st.integers(-(2**63), 2**63 - 1)
frame_lengths = st.one_of(int32, st.integers(-64, 128), st.integers(TERM - 64, TERM + 64))


def new_log():
    metadata = LogMetadata(
        correlation_id=1,
        session_id=5,
        stream_id=6,
        initial_term_id=3,
        term_length=TERM,
        mtu_length=1408,
        type=LogType.PUBLICATION,
    )
    file = MappedFile.anonymous(log_file_length(TERM))
    return LogBuffers.create(file, metadata), MappedFile.anonymous(4096)


@settings(max_examples=300, deadline=None)
@given(
    frames=st.lists(
        st.tuples(
            st.integers(0, TERM // 32 - 1), frame_lengths, st.binary(min_size=4, max_size=60)
        ),
        max_size=30,
    ),
    position=st.one_of(int64, st.integers(0, 3 * TERM)),
    limit=int64,
)
def test_readers_survive_any_frames_at_any_position(frames, position, limit):
    logs, counters = new_log()
    for index in range(3):
        for slot, length, rest in frames:
            view = logs.file.view(index * TERM + slot * 32, 32)
            view[: 4 + min(28, len(rest))] = (struct.pack("<i", length) + rest)[:32]
    counters.store_i64(0, position)
    reader = DirectSubscription(logs, counters, 0)
    for fragment in reader.scan(1000, limit)[0]:
        assert len(fragment.payload) <= TERM - 32
    reader.block(limit)
    reader.peek(position, lambda _: 4, limit)
    reader.read_values(bytearray(100_000), bytearray(4 * 100))
    reader.read_records(bytearray(1000), 10)
    reader.poll(1000, limit, assemble=True)
    reader.poll_controlled(lambda _: 3, 1000, limit, assemble=True)
    after = reader.position
    assert after == position or (after > position and after % 32 == 0)


@settings(max_examples=200, deadline=None)
@given(
    tails=st.tuples(int64, int64, int64),
    count=int32,
    limit=int64,
    length=st.integers(0, 9000),
    blocked=int64,
)
def test_writers_and_the_driver_survive_any_tails(tails, count, limit, length, blocked):
    logs, counters = new_log()
    meta = len(logs.file) - 4096
    for index, tail in enumerate(tails):
        logs.file.store_i64(meta + 8 * index, tail)
    logs.file.store_i32(meta + 24, count)
    counters.store_i64(0, limit)
    static = bytes(logs.file.view(meta + 128, 4096 - 128))
    publication = DirectPublication(logs, counters, 0, exclusive=False)
    publication.offer(bytes(length))
    publication.offer_records(bytes(800), 8)
    publication.claim(10)
    publication.abort()
    unblock(logs, blocked)
    unblock(logs, publication.position)
    try:
        exclusive = DirectPublication(logs, counters, 0, exclusive=True)
    except FileFormatError:
        pass
    else:
        exclusive.offer(bytes(length))
        exclusive.offer_records(bytes(800), 8)
        exclusive.offer_padding(length)
    clean(logs, 0, blocked)
    # Nothing but tails and the count is written in the metadata, whatever stood there.
    assert bytes(logs.file.view(meta + 128, 4096 - 128)) == static
