"""What tshark makes of frames and messages with our dissector: the same as our own codecs."""

import random

import pytest
from datagrams import Datagram, bare, write_pcap

from aerolog.archive import protocol as ap
from aerolog.transport.protocol import frame_codec as f

HERE, THERE = ("10.0.0.1", 40123), ("10.0.0.2", 50123)
SESSION, STREAM, TERM = 0x01020304, 10, 77
MTU_PAYLOAD = 1376
STORED = {ap.CatalogHeader, ap.RecordingDescriptorHeader}
WIRE = [message for message in ap.MESSAGES.values() if message not in STORED]


def aligned(length):
    return -(-length // 32) * 32


def data(payload, offset=0, flags=0xC0, term_id=TERM):
    frame = f.encode_frame(f.DataFrame(offset, SESSION, STREAM, term_id, payload, flags))
    return frame + bytes(aligned(len(frame)) - len(frame))


def fragments(message, offset=0):
    """The frames of a message that is longer than one may be."""
    pieces = [message[at : at + MTU_PAYLOAD] for at in range(0, len(message), MTU_PAYLOAD)]
    frames = []
    for index, piece in enumerate(pieces):
        flags = (0x80 if index == 0 else 0) | (0x40 if index == len(pieces) - 1 else 0)
        frames.append(data(piece, offset, flags))
        offset += len(frames[-1])
    return frames


def sent(*payloads):
    return [Datagram(HERE, THERE, payload) for payload in payloads]


def sample(message_class, seed):
    """A message with a value of its own in every field."""
    chance = random.Random(seed)
    layout = message_class.LAYOUT
    values = {}
    for field in layout.fixed:
        if field.enum is not None:
            values[field.name] = chance.choice([m for m in field.enum if m.name != "NULL"])
        elif field.kind.code == "q":
            values[field.name] = chance.randrange(-(2**63), 2**63)
        else:
            values[field.name] = chance.randrange(-(2**31), 2**31)
    for var in layout.var:
        values[var.name] = f"text {chance.random()}" if var.is_text else chance.randbytes(20)
    return message_class(**values)


def shown(value):
    """A value as tshark writes it."""
    return (
        value.hex(":")
        if isinstance(value, bytes)
        else value
        if type(value) is str
        else str(int(value))
    )


def start_recording(channel):
    return ap.StartRecordingRequest(
        control_session_id=5,
        correlation_id=6,
        stream_id=1001,
        source_location=ap.SourceLocation.REMOTE,
        channel=channel,
    )


def test_every_message_of_the_protocol_is_shown_with_all_its_fields(tshark, tmp_path):
    messages = [sample(message_class, seed) for seed, message_class in enumerate(WIRE)]
    capture = write_pcap(tmp_path / "all.pcap", sent(*(data(m.encode()) for m in messages)))

    found = tshark.archive_messages(capture)

    assert len(found) == len(messages)
    for message, fields in zip(messages, found, strict=True):
        layout = message.LAYOUT
        assert fields["template_id"] == str(layout.template_id)
        names = [field.name for field in (*layout.fixed, *layout.var)]
        assert {name: fields[name] for name in names} == {
            name: shown(getattr(message, name)) for name in names
        }, layout.name


def test_messages_of_older_versions_lack_what_came_later(tshark, tmp_path):
    request = sample(ap.ReplayRequest, 1)
    capture = write_pcap(tmp_path / "old.pcap", sent(data(request.encode(version=6))))

    (fields,) = tshark.archive_messages(capture)

    assert fields["schema_version"] == "6"
    assert "replay_token" not in fields
    assert "file_io_max_length" not in fields
    assert fields["replay_channel"] == request.replay_channel


@pytest.mark.parametrize("passes", [(), ("-2",)], ids=["once", "twice"])
def test_fragments_are_put_together_in_whatever_order_they_come(tshark, tmp_path, passes):
    channel = "aeron:ipc?alias=" + "q" * 3000
    frames = fragments(start_recording(channel).encode(), offset=416)
    orders = [(0, 1, 2), (2, 0, 1), (1, 1, 0, 0, 2)]
    datagrams = [
        Datagram(("10.0.0.1", 40200 + number), THERE, frames[index])
        for number, order in enumerate(orders)
        for index in order
    ]

    found = tshark.archive_messages(write_pcap(tmp_path / "f.pcap", datagrams), *passes)

    assert [fields["channel"] for fields in found] == [channel] * len(orders)
    assert [fields["fragments"] for fields in found] == ["3"] * len(orders)


def test_frames_that_share_a_datagram_are_all_shown(tshark, tmp_path):
    long = start_recording("aeron:ipc?alias=" + "r" * 2000).encode()
    short = ap.KeepAliveRequest(control_session_id=5, correlation_id=9).encode()
    frames = b"".join(fragments(long))
    capture = write_pcap(tmp_path / "s.pcap", sent(frames + data(short, len(frames))))

    found = tshark.archive_messages(capture)

    assert [fields["correlation_id"] for fields in found] == ["6", "9"]


def test_fragments_of_other_streams_do_not_mix(tshark, tmp_path):
    frames = fragments(start_recording("aeron:ipc?alias=" + "q" * 3000).encode())
    datagrams = [*sent(*frames[:2]), Datagram(THERE, HERE, frames[2])]

    assert tshark.archive_messages(write_pcap(tmp_path / "m.pcap", datagrams)) == []


def test_what_a_message_promises_and_does_not_hold_is_told(tshark, tmp_path):
    whole = start_recording("aeron:ipc").encode()
    capture = write_pcap(
        tmp_path / "cut.pcap", sent(data(whole[:-3]), data(whole[:20]), data(whole))
    )

    assert len(tshark.archive_messages(capture)) == 3
    assert len(tshark.packets(capture, "-Y", "aeron_archive.too_short")) == 2


def test_other_data_is_left_alone(tshark, tmp_path):
    payloads = [b"x" * 40, b"", bytes(8), ap.Ping(control_session_id=1).encode()[:7]]
    payloads.append((100).to_bytes(2, "little") + bytes(2) + (101).to_bytes(2, "little") + bytes(4))
    capture = write_pcap(tmp_path / "o.pcap", sent(*map(data, payloads), b"hello", bytes(64)))

    assert tshark.archive_messages(capture) == []
    assert ["aeron_frame" in layers for layers in tshark.packets(capture)] == [True] * 5 + [
        False
    ] * 2


FRAMES = [
    (f.SetupFrame(64, 1, 2, 3, 4, 65536, 1408, 5), {"mtu": "1408", "ttl": "5"}),
    (f.StatusMessage(-7, 2, 3, 64, 32768, -9), {"session_id": "-7", "receiver_id": "-9"}),
    (
        f.StatusMessage(1, 2, 3, 64, 32768, 9, group_tag=-5),
        {"window": "32768", "group_tag": "-5"},
    ),
    (f.Nak(1, 2, 3, 64, 128), {"term_id": "3", "length": "128"}),
    (f.ErrorFrame(1, 2, 3, code=13, text="no, thanks"), {"code": "13", "text": "no, thanks"}),
    (f.ResponseSetup(1, 2, 3), {"response_session_id": "3", "type": "11"}),
    (f.DataFrame(64, 1, 2, 3, flags=0xF0, frame_length=0), {"revoked": "1", "eos": "1"}),
    (f.PadFrame(64, 1, 2, 3, 4096), {"frame_length": "4096", "type": "0"}),
]


def test_frames_are_shown_with_their_fields(tshark, tmp_path):
    capture = write_pcap(tmp_path / "f.pcap", sent(*(f.encode_frame(frame) for frame, _ in FRAMES)))

    found = [bare(layers["aeron_frame"]) for layers in tshark.packets(capture)]

    assert [
        {name: shown[name] for name in fields}
        for shown, (_, fields) in zip(found, FRAMES, strict=True)
    ] == [fields for _, fields in FRAMES]


def test_names_that_drivers_tell_each_other_are_shown(tshark, tmp_path):
    entries = (
        f.ResolutionEntry("me", "127.0.0.1", 24600, 5, 0x80),
        f.ResolutionEntry("another one", "fd00::7", 24601, 6, 0),
    )
    capture = write_pcap(tmp_path / "r.pcap", sent(f.encode_frame(f.ResolutionFrame(entries))))

    text = tshark.run("-r", str(capture), "-T", "fields", *(
        part for name in ("name", "port", "age_ms", "ipv4", "ipv6")
        for part in ("-e", f"aeron_frame.resolution.{name}")
    ))  # fmt: skip

    assert text.split("\t") == ["me,another one", "24600,24601", "5,6", "127.0.0.1", "fd00::7\n"]


def test_beside_the_built_in_dissector_messages_are_added(tshark, tmp_path):
    capture = write_pcap(tmp_path / "b.pcap", sent(data(start_recording("aeron:ipc").encode())))

    (layers,) = tshark.packets(
        capture, "-o", "aeron_archive.frames:false", "--enable-heuristic", "aeron_udp"
    )

    assert "aeron" in layers
    assert "aeron_frame" not in layers
    assert bare(layers["aeron_archive"])["channel"] == "aeron:ipc"


def test_no_datagram_is_too_odd(tshark, tmp_path):
    chance = random.Random(7)
    whole = data(start_recording("aeron:ipc").encode())
    odd = []
    for _ in range(300):
        broken = bytearray(whole[: chance.randrange(1, len(whole) + 1)])
        for _ in range(chance.randrange(4)):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        odd.append(bytes(broken))
    capture = write_pcap(tmp_path / "odd.pcap", sent(*odd))

    text = tshark.run("-r", str(capture), "-V")

    assert text.count("User Datagram Protocol") == len(odd)
    assert "Lua Error" not in text
    assert "Exception occurred" not in text
