"""Cutting a term into datagrams and runs, against a plain model (spec log-buffers 16)."""

import struct

from hypothesis import given, settings
from hypothesis import strategies as st

from aerolog.transport.driver.send.term_scan import cut

TERM = 65536
MTU = 1408
DATA, PAD = 1, 0


def header(length, kind=DATA):
    return struct.pack("<iBBH", length, 0, 0xC0, kind).ljust(32, b"\0")


def align(length):
    return (length + 31) // 32 * 32


def written(frames):
    """A term that starts with frames of (length, kind)."""
    term = bytearray(TERM)
    at = 0
    for length, kind in frames:
        if at + align(length) > TERM:
            break
        term[at : at + 32] = header(length, kind)
        at += align(length)
    return bytes(term)


def datagrams(messages):
    """(offset, length) of every datagram of the messages, and where each is followed from."""
    found = []
    for offset, length, segment, _ in messages:
        step = segment or length
        found += [(offset + at, min(step, length - at)) for at in range(0, length, step)]
    return found


def model(term, room, mtu, limit=64):
    """Datagrams of a term as the specification has them: (offset, length), and the advance."""
    at, found = 0, []
    while len(found) < limit and at < room:
        most, length, padding = min(room - at, mtu), 0, 0
        while at + length < TERM:
            (frame,) = struct.unpack_from("<i", term, at + length)
            (kind,) = struct.unpack_from("<H", term, at + length + 6)
            if frame <= 0:
                break
            if kind == PAD and length + 32 <= most:
                padding = min(align(frame), TERM - at - length) - 32
                length += 32
            if kind == PAD or length + align(frame) > most:
                break
            length += align(frame)
        if length == 0:
            break
        found.append((at, length))
        at += length + padding
    return found, at


frame_lengths = st.integers(32, 1408).map(lambda n: (n, DATA))
paddings = st.integers(32, 4096).map(lambda n: (n, PAD))
frames = st.lists(frame_lengths | frame_lengths | paddings, max_size=60)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(frames, st.integers(0, TERM), st.sampled_from([64, 1024, 1408, 8192]))
def test_datagrams_are_those_of_the_specification(frames, room, mtu):
    term = written(frames)
    messages, advance, blocked = cut(term, 0, room, mtu)
    expected, moved = model(term, room, mtu)
    assert datagrams(messages) == expected
    assert advance == moved
    first = struct.unpack_from("<i", term)[0]
    assert blocked == (room > 0 and first > 0 and not expected)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.binary(max_size=2048), st.integers(0, 2047), st.integers(0, TERM))
def test_nothing_outside_a_term_of_any_bytes_is_sent(noise, start, room):
    offset = start * 32
    room = min(room, TERM - offset)
    term = bytearray(TERM)
    term[offset : offset + len(noise)] = noise[: TERM - offset]
    messages, advance, _ = cut(bytes(term), offset, room, MTU)
    assert 0 <= advance <= TERM - offset
    for at, length, segment, padding in messages:
        assert offset <= at
        assert at + length + padding <= TERM
        assert at + length <= offset + room
        assert segment == 0 or segment <= MTU


def test_equal_datagrams_are_one_run_and_the_last_may_be_shorter():
    term = written([(1056, DATA)] * 4 + [(800, DATA), (1056, DATA)])
    messages, advance, _ = cut(term, 0, TERM, MTU)
    assert messages == [(0, 4 * 1056 + 800, 1056, 0), (5024, 1056, 1056, 0)]
    assert advance == 4 * 1056 + 800 + 1056


def test_a_longer_datagram_begins_another_run():
    term = written([(1056, DATA)] * 5 + [(200, DATA)])
    messages, _, _ = cut(term, 0, TERM, MTU)
    assert messages == [(0, 4 * 1056, 1056, 0), (4 * 1056, 1056 + 224, 1280, 0)]


def test_small_messages_fill_datagrams_that_are_one_run():
    term = written([(64, DATA)] * 220)
    messages, advance, _ = cut(term, 0, TERM, MTU)
    assert messages == [(0, 10 * 1408, 1408, 0)]
    assert advance == 220 * 64


def test_padding_ends_a_run_and_what_follows_begins_another():
    term = written([(1056, DATA), (1056, PAD), (1056, DATA), (1056, DATA)])
    messages, advance, _ = cut(term, 0, TERM, MTU)
    assert messages == [(0, 1056 + 32, 1088, 1024), (2112, 2112, 1056, 0)]
    assert advance == 4 * 1056


def test_a_frame_that_does_not_fit_blocks_only_when_it_is_the_first():
    term = written([(1056, DATA), (1056, DATA)])
    assert cut(term, 0, 1055, MTU) == ([], 0, True)
    messages, advance, blocked = cut(term, 0, 1057, MTU)
    assert (len(messages), advance, blocked) == (1, 1056, False)
    assert cut(bytes(TERM), 0, TERM, MTU) == ([], 0, False)


def test_no_more_datagrams_than_asked_for():
    term = written([(1056, DATA)] * 20)
    messages, advance, _ = cut(term, 0, TERM, MTU, max_datagrams=4)
    assert messages == [(0, 4 * 1056, 1056, 0)]
    assert advance == 4 * 1056
