"""Session ids that are handed out are free and not reserved, wherever the sequence stands."""

from hypothesis import given
from hypothesis import strategies as st

from aerolog.transport.driver.conductor.session_ids import SessionIds

INT32 = st.integers(-(2**31), 2**31 - 1)


@given(
    start=INT32,
    low=INT32,
    width=st.integers(0, 2**31 - 1),
    offsets=st.sets(st.integers(0, 20)),
    count=st.integers(1, 10),
)
def test_ids_are_free_not_reserved_and_of_32_bits(start, low, width, offsets, count):
    high = min(low + width, 2**31 - 1)
    in_use = {(start + offset + 2**31) % 2**32 - 2**31 for offset in offsets}
    sequence = SessionIds(start, low, high)
    for _ in range(count):
        session_id = sequence.take(in_use)
        assert -(2**31) <= session_id < 2**31
        assert not low <= session_id <= high
        assert session_id not in in_use
        in_use.add(session_id)
