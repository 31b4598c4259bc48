"""A seed and a list of events decide everything that a network in memory does."""

from hypothesis import given, settings
from hypothesis import strategies as st

from aerolog.testing import FakeNetwork, ManualClock

CHANCES = st.floats(0, 1)
LINKS = st.fixed_dictionaries(
    {
        "loss": CHANCES,
        "duplicate": CHANCES,
        "reorder": CHANCES,
        "delay_ns": st.integers(0, 10_000),
        "jitter_ns": st.integers(0, 10_000),
    }
)
EVENTS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 5000)), max_size=60)


def play(seed, link, events):
    """What arrived, by whom and when, and the network's own account of it."""
    clock = ManualClock()
    network = FakeNetwork(clock, seed)
    hosts = [network.host(), network.host()]
    network.set_link(**link)
    ports = [host.open_receive_port((host.ipv4, 4000)) for host in hosts]
    seen = []
    for number, (who, pause_ns) in enumerate(events):
        ports[who].send_datagrams([number.to_bytes(2, "big")], ports[1 - who].local_address)
        clock.advance_ns(pause_ns)
        seen += [(clock.now_ns(), i, ports[i].receive_datagrams()) for i in (0, 1)]
    while (due := network.next_delivery_ns()) is not None:
        clock.advance_ns(max(0, due - clock.now_ns()))
        seen += [(clock.now_ns(), i, ports[i].receive_datagrams()) for i in (0, 1)]
    return seen, network


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**64 - 1), LINKS, EVENTS)
def test_equal_seeds_give_equal_runs_and_nothing_is_unaccounted_for(seed, link, events):
    seen, network = play(seed, link, events)
    again, twin = play(seed, link, events)
    assert seen == again
    assert network.fingerprint == twin.fingerprint
    arrived = [data for _, _, found in seen for data, _, _ in found]
    assert len(arrived) == network.delivered
    assert network.delivered == network.sent - network.lost + network.duplicated
    assert len(set(arrived)) == network.sent - network.lost
    assert network.sent == len(events)
