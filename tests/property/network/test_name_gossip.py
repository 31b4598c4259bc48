"""Whatever strangers tell a driver about names, it stays bounded and tells only sound frames."""

from ipaddress import ip_address

from hypothesis import given, settings
from hypothesis import strategies as st

from aerolog.transport.network.addresses import SocketAddress
from aerolog.transport.network.name_gossip import GossipOptions, NameGossip
from aerolog.transport.protocol.frame_codec import (
    ResolutionEntry,
    ResolutionFrame,
    decode_frame,
    encode_frame,
)

S = 1_000_000_000
BOUND = SocketAddress(ip_address("10.0.0.1"), 8050)
STRANGER = SocketAddress(ip_address("10.9.9.9"), 9)

addresses = st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)).map(str)
entries = st.builds(
    ResolutionEntry,
    name=st.text(st.characters(codec="ascii", exclude_characters="\0"), min_size=1, max_size=40),
    address=addresses,
    port=st.integers(0, 65_535),
    age_ms=st.integers(-(2**31), 2**31 - 1),
    flags=st.sampled_from([0, 0x80, 0xFF]),
)
frames = st.lists(entries, max_size=8).map(lambda found: encode_frame(ResolutionFrame(found)))


@st.composite
def damaged(draw):
    """A frame with bytes changed, cut off or added."""
    data = bytearray(draw(frames))
    for _ in range(draw(st.integers(0, 4))):
        data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    return bytes(data[: draw(st.integers(0, len(data)))]) + draw(st.binary(max_size=8))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.one_of(frames, damaged(), st.binary(max_size=64)), st.integers(0, S))))
def test_no_datagram_harms_a_gossip_or_makes_it_tell_unsound_frames(datagrams):
    gossip = NameGossip(GossipOptions(name="me", mtu_length=512), BOUND, 0)
    now_ns = 0
    for data, pause_ns in datagrams:
        now_ns += pause_ns
        gossip.on_datagram(data, STRANGER, now_ns)
        for out in gossip.poll(now_ns).frames:
            assert len(out.frame) <= 512
            assert isinstance(decode_frame(out.frame), ResolutionFrame)
            assert out.destination.port != 0
    gossip.poll(now_ns + 3600 * S)
    assert (gossip.neighbor_count, gossip.cache_entry_count) == (0, 0)
