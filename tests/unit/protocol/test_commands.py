"""Commands: bytes as documented, and what is answered to malformed ones.

Spec cnc-and-commands 9 and 11.3.
"""

import struct

import pytest

from aerolog.transport.errors import ControlProtocolError, ErrorCode
from aerolog.transport.protocol import commands
from aerolog.transport.protocol.commands import COMMANDS, decode_command, encode_command

PREFIX = struct.pack("<qq", 7, 8)
CHANNEL = b"aeron:ipc"
CHANNEL_FIELD = struct.pack("<i", 9) + CHANNEL

BYTES = [
    (
        commands.AddPublication(7, 8, 1001, "aeron:ipc"),
        0x01,
        struct.pack("<i", 1001) + CHANNEL_FIELD,
    ),
    (commands.RemovePublication(7, 8, 5, 1), 0x02, struct.pack("<qq", 5, 1)),
    (
        commands.AddExclusivePublication(7, 8, -1, "aeron:ipc"),
        0x03,
        struct.pack("<i", -1) + CHANNEL_FIELD,
    ),
    (
        commands.AddSubscription(7, 8, 1001, "aeron:ipc"),
        0x04,
        struct.pack("<qi", -1, 1001) + CHANNEL_FIELD,
    ),
    (commands.RemoveSubscription(7, 8, 5), 0x05, struct.pack("<q", 5)),
    (commands.ClientKeepalive(7, 8), 0x06, b""),
    (commands.AddDestination(7, 8, 5, "aeron:ipc"), 0x07, struct.pack("<q", 5) + CHANNEL_FIELD),
    (commands.RemoveDestination(7, 8, 5, "aeron:ipc"), 0x08, struct.pack("<q", 5) + CHANNEL_FIELD),
    (
        commands.AddCounter(7, 8, 1001, b"abc", "label"),
        0x09,
        struct.pack("<ii", 1001, 3) + b"abc\0" + struct.pack("<i", 5) + b"label",
    ),
    (commands.RemoveCounter(7, 8, 5), 0x0A, struct.pack("<q", 5)),
    (commands.ClientClose(7, 8), 0x0B, b""),
    (
        commands.AddReceiveDestination(7, 8, 5, "aeron:ipc"),
        0x0C,
        struct.pack("<q", 5) + CHANNEL_FIELD,
    ),
    (
        commands.RemoveReceiveDestination(7, 8, 5, "aeron:ipc"),
        0x0D,
        struct.pack("<q", 5) + CHANNEL_FIELD,
    ),
    (commands.TerminateDriver(7, 8, b"token"), 0x0E, struct.pack("<i", 5) + b"token"),
    (
        commands.AddStaticCounter(7, 8, 77, 1001, b"abcde", "label"),
        0x0F,
        struct.pack("<qii", 77, 1001, 5) + b"abcde\0\0\0" + struct.pack("<i", 5) + b"label",
    ),
    (
        commands.RejectImage(7, 8, 5, 4096, "why"),
        0x10,
        struct.pack("<qqi", 5, 4096, 3) + b"why",
    ),
    (commands.RemoveDestinationById(7, 8, 5, 6), 0x11, struct.pack("<qq", 5, 6)),
    (commands.GetNextAvailableSessionId(7, 8, 1001), 0x12, struct.pack("<i", 1001)),
]
NAMES = [type(command).__name__ for command, _, _ in BYTES]


def refusal(type_id, data):
    with pytest.raises(ControlProtocolError) as refused:
        decode_command(type_id, data)
    assert refused.value.correlation_id == 0
    return refused.value.code, refused.value.message


def test_every_command_is_covered():
    assert {type(command) for command, _, _ in BYTES} == set(COMMANDS.values())
    assert sorted(COMMANDS) == list(range(0x01, 0x13))


@pytest.mark.parametrize(("command", "type_id", "tail"), BYTES, ids=NAMES)
def test_commands_have_the_documented_bytes(command, type_id, tail):
    assert type_id == command.TYPE_ID
    assert encode_command(command) == PREFIX + tail
    assert decode_command(type_id, PREFIX + tail) == command


@pytest.mark.parametrize(("command", "type_id", "tail"), BYTES, ids=NAMES)
def test_trailing_bytes_are_ignored(command, type_id, tail):
    if type_id == 0x02:
        tail = tail[:16]
    assert decode_command(type_id, PREFIX + tail + bytes(4)) == command


@pytest.mark.parametrize(("command", "type_id", "tail"), BYTES, ids=NAMES)
def test_every_shorter_message_is_refused_or_has_its_documented_meaning(command, type_id, tail):
    whole = PREFIX + tail
    for length in range(len(whole)):
        if type_id == 0x02 and length == 24:
            continue
        code, message = refusal(type_id, whole[:length])
        assert code is ErrorCode.MALFORMED_COMMAND
        assert message.startswith(f"command={type_id} too short")
        assert f"length={length}" in message


def test_remove_publication_without_flags_does_not_revoke():
    command = decode_command(0x02, PREFIX + struct.pack("<q", 5))
    assert command == commands.RemovePublication(7, 8, 5, 0)
    assert not command.revoke
    assert decode_command(0x02, PREFIX + struct.pack("<qq", 5, 3)).revoke


@pytest.mark.parametrize("type_id", [0, 0x13, -5, 99, 0x0F01])
def test_unknown_types_are_answered_with_their_number(type_id):
    assert refusal(type_id, PREFIX) == (
        ErrorCode.UNKNOWN_COMMAND_TYPE_ID,
        f"command typeId={type_id}",
    )


@pytest.mark.parametrize(
    ("type_id", "tail", "text"),
    [
        (0x01, struct.pack("<ii", 1, 100), "command=1 too short for channel: length=24"),
        (0x04, struct.pack("<qii", -1, 1, 5), "command=4 too short for channel: length=32"),
        (0x09, struct.pack("<iii", 1, 50, 0), "command=9 too short for key: length=28"),
        (
            0x09,
            struct.pack("<iii", 1, 0, 50),
            "command=9 too short for label: length=28 encodedLength=78",
        ),
        (0x0E, struct.pack("<i", 9), "command=14 too short for token buffer: length=20"),
        (0x10, struct.pack("<qqi", 1, 1, 9), "command=16 too short: length=36"),
    ],
)
@pytest.mark.parametrize("negative", [False, True])
def test_inner_lengths_that_do_not_fit_have_the_documented_texts(type_id, tail, text, negative):
    if negative:
        claimed = max(struct.unpack(f"<{len(tail) // 4}i", tail)[-2:])
        tail = tail.replace(struct.pack("<i", claimed), struct.pack("<i", -claimed))
        text = text.replace("encodedLength=78", f"encodedLength={28 - claimed}")
    assert refusal(type_id, PREFIX + tail) == (ErrorCode.MALFORMED_COMMAND, text)


def test_text_that_is_not_ascii_is_sent_as_question_marks():
    data = encode_command(commands.AddPublication(1, 2, 3, "aeron:ipc?alias=é"))
    assert data.endswith(b"alias=?")


def test_bytes_that_are_not_ascii_are_shown_as_replacements():
    data = PREFIX + struct.pack("<ii", 1, 2) + b"\xff\x80"
    assert decode_command(0x01, data).channel == "��"


def test_commands_are_frozen():
    command = commands.ClientClose(1, 2)
    with pytest.raises(AttributeError):
        command.client_id = 3
    assert not hasattr(command, "__dict__")
