"""The captured frames of the reference (spec wire-protocol 15.2, 18), read and written."""

import pytest

from aerolog.transport.errors import ConfigurationError, MessageFormatError
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

SESSION = -188434806
TERM = -127691276
PEER_B = "01009953eb0200007f0000010600706565722d6200000000"
PEER_C = "01009a53d40400007f0000010600706565722d6300000000"
CAPTURED = {
    "setup": (
        "2800000000000500000000008ab6c4f4e9030000f49563f8f49563f8000001008005000000000000",
        SetupFrame(0, SESSION, 1001, TERM, TERM, 65536, 1408),
    ),
    "multicast setup": (
        "280000000040050000000000cd671cb302000000992c73b3992c73b3000001008005000004000000",
        SetupFrame(0, -1289984051, 2, -1284297575, -1284297575, 65536, 1408, 4, flags=0x40),
    ),
    "setup of a stream that starts late": (
        "280000000000050000f00000d204000001000000fbfffffffdffffff000001008005000000000000",
        SetupFrame(61440, 1234, 1, -5, -3, 65536, 1408),
    ),
    "status message": (
        "24000000000003008ab6c4f4e9030000f49563f800000000000800008877665544332211",
        StatusMessage(SESSION, 1001, TERM, 0, 2048, 0x1122334455667788),
    ),
    "eliciting status message": (
        "240000000080030004030201e9030000000000000000000000000000f12a47b28b9e0289",
        StatusMessage(0x01020304, 1001, 0, 0, 0, -8574116417731351823, flags=0x80),
    ),
    "tagged status message": (
        "2c000000000003000d0c0b0ae90300000700000000000000004000009cae7f491dbcc1680201000000000000",
        StatusMessage(0x0A0B0C0D, 1001, 7, 0, 16384, 0x68C1BC1D497FAE9C, group_tag=258),
    ),
    "heartbeat": (
        "0000000000c00100000000008ab6c4f4e9030000f49563f80000000000000000",
        DataFrame(0, SESSION, 1001, TERM, frame_length=0),
    ),
    "nak": (
        "1c000000000002008ab6c4f4e9030000f49563f8a000000040010000",
        Nak(SESSION, 1001, TERM, 160, 320),
    ),
    "rtt echo": (
        "28000000000006008ab6c4f4e9030000393000000000000000000000000000008877665544332211",
        RttMeasurement(SESSION, 1001, 12345, 0, 0x1122334455667788),
    ),
    "rejection": (
        "37000000000804000d0c0b0ae90300009cae7f491dbcc16802010000000000000d0000000f000000"
        + b"because reasons".hex(),
        ErrorFrame(0x0A0B0C0D, 1001, 0x68C1BC1D497FAE9C, 13, "because reasons", 258, flags=0x08),
    ),
    "response setup": (
        "1400000000000b007871b4fc0a00000009030000",
        ResponseSetup(-55283336, 10, 777),
    ),
    "resolver itself": (
        "200000000000070001809853000000007f00000105006472762d610000000000",
        ResolutionFrame((ResolutionEntry("drv-a", "127.0.0.1", 21400, flags=0x80),)),
    ),
    "resolver's neighbours": (
        "3800000000000700" + PEER_B + PEER_C,
        ResolutionFrame(
            (
                ResolutionEntry("peer-b", "127.0.0.1", 21401, 747),
                ResolutionEntry("peer-c", "127.0.0.1", 21402, 1236),
            )
        ),
    ),
}


@pytest.mark.parametrize("name", CAPTURED)
def test_captured_frames_are_read(name):
    captured, frame = CAPTURED[name]
    assert decode_frame(bytes.fromhex(captured)) == frame


@pytest.mark.parametrize("name", CAPTURED)
def test_frames_are_written_as_captured(name):
    captured, frame = CAPTURED[name]
    assert encode_frame(frame).hex() == captured


@pytest.mark.parametrize("name", [name for name in CAPTURED if not name.startswith("resolver")])
def test_native_code_reads_and_writes_the_same(name):
    captured, frame = CAPTURED[name]
    datagram = bytes.fromhex(captured)
    kind, fields = frames.read_frame(datagram)
    assert kind == frame.TYPE
    for member in frame.LAYOUT:
        assert fields[member] == getattr(frame, member), member
    assert frames.rewrite_frame(datagram) == datagram


def test_a_data_frame_is_padded_to_32_bytes_and_its_length_is_not():
    datagram = encode_frame(DataFrame(0, SESSION, 1001, TERM, b"A" * 100))
    assert len(datagram) == 160
    assert datagram[:4] == (132).to_bytes(4, "little")
    assert decode_frame(datagram).payload == b"A" * 100


def test_a_run_may_end_with_a_pad_header():
    first = DataFrame(62816, 1, 2, -3, bytes(1344))
    pad = PadFrame(64192, 1, 2, -3, frame_length=1344)
    datagram = encode_frame(first) + encode_frame(pad)
    assert len(datagram) == 1408
    assert decode_frames(datagram) == [first, pad]
    assert datagram[1376:1388].hex() == "4005000000c00000c0fa0000"


def test_an_ipv6_resolver_has_the_longer_entry():
    entry = ResolutionEntry("name", "::1", 8050, 5, flags=0x80)
    datagram = encode_frame(ResolutionFrame((entry,)))
    assert len(datagram) == 8 + 32
    assert decode_frame(datagram).entries == (entry,)


@pytest.mark.parametrize(
    ("datagram", "reason"),
    [
        ("", "needs 8 bytes"),
        ("1c0000", "needs 8 bytes"),
        ("1c00000001000200" + "00" * 20, "version is 1"),
        ("0800000000000800", "type is unknown"),
        ("0800000000000c00", "type is unknown"),
        ("1c00000000000200" + "00" * 19, "needs 28 bytes"),
        ("1d00000000000200" + "00" * 20, "of 29 bytes in a datagram of 28"),
        ("1b00000000000200" + "00" * 20, "of 27 bytes"),
        ("ffffffff00000200" + "00" * 20, "of -1 bytes"),
        ("28000000000004000000000000000000" + "00" * 20 + "01000000", "error text of 1 bytes"),
        ("28000000000004000000000000000000" + "00" * 20 + "ffffffff", "error text of -1 bytes"),
        ("2100000000c00100" + "00" * 24, "DATA of 33 bytes"),
        ("0000000000c00100" + "00" * 25, "DATA of 0 bytes"),
        ("1f00000000c00000" + "00" * 24, "PAD of 31 bytes"),
        ("10000000000007000300000000000000", "resolution type is unknown"),
        ("10000000000007000100000000000000", "resolution entry needs 14 bytes"),
        ("180000000000070001000000000000007f000001ff7f0000", "name of 32767 bytes"),
        ("180000000000070001000000000000007f000001ffff0000", "name of -1 bytes"),
    ],
)
def test_frames_that_do_not_hold_together_are_refused(datagram, reason):
    with pytest.raises(MessageFormatError, match=reason):
        decode_frames(bytes.fromhex(datagram))


@pytest.mark.parametrize(
    "frame",
    [
        Nak(1 << 31, 0, 0, 0, 0),
        StatusMessage(0, 0, 0, 0, 0, 1 << 63),
        StatusMessage(0, 0, 0, 0, 0, 0, group_tag=1 << 63),
        SetupFrame(0, 0, 0, 0, 0, 0, 0, flags=256),
        ResolutionFrame((ResolutionEntry("a", "localhost", 1),)),
        ResolutionFrame((ResolutionEntry("a", "127.0.0.1", 65536),)),
        ResolutionFrame((ResolutionEntry("a" * 513, "127.0.0.1", 1),)),
    ],
)
def test_members_out_of_range_are_refused(frame):
    with pytest.raises(ConfigurationError):
        encode_frame(frame)


def test_a_longer_error_text_is_cut():
    datagram = encode_frame(ErrorFrame(1, 2, 3, 13, "x" * 2000))
    assert len(datagram) == 40 + 1023
    assert frames.read_frame(datagram)[1]["text"] == b"x" * 1023
