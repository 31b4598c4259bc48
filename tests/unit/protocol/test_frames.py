"""The frame header's table holds together (spec log-buffers 4)."""

import struct

from aerolog.transport.protocol import frames


def test_the_offsets_cover_the_header_without_holes():
    header = struct.Struct("<iBBHiiiiq")
    assert header.size == frames.DATA_HEADER_LENGTH == 32
    offsets = [
        frames.FRAME_LENGTH_OFFSET,
        frames.VERSION_OFFSET,
        frames.FLAGS_OFFSET,
        frames.TYPE_OFFSET,
        frames.TERM_OFFSET_OFFSET,
        frames.SESSION_ID_OFFSET,
        frames.STREAM_ID_OFFSET,
        frames.TERM_ID_OFFSET,
        frames.RESERVED_VALUE_OFFSET,
    ]
    assert offsets == [struct.calcsize("<iBBHiiiiq"[: 1 + n]) for n in range(9)]


def test_a_whole_message_has_both_fragment_flags():
    assert frames.FLAGS_UNFRAGMENTED == frames.FLAG_BEGIN | frames.FLAG_END
    flags = (frames.FLAG_BEGIN, frames.FLAG_END, frames.FLAG_EOS, frames.FLAG_REVOKED)
    assert [flag.bit_count() for flag in flags] == [1, 1, 1, 1]
    assert len(set(flags)) == 4


def test_a_normal_frames_second_word_is_the_documented_one():
    word = struct.pack("<BBH", frames.CURRENT_VERSION, frames.FLAGS_UNFRAGMENTED, frames.FRAME_DATA)
    assert struct.unpack("<I", word) == (0x0001C000,)
    assert frames.FRAME_PAD == 0
