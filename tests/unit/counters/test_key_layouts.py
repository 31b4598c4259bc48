"""Keys of counters: what is packed is what is read, and what does not fit is cut."""

import struct

import pytest

from aerolog.archive.protocol.counter_types import POSITION_KEY
from aerolog.cluster.counter_types import (
    OF_BACKUPS,
    OF_CLUSTERS,
    OF_STANDBYS,
    OF_TRANSITIONS,
    RECOVERY_KEY,
    WITH_CLUSTER_ID,
    ClusterCounterType,
)
from aerolog.transport.counters.counter_types import (
    ADDRESS_KEY,
    CHANNEL_KEY,
    STREAM_KEY,
    CounterType,
)
from aerolog.transport.memory.counters import MAX_KEY_LENGTH


def test_a_key_has_its_numbers_the_length_and_the_text():
    key = STREAM_KEY.pack(7, -1, 1001, text="aeron:ipc")
    assert key == struct.pack("<qiii", 7, -1, 1001, 9) + b"aeron:ipc"
    assert STREAM_KEY.unpack(key.ljust(MAX_KEY_LENGTH, b"\0")) == (7, -1, 1001, "aeron:ipc")


@pytest.mark.parametrize(
    ("layout", "numbers", "room"),
    [
        (STREAM_KEY, (1, 2, 3), 92),
        (CHANNEL_KEY, (), 108),
        (ADDRESS_KEY, (5,), 104),
        (POSITION_KEY, (1, 2), 88),
    ],
)
def test_a_text_is_cut_so_that_the_key_fits(layout, numbers, room):
    assert layout.text_room == room
    assert layout.unpack(layout.pack(*numbers, text="x" * 200)) == (*numbers, "x" * room)


@pytest.mark.parametrize(("length", "text"), [(-1, ""), (3, "abc"), (1 << 30, "abcd")])
def test_a_length_out_of_bounds_is_cut(length: int, text: str):
    assert CHANNEL_KEY.unpack(struct.pack("<i", length) + b"abcd") == (text,)


def test_a_key_of_numbers_has_no_room_for_a_text():
    assert (RECOVERY_KEY.text_room, RECOVERY_KEY.numbers.size) == (0, 32)


def test_a_type_is_found_by_its_number():
    kind = CounterType(12)
    assert kind is CounterType.PUBLISHER_POSITION
    assert (kind.label, kind.key, bool(kind.meaning)) == ("pub-pos ({kind})", STREAM_KEY, True)
    with pytest.raises(ValueError, match="8 is not a valid CounterType"):
        CounterType(8)


def test_types_of_clusters_are_of_one_component_each():
    parts = (OF_CLUSTERS, OF_BACKUPS, OF_STANDBYS, OF_TRANSITIONS)
    everything = [each for part in parts for each in part]
    assert sorted([*everything, ClusterCounterType.RECOVERY_STATE]) == sorted(ClusterCounterType)
    unknown = {each for each in ClusterCounterType if not each.key.fields}
    assert {*everything} - unknown == WITH_CLUSTER_ID
