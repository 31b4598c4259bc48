"""The driver's messages: bytes as documented, malformed ones refused (spec cnc-and-commands 10)."""

import struct

import pytest

from aerolog.transport.errors import MessageFormatError
from aerolog.transport.protocol import responses
from aerolog.transport.protocol.responses import RESPONSES, decode_response, encode_response

FILE = struct.pack("<i", 5) + b"/a/b1"
READY = struct.pack("<qqiiii", 7, 8, 9, 10, 11, -1) + FILE

BYTES = [
    (responses.OnError(7, 5, "no"), 0x0F01, struct.pack("<qii", 7, 5, 2) + b"no"),
    (
        responses.AvailableImage(7, 9, 10, 11, 12, "/a/b1", "aeron:ipc"),
        0x0F02,
        struct.pack("<qiiqi", 7, 9, 10, 11, 12)
        + FILE
        + b"\0\0\0"
        + struct.pack("<i", 9)
        + b"aeron:ipc",
    ),
    (responses.PublicationReady(7, 8, 9, 10, 11, -1, "/a/b1"), 0x0F03, READY),
    (responses.OperationSuccess(7), 0x0F04, struct.pack("<q", 7)),
    (
        responses.UnavailableImage(7, 8, 9, "/a/b1"),
        0x0F05,
        struct.pack("<qqi", 7, 8, 9) + FILE,
    ),
    (responses.ExclusivePublicationReady(7, 8, 9, 10, 11, -1, "/a/b1"), 0x0F06, READY),
    (responses.SubscriptionReady(7, -1), 0x0F07, struct.pack("<qi", 7, -1)),
    (responses.CounterReady(7, 46), 0x0F08, struct.pack("<qi", 7, 46)),
    (responses.UnavailableCounter(7, 46), 0x0F09, struct.pack("<qi", 7, 46)),
    (responses.ClientTimeout(7), 0x0F0A, struct.pack("<q", 7)),
    (responses.StaticCounter(7, 46), 0x0F0B, struct.pack("<qi", 7, 46)),
    (
        responses.OnPublicationError(
            1, -1, 3, 4, -1, -1, 1, 65535, b"\x7f\0\0\1" + bytes(12), 13, "why"
        ),
        0x0F0C,
        struct.pack("<qqiiqqhH", 1, -1, 3, 4, -1, -1, 1, 65535)
        + b"\x7f\0\0\1"
        + bytes(12)
        + struct.pack("<ii", 13, 3)
        + b"why",
    ),
    (responses.NextAvailableSessionId(7, -9), 0x0F0D, struct.pack("<qi", 7, -9)),
]
NAMES = [type(response).__name__ for response, _, _ in BYTES]
LENGTHS = {0x0F01: 16 + 2, 0x0F03: 36 + 5, 0x0F05: 24 + 5, 0x0F07: 12, 0x0F0A: 8, 0x0F0C: 68 + 3}


def test_every_response_is_covered():
    assert {type(response) for response, _, _ in BYTES} == set(RESPONSES.values())
    assert sorted(RESPONSES) == list(range(0x0F01, 0x0F0E))


@pytest.mark.parametrize(("response", "type_id", "data"), BYTES, ids=NAMES)
def test_responses_have_the_documented_bytes(response, type_id, data):
    assert type_id == response.TYPE_ID
    assert encode_response(response) == data
    assert decode_response(type_id, data) == response
    assert len(data) == LENGTHS.get(type_id, len(data))


@pytest.mark.parametrize(("response", "type_id", "data"), BYTES, ids=NAMES)
def test_every_shorter_message_is_refused(response, type_id, data):
    for length in range(len(data)):
        with pytest.raises(MessageFormatError, match=f"of {length} bytes is too short"):
            decode_response(type_id, data[:length])


def test_messages_of_a_later_driver_are_left_alone():
    assert decode_response(0x0F0E, b"anything") is None


def test_a_short_address_is_filled_with_zeros():
    error = responses.OnPublicationError(1, -1, 3, 4, -1, -1, 1, 0, b"\x7f\0\0\1", 13, "")
    assert encode_response(error)[44:60] == b"\x7f\0\0\1" + bytes(12)
