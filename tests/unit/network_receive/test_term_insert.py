"""What a datagram does to an image (spec wire-protocol 9.1, spec log-buffers 15)."""

from __future__ import annotations

import struct

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aerolog.transport.driver.receive.term_insert import (
    INSERT_DONE,
    INSERT_PRESENT,
    INSERT_REFUSED,
    PACKET_ACCEPTED,
    PACKET_OVER_RUN,
    PACKET_UNDER_RUN,
    PACKET_UNDER_RUN_LAGGING,
    clean,
    insert,
    judge,
)

TERM = 65536
FIRST = 801263729
WINDOW = 32768


def test_a_frame_arrives_byte_for_byte(image, frame):
    datagram = frame(TERM + 4096, 1408)
    assert insert(image.logs, TERM + 4096, datagram) == INSERT_DONE
    assert image.read(TERM + 4096, 1408) == datagram
    assert image.read(TERM + 4096 + 1408, 64) == bytes(64)
    assert image.read(TERM + 4096 - 64, 64) == bytes(64)


def test_all_frames_of_a_datagram_arrive(image, frame):
    datagram = frame(0, 64) + frame(64, 96) + frame(160, 32)
    assert insert(image.logs, 0, datagram) == INSERT_DONE
    assert image.read(0, 192) == datagram


def test_a_datagram_whose_place_is_taken_changes_nothing(image, frame):
    insert(image.logs, 0, frame(0, 64))
    both = frame(0, 64, fill=1) + frame(64, 64, fill=1)
    assert insert(image.logs, 0, both) == INSERT_PRESENT
    assert image.read(0, 64) == frame(0, 64)
    assert image.read(64, 64) == bytes(64)


def test_a_gap_is_closed_by_the_datagram_that_was_lost(image, frame):
    insert(image.logs, 64, frame(64, 64))
    assert insert(image.logs, 0, frame(0, 64)) == INSERT_DONE
    assert image.read(0, 128) == frame(0, 64) + frame(64, 64)


def test_padding_travels_as_its_header(image, frame):
    assert insert(image.logs, TERM - 3072, frame(TERM - 3072, 3072, kind=0, body=0)) == INSERT_DONE
    assert image.header(TERM - 3072)[:5] == (3072, 0, 0xC0, 0, TERM - 3072)
    assert image.read(TERM - 3040, 3040) == bytes(3040)


def test_padding_may_follow_a_frame(image, frame):
    datagram = frame(TERM - 1024, 64) + frame(TERM - 960, 960, kind=0, body=0)
    assert insert(image.logs, TERM - 1024, datagram) == INSERT_DONE
    assert image.header(TERM - 960)[0] == 960


def test_a_datagram_off_the_frame_grid_is_taken_as_it_is(image, frame):
    assert insert(image.logs, 480, frame(480, 33)) == INSERT_DONE
    assert image.read(480, 33) == frame(480, 33)
    assert image.read(513, 31) == bytes(31)


def test_the_last_frame_of_a_term_may_end_with_it(image, frame):
    assert insert(image.logs, TERM - 64, frame(TERM - 64, 64)) == INSERT_DONE
    assert image.read(TERM, 64) == bytes(64)


@pytest.mark.parametrize("length", [0, -1, -64, 1, 31, 65, 96, TERM, 2**31 - 1, -(2**31)])
def test_a_data_frame_that_is_not_in_its_datagram_is_refused(image, frame, length):
    datagram = struct.pack("<i", length) + frame(0, 64)[4:]
    assert insert(image.logs, 0, datagram) == INSERT_REFUSED
    assert image.read(0, 128) == bytes(128)


@pytest.mark.parametrize("length", [0, -1, 31, 65, TERM, 2**31 - 1])
def test_a_later_frame_that_is_not_in_its_datagram_is_refused(image, frame, length):
    datagram = frame(0, 64) + struct.pack("<i", length) + frame(64, 64)[4:]
    assert insert(image.logs, 0, datagram) == INSERT_REFUSED
    assert image.read(0, 192) == bytes(192)


@pytest.mark.parametrize("length", [1025, TERM, 2**31 - 1])
def test_padding_beyond_its_term_is_refused(image, frame, length):
    datagram = frame(TERM - 1024, length, kind=0, body=0)
    assert insert(image.logs, TERM - 1024, datagram) == INSERT_REFUSED


def test_a_datagram_over_the_end_of_its_term_is_refused(image, frame):
    datagram = frame(TERM - 64, 64) + frame(TERM, 64)
    assert insert(image.logs, TERM - 64, datagram) == INSERT_REFUSED
    assert image.read(TERM - 64, 64) == bytes(64)


def test_bytes_after_the_last_frame_that_are_no_header_are_refused(image, frame):
    assert insert(image.logs, 0, frame(0, 64) + b"\1" * 31) == INSERT_REFUSED
    assert image.read(0, 128) == bytes(128)


@pytest.mark.parametrize("size", [0, 1, 31])
def test_less_than_a_header_is_refused(image, frame, size):
    assert insert(image.logs, 0, frame(0, 32)[:size]) == INSERT_REFUSED


@pytest.mark.parametrize("position", [-32, -TERM, 1, 16, TERM - 1])
def test_a_place_outside_the_log_or_its_grid_is_refused(image, frame, position):
    assert insert(image.logs, position, frame(0, 32)) == INSERT_REFUSED


@pytest.mark.parametrize("last", [0, 4096, 10 * TERM])
def test_data_is_taken_up_to_half_a_term_after_the_last_status_message(last):
    def judged(position: int, length: int = 1024) -> int:
        return judge(last, WINDOW, TERM, position, length)

    assert judged(last) == PACKET_ACCEPTED
    assert judged(last + 31 * 1024) == PACKET_ACCEPTED
    assert judged(last + 32 * 1024) == PACKET_OVER_RUN
    assert judged(last + 31 * 1024, 1025) == PACKET_OVER_RUN


def test_a_heartbeat_behind_the_padding_of_a_full_window_tells_of_its_loss():
    # 31 frames of 1056 bytes were lost, and the padding that fits the window by its header only.
    last = 98_272
    assert last + TERM // 2 == 2 * TERM - 32
    assert judge(last, WINDOW, TERM, 2 * TERM, 32, True) == PACKET_ACCEPTED
    assert judge(last, WINDOW, TERM, 2 * TERM, 64) == PACKET_OVER_RUN
    assert judge(last, WINDOW, TERM, 2 * TERM + 32, 32, True) == PACKET_OVER_RUN


def test_padding_is_never_longer_than_the_longest_message():
    at_most = TERM // 2 - TERM // 8
    assert judge(at_most + 32, WINDOW, TERM, TERM, 32, True) == PACKET_ACCEPTED
    assert judge(at_most, WINDOW, TERM, TERM, 32, True) == PACKET_OVER_RUN


def test_the_window_does_not_move_the_over_run_threshold():
    assert judge(0, 1408, TERM, 31 * 1024, 1024) == PACKET_ACCEPTED


def test_data_before_the_last_status_message_is_an_under_run():
    last = 10 * TERM
    assert judge(last, WINDOW, TERM, last - 32, 64) == PACKET_UNDER_RUN_LAGGING
    assert judge(last, WINDOW, TERM, last - WINDOW, 64) == PACKET_UNDER_RUN_LAGGING
    assert judge(last, WINDOW, TERM, last - WINDOW - 32, 64) == PACKET_UNDER_RUN


def test_a_term_before_the_first_is_an_under_run():
    assert judge(0, WINDOW, TERM, -TERM, 64) == PACKET_UNDER_RUN
    assert judge(0, WINDOW, TERM, -TERM, 32, True) == PACKET_UNDER_RUN
    assert judge(0, WINDOW, TERM, -(2**31) * TERM, 64) == PACKET_UNDER_RUN


def test_heartbeats_count_by_their_position_alone():
    assert judge(0, WINDOW, TERM, TERM // 2, 32, True) == PACKET_ACCEPTED
    assert judge(0, WINDOW, TERM, TERM // 2 + 32, 32, True) == PACKET_OVER_RUN


def test_heartbeats_are_taken_up_to_a_term_behind():
    last = 3 * TERM
    assert judge(last, WINDOW, TERM, 2 * TERM, 32, True) == PACKET_ACCEPTED
    assert judge(last, WINDOW, TERM, 2 * TERM - 32, 32, True) == PACKET_UNDER_RUN
    assert judge(64, WINDOW, TERM, 0, 32, True) == PACKET_ACCEPTED
    assert judge(64, WINDOW, TERM, -32, 32, True) == PACKET_UNDER_RUN


def test_an_image_is_cleaned_a_term_behind_its_slowest_subscriber(image):
    image.write(0, b"\1" * 8192)
    assert clean(image.logs, 0, TERM - 32) == 0
    assert clean(image.logs, 0, TERM + 4096) == 4096
    assert image.read(0, 8192) == bytes(4096) + b"\1" * 4096


def test_an_image_is_cleaned_to_the_end_of_one_term_a_call(image):
    image.write(TERM - 64, b"\1" * 64)
    image.write(TERM, b"\1" * 64)
    assert clean(image.logs, TERM - 64, 2 * TERM + 64) == TERM
    assert image.read(TERM - 64, 128) == bytes(64) + b"\1" * 64
    assert clean(image.logs, TERM, 2 * TERM + 64) == TERM + 64


@pytest.mark.parametrize("position", [-(2**63), -1, 0, TERM - 1])
def test_a_subscriber_position_below_a_term_cleans_nothing(image, position):
    image.write(0, b"\1" * 64)
    assert clean(image.logs, 0, position) == 0
    assert image.read(0, 64) == b"\1" * 64


FRAMES = st.lists(st.integers(32, 1400), min_size=1, max_size=30)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(FRAMES, st.randoms(use_true_random=False))
def test_any_order_with_duplicates_makes_the_same_image(image, frame, lengths, random):
    image.write(0, bytes(TERM))
    whole, packets = b"", []
    for length in lengths:
        packet = frame(len(whole), length, fill=length % 255 + 1)
        packets.append((len(whole), packet))
        whole += packet + bytes(-len(packet) % 32)
    order = packets + random.choices(packets, k=len(packets))
    random.shuffle(order)
    done = [insert(image.logs, position, packet) for position, packet in order]
    assert done.count(INSERT_DONE) == len(packets)
    assert done.count(INSERT_PRESENT) == len(packets)
    assert image.read(0, len(whole) + 32) == whole + bytes(32)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.binary(max_size=300),
    st.lists(st.tuples(st.integers(0, 9), st.integers(-8, 400)), max_size=6),
    st.integers(-64, 3 * TERM),
    st.booleans(),
)
def test_hostile_datagrams_leave_whole_frames_or_nothing(image, noise, words, at, aligned):
    """Whatever was taken can be walked, frame by frame, to exactly its end inside the term."""
    for index in range(3):
        image.write(index * TERM, bytes(TERM))
    data = bytearray(noise)
    for slot, word in words:
        if slot * 32 + 4 <= len(data):
            struct.pack_into("<i", data, slot * 32, word)
    position = at & ~31 if aligned else at
    result = insert(image.logs, position, data)
    if result != INSERT_DONE:
        assert result == INSERT_REFUSED
        assert not any(image.logs.file.view(0, 3 * TERM))
        return
    offset, walked = position % TERM, 0
    while walked < len(data):
        length = image.header(position + walked)[0]
        assert 32 <= length <= TERM - offset - walked
        walked += (length + 31) // 32 * 32
    assert image.read(position, len(data)) == data
