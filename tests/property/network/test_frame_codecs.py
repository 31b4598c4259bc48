"""Any frame survives the wire, and any bytes are read alike by both readers, or refused."""

import socket
import struct

from hypothesis import example, given, settings
from hypothesis import strategies as st

from aerolog.transport.errors import MessageFormatError
from aerolog.transport.protocol import frames
from aerolog.transport.protocol.frame_codec import (
    DataFrame,
    ErrorFrame,
    Nak,
    PadFrame,
    ResolutionEntry,
    ResolutionFrame,
    ResponseSetup,
    RttMeasurement,
    SetupFrame,
    StatusMessage,
    decode_frame,
    decode_frames,
    encode_frame,
)

INTS = st.integers(-(2**31), 2**31 - 1)
LONGS = st.integers(-(2**63), 2**63 - 1)
FLAGS = st.integers(0, 255)
TEXT = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=60)


def as_the_system_writes_it(ip):
    """Not as ipaddress does, which writes ::ffff:0:0 where the system writes ::ffff:0.0.0.0."""
    return socket.inet_ntop(socket.AF_INET if ip.version == 4 else socket.AF_INET6, ip.packed)


ENTRIES = st.builds(
    ResolutionEntry,
    TEXT,
    st.ip_addresses().map(as_the_system_writes_it),
    st.integers(0, 65535),
    INTS,
    FLAGS,
)
FRAMES = st.one_of(
    st.builds(
        DataFrame, INTS, INTS, INTS, INTS, st.binary(max_size=200), FLAGS, reserved_value=LONGS
    ),
    st.builds(PadFrame, INTS, INTS, INTS, INTS, st.integers(32, 2**30), FLAGS, LONGS),
    st.builds(SetupFrame, *[INTS] * 8, FLAGS),
    st.builds(StatusMessage, *[INTS] * 5, LONGS, st.none() | LONGS, FLAGS),
    st.builds(Nak, *[INTS] * 5),
    st.builds(RttMeasurement, INTS, INTS, LONGS, LONGS, LONGS, FLAGS),
    st.builds(ErrorFrame, INTS, INTS, LONGS, INTS, TEXT, LONGS, FLAGS),
    st.builds(ResponseSetup, INTS, INTS, INTS),
    st.builds(ResolutionFrame, st.lists(ENTRIES, max_size=4).map(tuple), FLAGS),
)
KINDS = st.integers(0, 0x0C) | st.just(0xFFFF)
HOSTILE = st.one_of(
    st.binary(max_size=120),
    st.builds(
        lambda length, flags, kind, body: struct.pack("<iBBH", length, 0, flags, kind) + body,
        st.integers(-8, 130) | INTS,
        FLAGS,
        KINDS,
        st.binary(max_size=120),
    ),
)


@given(FRAMES)
@example(ResolutionFrame((ResolutionEntry("", "::ffff:0.0.0.0", 0, 0, 0),), 0))
def test_a_frame_survives_the_wire(frame):
    assert decode_frames(encode_frame(frame)) == [frame]


@given(FRAMES)
def test_native_readers_and_writers_agree_with_the_codec(frame):
    datagram = encode_frame(frame)
    kind, fields = frames.read_frame(datagram)
    assert kind == frame.TYPE
    if isinstance(frame, ResolutionFrame):
        assert fields is None
        return
    assert fields.get("flags", 0) == frame.flags
    for member in frame.LAYOUT:
        assert fields[member] == getattr(frame, member)
    header = frame.LENGTH if isinstance(frame, DataFrame | PadFrame) else len(datagram)
    assert frames.rewrite_frame(datagram) == datagram[:header]


@settings(max_examples=1500)
@given(HOSTILE)
@example(struct.pack("<iBBH", 0, 0, 0xC0, 1) + bytes(24))
@example(struct.pack("<iBBH", 2**31 - 1, 0, 0, 4) + bytes(28) + b"\xff" * 8)
def test_hostile_bytes_are_refused_or_read_alike(datagram):
    kind, fields = frames.read_frame(datagram)
    try:
        frame = decode_frame(datagram)
    except MessageFormatError:
        # Data headers are given to the image, which knows what fits; all else has to be whole.
        assert fields is None or kind in {frames.FRAME_DATA, frames.FRAME_PAD}
        return
    assert kind == frame.TYPE
    if isinstance(frame, ResolutionFrame):
        return
    for member in frame.LAYOUT:
        assert fields[member] == getattr(frame, member)
    assert decode_frames(encode_frame(frame))[0] == frame


@given(FRAMES, st.data())
def test_a_truncated_frame_is_refused_by_both(frame, data):
    datagram = encode_frame(frame)
    cut = datagram[: data.draw(st.integers(0, max(0, len(datagram) - 1)))]
    kind, fields = frames.read_frame(cut)
    if isinstance(frame, DataFrame | PadFrame):
        assert (fields is None) == (len(cut) < frames.DATA_HEADER_LENGTH)
        return
    assert fields is None
    if len(cut) < frames.COMMON_HEADER_LENGTH:
        assert kind == frames.FRAME_INVALID
