"""A client that writes anything into its own log and counters harms nobody but itself."""

from __future__ import annotations

import os
import struct

from hypothesis import given, settings
from hypothesis import strategies as st
from sending_station import MS, TERM, Bench, Stream

from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.protocol.frame_codec import Nak, encode_frame

# So many by default; by hand for longer, and then others every time.
LONGER = int(os.environ.get("AEROLOG_FUZZ_CASES", "0"))
CASES = settings(max_examples=LONGER or 80, deadline=None, derandomize=not LONGER)
MESSAGE = b"\x5a" * 1024
FRAMED = 1056
META_TAILS, META_COUNT = 3 * TERM, 3 * TERM + 24
WORDS = st.sampled_from([0, 1, -1, 31, 32, 2**31 - 1, -(2**31), 2**62, -(2**63), TERM]) | (
    st.integers(-(2**63), 2**63 - 1)
)
HEADERS = st.builds(
    lambda length, flags, kind: struct.pack("<iBBH", length, 0, flags, kind),
    st.sampled_from([32, 64, 1408, 1409, TERM, -32, 1]) | st.integers(-(2**31), 2**31 - 1),
    st.integers(0, 255),
    st.sampled_from([0, 1, 5]),
)
FRAMES = st.tuples(st.integers(0, 3 * TERM // 32 - 2).map(lambda n: n * 32), HEADERS)
NEAR = st.tuples(st.integers(0, 200).map(lambda n: n * 32), HEADERS)
TAILS = st.tuples(
    st.sampled_from([META_TAILS, META_TAILS + 8, META_TAILS + 16]),
    WORDS.map(lambda word: struct.pack("<q", word)),
)
COUNTS = st.tuples(
    st.just(META_COUNT),
    st.integers(-(2**31), 2**31 - 1).map(lambda count: struct.pack("<i", count)),
)
WRITES = st.lists(FRAMES | NEAR | NEAR | TAILS | COUNTS, min_size=1, max_size=10)


@CASES
@given(WRITES, WORDS, st.booleans())
def test_a_log_of_any_bytes_stops_no_other_stream(writes, spied, simulated):
    bench = Bench()
    receiver, attacked = bench.unicast(
        spies_simulate_connection=simulated, unblock_timeout_ns=2 * MS
    )
    port = bench.there.open_receive_port((bench.there.ipv4, 21002))
    remote = port.local_address
    out = bench.here.open_send_port(remote, (bench.here.ipv4, 0))
    healthy = Stream(bench, bench.endpoint(out, remote=remote), session_id=9, stream_id=7)
    spy = bench.counters.allocate(CounterType.SUBSCRIBER_POSITION, "sub-pos")
    attacked.publication.add_subscriber(spy, False, bench.clock.now_ns())
    bench.turn(2)
    if not simulated:
        bench.answer(receiver, attacked, attacked.status(0, TERM // 2))
    bench.answer(port, healthy, healthy.status(0, TERM // 2))
    bench.turn(2)
    for number, (offset, data) in enumerate(writes):
        attacked.logs.file.view(offset, len(data))[:] = data
        bench.counters.set_value(spy, spied + number if spied < 2**62 else spied)
        bench.wait(1)
        attacked.publication.on_timer(bench.clock.now_ns())
        nak = Nak(attacked.session_id, attacked.stream_id, attacked.initial_term_id, 0, TERM)
        bench.answer(receiver, attacked, encode_frame(nak))
    attacked.publication.end_stream()
    attacked.publication.settle()
    bench.turn(3)
    assert attacked.counter("snd_pos") % 32 == 0
    assert all(len(d) <= 1408 for d in bench.heard(receiver))
    bench.heard(port)
    healthy.offer(MESSAGE)
    bench.turn()
    assert healthy.counter("snd_pos") == FRAMED
    assert any(MESSAGE in d for d in bench.heard(port))
