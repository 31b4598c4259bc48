"""Where a replay and a live image meet: between two messages, wherever each of them stands."""

from dataclasses import dataclass, field
from itertools import pairwise, product

import pytest

from aerolog.archive.client.replay.live_join import Switch, choose_live, skip_to
from aerolog.archive.format.descriptor import RecordingDescriptor
from aerolog.transport.client import Action

BEGIN, END = 0x80, 0x40
# Lengths of messages in frames of 64 bytes.
MESSAGES = [1, 3, 1, 2, 4, 1]
STARTS = [0, *(64 * sum(MESSAGES[:i]) for i in range(1, len(MESSAGES) + 1))]
TOTAL = STARTS[-1]


@dataclass
class Frame:
    position: int
    flags: int
    frame_length: int = 60  # aligned: 64


def frames():
    """All frames of the stream, in order."""
    found = []
    for count in MESSAGES:
        for i in range(count):
            flags = (BEGIN if i == 0 else 0) | (END if i == count - 1 else 0)
            found.append(Frame(64 * (len(found) + 1), flags))
    return found


@dataclass
class FakeImage:
    """An image of that stream, which has it up to ``end``."""

    position: int
    end: int = TOTAL
    delivered: list = field(default_factory=list)
    closed: bool = False
    session_id: int = 1
    initial_term_id: int = 5
    term_length: int = 65536
    gathered: int = -1

    def poll_controlled(self, handler, limit, *, assemble):
        assert not assemble
        done = 0
        for frame in frames():
            if self.position < frame.position <= self.end and done < limit:
                if handler(memoryview(b""), frame) is Action.ABORT:
                    break
                self.position = frame.position
                done += 1
        return done

    def take_until(self, until, limit):
        """As ``Image.poll_messages``, but that fragments count."""
        for frame in frames():
            begin = frame.position - 64
            if self.position == begin and begin < until and frame.position <= self.end and limit:
                limit -= 1
                self.position = frame.position
                if frame.flags & BEGIN:
                    self.gathered = begin
                if frame.flags & END and self.gathered >= 0:
                    self.delivered.append(self.gathered)
                    self.gathered = -1
        return self.delivered

    @property
    def message_position(self):
        return self.position if self.gathered < 0 else self.gathered


@pytest.mark.parametrize("limit", [1, 2, 100])
@pytest.mark.parametrize(("replayed", "joined"), list(product(STARTS[:-1], range(0, TOTAL, 64))))
def test_each_message_comes_once(replayed, joined, limit):
    """The replay is at a message, the live image joins anywhere, also inside of a message."""
    replay, live = FakeImage(replayed), FakeImage(joined)
    switch = Switch(replay, live)
    for _ in range(100):
        if switch.is_done:
            break
        switch.take(lambda image, until: image.take_until(until, limit), None)
    assert switch.is_done
    assert live.position in STARTS
    delivered = replay.delivered + live.take_until(TOTAL, 100)
    assert delivered == [start for start in STARTS[:-1] if start >= replayed]


def test_a_live_image_that_is_behind_is_waited_for():
    replay, live = FakeImage(STARTS[4]), FakeImage(0, end=STARTS[2])
    switch = Switch(replay, live)
    assert switch.take(lambda image, until: pytest.fail("the replay has to wait"), 7) == 7
    assert not switch.is_done
    live.end = TOTAL
    switch.take(lambda image, until: pytest.fail("they have met"), None)
    assert switch.is_done


def test_inside_of_a_message_they_have_not_met():
    """Both are at the same place, the replay has gathered the first half of a message there."""
    replay, live = FakeImage(STARTS[1]), FakeImage(STARTS[1] + 64)
    live.end = live.position
    switch = Switch(replay, live)
    switch.take(lambda image, until: image.take_until(until, 100), None)
    assert replay.position == live.position
    assert not switch.is_done
    live.end = TOTAL
    while not switch.is_done:
        switch.take(lambda image, until: image.take_until(until, 100), None)
    assert replay.delivered == [STARTS[1]]
    assert live.position == STARTS[2]


def test_skipping_ends_at_the_first_message_from_a_position_on():
    for (before, start), joined in product(pairwise(STARTS[:-1]), range(0, TOTAL, 64)):
        live = FakeImage(joined)
        skip_to(live, before + 32)
        assert live.position == min(s for s in STARTS if s >= max(start, joined))


def recording(**changes):
    values = {
        "recording_id": 3,
        "start_timestamp": 0,
        "start_position": 0,
        "initial_term_id": 5,
        "segment_file_length": 131072,
        "term_buffer_length": 65536,
        "mtu_length": 1408,
        "session_id": 1,
        "stream_id": 10,
        "stripped_channel": "aeron:ipc",
        "original_channel": "aeron:ipc",
        "source_identity": "",
    }
    return RecordingDescriptor(**{**values, **changes})


def test_the_recorded_session_is_preferred():
    other, own = FakeImage(0, session_id=2), FakeImage(0, session_id=1)
    assert choose_live((other, own), recording()).image is own
    assert choose_live((other,), recording()).image is other


@pytest.mark.parametrize("change", [{"initial_term_id": 6}, {"term_length": 131072}])
def test_a_stream_of_another_geometry_is_another_stream(change):
    choice = choose_live((FakeImage(0, **change),), recording())
    assert choice.image is None
    assert "does not continue recording 3" in choice.mismatch
    fitting = FakeImage(0, session_id=9)
    assert choose_live((FakeImage(0, **change), fitting), recording()).image is fitting


def test_images_that_are_gone_do_not_count():
    choice = choose_live((FakeImage(0, closed=True),), recording())
    assert (choice.image, choice.mismatch) == (None, None)
