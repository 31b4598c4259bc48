"""Cleaning and unblocking (spec log-buffers 13, 14 and 17)."""

from __future__ import annotations

import struct

import pytest

from aerolog.transport.logbuffer.cleaner import clean, unblock

NOTHING, UNBLOCKED, UNBLOCKED_TO_END = 0, 1, 2
ADMIN_ACTION = -3
TERM = 65536
FIRST = 801263729


def test_cleaning_zeroes_what_was_consumed_and_nothing_else(world):
    publication = world.publication(exclusive=True)
    publication.offer(b"x" * 5000)
    before = bytes(world.logs.term(0))
    assert clean(world.logs, 0, 1408) == 1408
    assert bytes(world.logs.term(0)[:1408]) == bytes(1408)
    assert bytes(world.logs.term(0)[1408:]) == before[1408:]


def test_cleaning_stops_at_the_end_of_a_term(world):
    world.write(0, b"\x01" * TERM)
    world.write(TERM, b"\x01" * TERM)
    assert clean(world.logs, TERM - 96, TERM + 64) == TERM
    assert bytes(world.logs.term(0)[TERM - 96 :]) == bytes(96)
    assert world.logs.term(1)[0] == 1
    assert clean(world.logs, TERM, TERM + 64) == TERM + 64


@pytest.mark.parametrize("target", [0, -64, -(2**63), 31])
def test_cleaning_never_goes_back(world, target):
    world.write(0, b"\x01" * 64)
    assert clean(world.logs, 0, target) == 0
    assert bytes(world.logs.term(0)[:64]) == b"\x01" * 64


def test_a_position_off_the_frame_grid_cleans_whole_frames_only(world):
    world.write(0, b"\x01" * 128)
    assert clean(world.logs, 0, 100) == 96
    assert bytes(world.logs.term(0)[:97]) == bytes(96) + b"\x01"


def test_an_absurd_target_is_cleaned_a_term_at_a_time(world):
    world.write(TERM, b"\x01")
    assert clean(world.logs, 32, 2**63 - 1) == TERM
    assert world.logs.term(1)[0] == 1


def test_a_claim_that_was_never_finished_becomes_padding(world):
    publication = world.publication(exclusive=False)
    publication.claim(200)
    publication.offer(b"after")
    assert unblock(world.logs, 0) == UNBLOCKED
    expected = struct.pack("<iBBHiiiiq", 232, 0, 0xC0, 0, 0, -1364374152, 1001, FIRST, 0)
    assert bytes(world.logs.term(0)[:32]) == expected
    assert [each.payload for each in world.subscription().poll()] == [b"after"]


def test_a_tail_moved_without_a_header_is_filled_up_to_the_next_frame(world):
    file, start = world.logs.file, len(world.logs.file) - 4096
    file.get_and_add_i64(start, 320)
    assert unblock(world.logs, 0) == NOTHING
    world.publication(exclusive=False).offer(b"after")
    assert unblock(world.logs, 0) == UNBLOCKED
    assert world.frame(0)[:4] == (320, 0, 0xC0, 0)
    assert [each.payload for each in world.subscription().poll()] == [b"after"]


def test_a_tail_moved_beyond_the_end_pads_the_term_and_rotates(new_world):
    world = new_world(term_offset=TERM - 640)
    world.logs.file.get_and_add_i64(len(world.logs.file) - 4096, 4096)
    assert unblock(world.logs, TERM - 640) == UNBLOCKED_TO_END
    assert world.frame(TERM - 640)[:5] == (640, 0, 0xC0, 0, TERM - 640)
    assert world.logs.active_term_count == 1
    assert world.logs.raw_tail(1) == (FIRST + 1) << 32
    assert world.publication(exclusive=False).offer(b"x") == TERM + 64


def test_a_rotation_left_undone_is_done(new_world):
    world = new_world(term_offset=TERM - 64)
    assert world.publication(exclusive=False).offer(b"x") == TERM
    assert unblock(world.logs, TERM) == UNBLOCKED
    assert world.logs.active_term_count == 1
    assert world.publication(exclusive=False).offer(b"x") == TERM + 64


def test_what_is_committed_is_left_alone(world):
    world.publication(exclusive=False).offer(b"fine")
    before = bytes(world.logs.file)
    assert unblock(world.logs, 0) == NOTHING
    assert unblock(world.logs, 64) == NOTHING
    assert bytes(world.logs.file) == before


@pytest.mark.parametrize("length", [-(2**31), -5, -(TERM + 32)])
def test_an_absurd_claim_length_is_cut_to_the_term(world, length):
    world.write(0, struct.pack("<i", length))
    assert unblock(world.logs, 0) == UNBLOCKED
    assert world.frame(0)[0] == TERM


@pytest.mark.parametrize("position", [-32, 7, 5 * TERM, 2**62])
def test_a_position_that_is_not_in_the_log_is_left_alone(world, position):
    before = bytes(world.logs.file)
    assert unblock(world.logs, position) == NOTHING
    assert bytes(world.logs.file) == before
