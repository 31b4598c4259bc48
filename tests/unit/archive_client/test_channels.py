"""Options, channels and counters' keys of the archive client: values in, values out."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerolog.archive.client import RecordingPositionKey, segment_file_base_position
from aerolog.archive.client.base import replay_length
from aerolog.archive.client.options import ArchiveClientOptions
from aerolog.archive.client.replaying import (
    ReplayChannel,
    image_session_id,
    request_publication_channel,
)
from aerolog.transport.errors import ChannelUriError, ConfigurationError
from aerolog.transport.uri import ChannelUri


def test_control_channels_get_what_they_lack_and_share_a_session():
    options = ArchiveClientOptions(request_channel="aeron:ipc?mtu=4096")
    request, response = options.control_channels(77)
    assert dict(request) == {
        "mtu": "4096",
        "term-length": "65536",
        "sparse": "true",
        "session-id": "77",
    }
    assert dict(response) == {
        "mtu": "1408",
        "term-length": "65536",
        "sparse": "true",
        "session-id": "77",
    }


def test_response_mode_shares_no_session():
    options = ArchiveClientOptions(
        response_channel="aeron:udp?control-mode=response|control=localhost:1"
    )
    assert options.is_response_mode
    for channel in options.control_channels(None):
        assert "session-id" not in channel


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"name": "x" * 101}, ConfigurationError),
        ({"message_timeout": 0}, ConfigurationError),
        ({"message_timeout": -1.0}, ConfigurationError),
        ({"request_channel": "ipc"}, ChannelUriError),
        ({"response_channel": "aeron:"}, ChannelUriError),
    ],
)
def test_wrong_options_are_refused(options, error):
    with pytest.raises(error):
        ArchiveClientOptions(**options)


@pytest.mark.parametrize(
    ("replay_session_id", "session_id"),
    [(44796675910, 44796675910 - (10 << 32)), (0x7FFFFFFF, 0x7FFFFFFF), (0xFFFFFFFF, -1)],
)
def test_a_replay_s_session_is_its_low_half(replay_session_id, session_id):
    assert image_session_id(replay_session_id) == session_id
    channel = ChannelUri.parse(ReplayChannel("aeron:ipc?alias=a").for_session(replay_session_id))
    assert dict(channel) == {"alias": "a", "session-id": str(session_id)}


def test_a_replay_request_s_channel_names_its_subscription():
    options = ArchiveClientOptions(request_channel="aeron:ipc?session-id=5|term-length=128k")
    channel = ChannelUri.parse(request_publication_channel(options, 99))
    assert channel["response-correlation-id"] == "99"
    assert channel["term-length"] == "65536"
    assert "session-id" not in channel


def test_lengths_say_follow_or_stop():
    assert replay_length(None, follow=True) == -1
    assert replay_length(None, follow=False) == -2
    assert replay_length(640, follow=True) == 640


def test_segment_bases_start_at_the_first_term():
    assert segment_file_base_position(70_000, 70_000, 65_536, 131_072) == 65_536
    assert segment_file_base_position(196_608, 70_000, 65_536, 131_072) == 196_608


@given(
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-(2**31), 2**31 - 1),
    st.text(st.characters(codec="ascii"), max_size=88),
    st.integers(-(2**63), 2**63 - 1),
)
def test_position_keys_are_read(recording_id, session_id, source, archive_id):
    key = struct.pack("<qii", recording_id, session_id, len(source)) + source.encode()
    key = (key + struct.pack("<q", archive_id)).ljust(112, b"\0")
    expected = RecordingPositionKey(recording_id, session_id, source, archive_id)
    assert RecordingPositionKey.decode(key) == expected


@given(st.binary(max_size=112))
def test_any_bytes_are_a_key_or_none(key):
    decoded = RecordingPositionKey.decode(key)
    assert decoded is None or len(decoded.source_identity) <= len(key) - 24
