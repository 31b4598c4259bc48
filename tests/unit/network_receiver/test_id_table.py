"""The table of ids against a dict: any keys, in any order, also while it grows."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aerolog.transport.driver.receive.data_packet_dispatcher import IdTable

KEYS = st.integers(0, 40) | st.integers(-(2**63), 2**63 - 1)
STEPS = st.lists(st.tuples(st.booleans(), KEYS, st.integers(1, 9)), max_size=200)


@settings(max_examples=200, deadline=None)
@given(STEPS)
def test_it_holds_what_a_dict_would(steps):
    table, model = IdTable(), {}
    for adds, key, state in steps:
        if adds:
            table.put(key, state)
            model[key] = state
        else:
            table.discard(key)
            model.pop(key, None)
        assert table.get(key) == model.get(key)
    assert len(table) == len(model)
    assert sorted(table.keys()) == sorted(model)
    assert all(table.get(key) == state for key, state in model.items())


def test_many_neighbouring_ids_stay_findable():
    table = IdTable()
    for key in range(20_000):
        table.put(key << 32, 1 + key % 5)
    for key in range(0, 20_000, 2):
        table.discard(key << 32)
    assert len(table) == 10_000
    assert all(table.get(key << 32) == 1 + key % 5 for key in range(1, 20_000, 2))
    assert table.get(0) is None


def test_a_state_of_a_free_slot_is_refused():
    with pytest.raises(ValueError, match="use 1 or more"):
        IdTable().put(1, 0)
