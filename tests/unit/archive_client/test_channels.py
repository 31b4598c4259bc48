"""Options, channels and counters' keys of the archive client: values in, values out."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerolog.archive.client import RecordingPositionKey, segment_file_base_position
from aerolog.archive.client.options import ArchiveClientOptions
from aerolog.archive.client.replay.archive_replay import (
    ReplayChannel,
    image_session_id,
    replay_length,
    request_publication_channel,
)
from aerolog.transport.config.sources import Properties
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
        ({"message_retry_attempts": 0}, ConfigurationError),
        ({"request_channel": "ipc"}, ChannelUriError),
        ({"response_channel": "aeron:"}, ChannelUriError),
    ],
)
def test_wrong_options_are_refused(options, error):
    with pytest.raises(error):
        ArchiveClientOptions(**options)


UDP = {"request_channel": "aeron:udp?endpoint=there:8010"}


@pytest.mark.parametrize(
    ("options", "channel"),
    [
        ({}, "aeron:ipc"),
        ({**UDP, "response_channel": "aeron:ipc?alias=a"}, "aeron:ipc"),
        (
            {**UDP, "response_channel": "aeron:udp?endpoint=here:9000|interface=10.0.0.0/8|mtu=4k"},
            "aeron:udp?endpoint=here:0|interface=10.0.0.0/8",
        ),
        (
            {**UDP, "response_channel": "aeron:udp?endpoint=[::1]:0"},
            "aeron:udp?endpoint=[::1]:0",
        ),
        (
            {**UDP, "response_channel": "aeron:udp?control-mode=response|control=there:8011"},
            "aeron:udp?control=there:8011|control-mode=response",
        ),
        ({**UDP, "response_channel": "aeron:ipc", "replay_channel": "aeron:ipc?a=1"},
         "aeron:ipc?a=1"),
    ],
)  # fmt: skip
def test_replays_come_where_responses_come(options, channel):
    options = ArchiveClientOptions(**options)
    assert ChannelUri.parse(options.default_replay_channel) == ChannelUri.parse(channel)


def test_requests_over_a_network_need_a_response_channel():
    with pytest.raises(ConfigurationError, match="need a response_channel"):
        ArchiveClientOptions(**UDP)


def test_options_come_from_properties_and_keywords_are_stronger():
    properties = Properties.from_environment(
        {
            "AERON_ARCHIVE_CONTROL_CHANNEL": "aeron:udp?endpoint=there:8010",
            "AERON_ARCHIVE_CONTROL_STREAM_ID": "11",
            "AERON_ARCHIVE_CONTROL_RESPONSE_CHANNEL": "aeron:udp?endpoint=here:0",
            "AERON_ARCHIVE_CONTROL_RESPONSE_STREAM_ID": "21",
            "AERON_ARCHIVE_MESSAGE_TIMEOUT": "250ms",
            "AERON_ARCHIVE_MESSAGE_RETRY_ATTEMPTS": "7",
            "AERON_ARCHIVE_CONTROL_TERM_BUFFER_LENGTH": "128k",
            "AERON_ARCHIVE_CONTROL_TERM_BUFFER_SPARSE": "false",
            "AERON_ARCHIVE_CONTROL_MTU_LENGTH": "4k",
            "AERON_ARCHIVE_CLIENT_NAME": "named",
        }
    )
    options = ArchiveClientOptions.of(properties=properties, response_stream_id=22)
    assert (options.request_channel, options.request_stream_id) == (UDP["request_channel"], 11)
    assert (options.response_channel, options.response_stream_id) == (
        "aeron:udp?endpoint=here:0",
        22,
    )
    assert (options.message_timeout, options.message_retry_attempts) == (0.25, 7)
    assert (options.term_length, options.sparse, options.mtu) == (131_072, False, 4096)
    assert options.name == "named"


def test_an_unknown_option_is_refused():
    with pytest.raises(ConfigurationError, match="unknown option 'chanel'"):
        ArchiveClientOptions.of(chanel="aeron:ipc")


@pytest.mark.parametrize(
    ("channel", "wildcard"),
    [
        ("aeron:udp?endpoint=here:0", True),
        ("aeron:udp?endpoint=here:9000", False),
        ("aeron:udp?endpoint=here:0|control-mode=manual", False),
        ("aeron:ipc", False),
    ],
)
def test_a_wildcard_port_is_known(channel, wildcard):
    assert ReplayChannel(channel).has_wildcard_port is wildcard


def test_a_session_that_is_named_stays():
    assert ReplayChannel("aeron:ipc?session-id=5").with_session(6) == "aeron:ipc?session-id=5"
    assert ReplayChannel("aeron:ipc").with_session(6) == "aeron:ipc?session-id=6"


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
