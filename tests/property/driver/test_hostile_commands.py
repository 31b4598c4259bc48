"""Whatever stands in the to-driver ring buffer, the driver answers and goes on."""

import struct
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aerolog.testing import FakeFileSystem, ManualClock
from aerolog.transport.driver import MediaDriver
from aerolog.transport.errors import ErrorCode
from aerolog.transport.memory.cnc import CncFile
from aerolog.transport.protocol import commands as c
from aerolog.transport.protocol import responses as r

MS = 1_000_000
TYPE_IDS = st.one_of(st.sampled_from(sorted(c.COMMANDS)), st.integers(1, 2**31 - 1))
WORDS = st.one_of(
    st.integers(-(2**31), 2**31 - 1), st.sampled_from([0, 1, -1, 2**31 - 1, -(2**31), 46, 47, 7])
)
MESSAGES = st.one_of(
    st.binary(max_size=200),
    st.lists(WORDS, max_size=20).map(lambda words: struct.pack(f"<{len(words)}i", *words)),
)
CHANNELS = st.one_of(
    st.text(max_size=60),
    st.lists(
        st.tuples(
            st.sampled_from(
                [
                    "term-length", "mtu", "session-id", "init-term-id", "term-id", "term-offset",
                    "linger", "sparse", "tags", "pub-wnd", "max-resend", "control-mode",
                    "response-correlation-id", "stream-id", "tether", "rejoin", "alias",
                    "untethered-window-limit-timeout", "untethered-resting-timeout",
                ]
            ),
            st.sampled_from(
                ["", "0", "-1", "1", "64", "64k", "65536", "128k", "1g", "9" * 30, "true", "tag:1",
                 "1,2", "1,-1", "response", "manual", "prototype", "5s", "1ns", "x", "2147483647",
                 "-2147483648", "4096"]
            ),
        ),
        max_size=6,
    ).map(lambda pairs: "aeron:ipc" + ("?" if pairs else "") + "|".join(map("=".join, pairs))),
)  # fmt: skip


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    files = FakeFileSystem()
    clock = ManualClock()
    directory = str(tmp_path_factory.mktemp("hostile") / "aeron")
    with MediaDriver(
        directory,
        clock=clock,
        file_system=files,
        threading_mode="INVOKER",
        ipc_term_buffer_length="64k",
        random_source=Random(1),
    ) as running:
        yield running, clock, CncFile.open(files, directory, writable=True)


def drain(running, receiver):
    while running.do_work():
        pass
    said = []
    while (received := receiver.receive_next()) is not None:
        message = r.decode_response(*received)
        assert message is not None
        said.append(message)
    return said


def still_serves(running, cnc, receiver):
    correlation_id = cnc.to_driver.next_correlation_id()
    question = c.GetNextAvailableSessionId(1, correlation_id, 7)
    assert cnc.to_driver.write(question.TYPE_ID, c.encode_command(question))
    return any(
        getattr(m, "correlation_id", None) == correlation_id for m in drain(running, receiver)
    )


@settings(max_examples=400, deadline=None)
@given(commands=st.lists(st.tuples(TYPE_IDS, MESSAGES), min_size=1, max_size=10))
def test_garbage_is_answered_with_an_error_and_never_ends_the_driver(driver, commands):
    running, clock, cnc = driver
    receiver = cnc.receiver()
    for type_id, message in commands:
        assert cnc.to_driver.write(type_id, message)
        said = drain(running, receiver)
        if type_id not in c.COMMANDS:
            assert said[-1].code == ErrorCode.UNKNOWN_COMMAND_TYPE_ID
        elif len(message) < 16:
            assert said[-1].code == ErrorCode.MALFORMED_COMMAND
    clock.advance_ns(12_000 * MS)
    assert still_serves(running, cnc, receiver)


@settings(max_examples=400, deadline=None)
@given(
    channel=CHANNELS,
    stream_id=st.sampled_from([1, 2, -5]),
    make=st.sampled_from([c.AddPublication, c.AddExclusivePublication]),
)
def test_any_channel_is_taken_or_refused_with_a_code(driver, channel, stream_id, make):
    running, clock, cnc = driver
    receiver = cnc.receiver()
    clock.advance_ns(3_000 * MS)
    drain(running, receiver)
    correlation_id = cnc.to_driver.next_correlation_id()
    for command in (
        make(9, correlation_id, stream_id, channel),
        c.AddSubscription(9, correlation_id + 1_000_000, stream_id, channel),
    ):
        assert cnc.to_driver.write(command.TYPE_ID, c.encode_command(command))
        answers = [
            m
            for m in drain(running, receiver)
            if getattr(m, "correlation_id", None) == command.correlation_id
        ]
        assert answers
        if isinstance(answers[0], r.OnError):
            assert answers[0].code in {1, 8, 11}
            assert answers[0].message
    for removal in (
        c.RemovePublication(9, correlation_id, correlation_id),
        c.RemoveSubscription(9, correlation_id, correlation_id + 1_000_000),
    ):
        assert cnc.to_driver.write(removal.TYPE_ID, c.encode_command(removal))
    assert still_serves(running, cnc, receiver)


@settings(max_examples=200, deadline=None)
@given(noise=st.binary(min_size=8, max_size=256), offset=st.integers(0, 64))
def test_bytes_scribbled_over_the_ring_buffer_are_survived(driver, noise, offset):
    running, clock, cnc = driver
    receiver = cnc.receiver()
    ring = cnc.to_driver
    position = ring.consumer_position % ring.capacity
    begin = 128 + position + 8 * (offset // 8)
    end = min(begin + len(noise), 128 + ring.capacity)
    cnc.mapped.view(begin, end - begin)[:] = noise[: end - begin]
    # A record that is never committed takes one liveness timeout to skip.
    for _ in range(len(noise) // 8 + 2):
        clock.advance_ns(11_000 * MS)
        drain(running, receiver)
    assert still_serves(running, cnc, receiver)
