"""Channels as values: mapping, changing, and the helpers.

Spec client 19, spec channel-uri 21, 22.
"""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerolog.transport.errors import ChannelUriError
from aerolog.transport.uri import ChannelUri

keys = st.text(st.characters(exclude_characters="=|", codec="utf-8"), min_size=1, max_size=12)
values = st.text(st.characters(exclude_characters="|", codec="utf-8"), max_size=12)


@given(st.dictionaries(keys, values, max_size=30))
def test_whatever_is_put_together_comes_apart_again(params: dict[str, str]) -> None:
    uri = ChannelUri("ipc", params)

    assert ChannelUri.parse(str(uri)) == uri


@given(st.text(max_size=60) | st.text(max_size=60).map(lambda text: f"aeron:ipc?{text}"))
def test_any_text_parses_or_is_refused_as_a_channel(text: str) -> None:
    try:
        uri = ChannelUri.parse(text)
    except ChannelUriError:
        return
    assert ChannelUri.parse(str(uri)) == uri


def test_a_channel_is_a_mapping_of_its_parameters() -> None:
    uri = ChannelUri.parse("aeron:udp?endpoint=h:1|alias=a=b?c")

    assert uri["endpoint"] == "h:1"
    assert uri.get("alias") == "a=b?c"
    assert uri.get("mtu") is None
    assert "mtu" not in uri
    assert len(uri) == 2
    assert dict(uri) == {"endpoint": "h:1", "alias": "a=b?c"}


def test_channels_are_equal_and_hash_alike_whatever_the_order() -> None:
    one = ChannelUri.parse("aeron:ipc?alias=a|mtu=64")
    other = ChannelUri.parse("aeron:ipc?mtu=64|alias=a")

    assert one == other
    assert hash(one) == hash(other)
    assert {one: 1}[other] == 1
    assert one != ChannelUri.parse("aeron:udp?mtu=64|alias=a")
    assert one != one.spy()


def test_a_channel_survives_pickling() -> None:
    uri = ChannelUri.udp("h:1", tags=(1, 2), linger=5).spy()

    copy = pickle.loads(pickle.dumps(uri))

    assert copy == uri
    assert str(copy) == str(uri)


def test_a_parsed_channel_is_passed_through() -> None:
    uri = ChannelUri.ipc()

    assert ChannelUri.parse(uri) is uri


def test_the_longest_channel_is_4095_characters() -> None:
    longest = "aeron:ipc?alias=".ljust(4095, "x")

    assert len(ChannelUri.parse(longest)["alias"]) == 4079
    with pytest.raises(ChannelUriError, match=r"URI length \(4096\) exceeds"):
        ChannelUri.parse(longest + "x")


@pytest.mark.parametrize(
    ("text", "channel_tag", "entity_tag"),
    [
        ("aeron:ipc", None, None),
        ("aeron:ipc?tags=1", "1", None),
        ("aeron:ipc?tags=1,", "1", ""),
        ("aeron:ipc?tags=,2", "", "2"),
        ("aeron:ipc?tags=1,2,3", "1", "2"),
    ],
)
def test_tags(text: str, channel_tag: str | None, entity_tag: str | None) -> None:
    uri = ChannelUri.parse(text)

    assert (uri.channel_tag, uri.entity_tag) == (channel_tag, entity_tag)


def test_a_session_id_may_be_a_tag() -> None:
    assert ChannelUri.parse("aeron:ipc?session-id=tag:7").is_session_id_tagged
    assert not ChannelUri.parse("aeron:ipc?session-id=7").is_session_id_tagged
    assert not ChannelUri.parse("aeron:ipc").is_session_id_tagged


@pytest.mark.parametrize(
    ("position", "initial_term_id", "term_id", "term_offset"),
    [
        (0, 7, 7, 0),
        (64, 7, 7, 64),
        (3 * 65536 + 64, 7, 10, 64),
        (65536, 2**31 - 1, -(2**31), 0),
        (5 * 65536, -3, 2, 0),
    ],
)
def test_a_position_is_written_and_read(
    position: int, initial_term_id: int, term_id: int, term_offset: int
) -> None:
    uri = ChannelUri.parse("aeron:ipc?alias=a").with_position(position, initial_term_id, 65536)

    assert uri["init-term-id"] == str(initial_term_id)
    assert uri["term-id"] == str(term_id)
    assert uri["term-offset"] == str(term_offset)
    assert uri["term-length"] == "65536"
    assert uri["alias"] == "a"
    assert uri.initial_position == position


@pytest.mark.parametrize(
    ("position", "term_length", "text"),
    [
        (-32, 65536, "invalid position=-32 < 0"),
        (33, 65536, "invalid position=33 does not have frame alignment=32"),
        (0, 65537, "Term length not a power of 2: length=65537"),
        (0, 32768, "Term length less than min length of 65536: length=32768"),
        (65536 << 31, 65536, "invalid position="),
    ],
)
def test_a_wrong_position_is_refused(position: int, term_length: int, text: str) -> None:
    with pytest.raises(ChannelUriError) as refused:
        ChannelUri.ipc().with_position(position, 0, term_length)

    assert str(refused.value).startswith(text)


def test_without_all_term_parameters_there_is_no_position() -> None:
    assert ChannelUri.parse("aeron:ipc?init-term-id=1|term-id=1").initial_position is None


def test_adding_a_session_id_keeps_the_rest() -> None:
    uri = ChannelUri.parse("aeron:ipc?alias=q|term-length=64k").add_session_id(5)

    assert str(uri) == "aeron:ipc?term-length=64k|session-id=5|alias=q"


def test_an_alias_is_added_only_where_there_is_none() -> None:
    uri = ChannelUri.parse("aeron:udp?endpoint=a:1")

    assert str(uri.add_alias_if_absent("zz")) == "aeron:udp?alias=zz|endpoint=a:1"
    assert uri.add_alias_if_absent("zz").add_alias_if_absent("y")["alias"] == "zz"
    assert uri.add_alias_if_absent("") is uri


def test_a_destination_keeps_media_and_interface() -> None:
    uri = ChannelUri.parse("aeron-spy:aeron:udp?endpoint=a:1|interface=b|mtu=64")

    assert str(uri.create_destination("c:2")) == "aeron:udp?endpoint=c:2|interface=b"


@pytest.mark.parametrize(
    ("channel", "resolved", "expected"),
    [
        ("aeron:udp?endpoint=a:0", "b:55", "aeron:udp?endpoint=a:55"),
        ("aeron:udp?endpoint=a:7", "b:55", "aeron:udp?endpoint=a:7"),
        ("aeron:udp?control=x:1", "b:55", "aeron:udp?control=x:1|endpoint=b:55"),
        ("aeron:udp?endpoint=[::1]:0", "[::1]:9", "aeron:udp?endpoint=[::1]:9"),
    ],
)
def test_a_wildcard_port_is_replaced(channel: str, resolved: str, expected: str) -> None:
    assert str(ChannelUri.parse(channel).replace_endpoint_wildcard_port(resolved)) == expected


@pytest.mark.parametrize(
    ("resolved", "text"),
    [
        ("b", "No port specified on resolvedEndpoint=b"),
        ("b:0", "Wildcard port specified on resolvedEndpoint=b:0"),
    ],
)
def test_a_resolved_endpoint_needs_a_port(resolved: str, text: str) -> None:
    with pytest.raises(ChannelUriError) as refused:
        ChannelUri.parse("aeron:udp?endpoint=a:0").replace_endpoint_wildcard_port(resolved)

    assert str(refused.value) == text


def test_put_and_remove_make_new_channels() -> None:
    uri = ChannelUri.parse("aeron:ipc?alias=a")

    assert str(uri.put("zed", "1")) == "aeron:ipc?alias=a|zed=1"
    assert str(uri.remove("alias", "none")) == "aeron:ipc"
    assert str(uri) == "aeron:ipc?alias=a"


@pytest.mark.parametrize(("key", "value"), [("", "x"), ("a=b", "x"), ("a|b", "x"), ("a", "x|y")])
def test_put_refuses_what_would_not_parse_back(key: str, value: str) -> None:
    with pytest.raises(ChannelUriError):
        ChannelUri.ipc().put(key, value)


def test_the_spy_prefix_is_put_on_and_taken_off() -> None:
    uri = ChannelUri.udp("h:1")

    assert str(uri.spy()) == "aeron-spy:aeron:udp?endpoint=h:1"
    assert uri.spy().is_spy
    assert uri.spy().without_prefix() == uri


@pytest.mark.parametrize(
    ("channel", "stripped"),
    [
        (
            "aeron:ipc?ssc=true|mtu=2k|alias=q|tags=9|rejoin=false|linger=0|term-length=64k",
            "aeron:ipc?tags=9|alias=q|rejoin=false",
        ),
        ("aeron-spy:aeron:udp?endpoint=h:1|mtu=64", "aeron:udp?endpoint=h:1"),
        ("aeron:udp?endpoint=h:1|rcv-wnd=131072", "aeron:udp?endpoint=h:1|rcv-wnd=128k"),
        ("aeron:ipc?group=infer|zed=1", "aeron:ipc?group=false"),
        (
            "aeron:ipc?stream-id=7|session-id=-5|nak-delay=1ms",
            "aeron:ipc?session-id=-5|stream-id=7",
        ),
    ],
)
def test_a_stripped_channel_says_where_and_not_how(channel: str, stripped: str) -> None:
    assert str(ChannelUri.parse(channel).strip()) == stripped


def test_a_stripped_channel_takes_what_is_added_in_the_builders_order() -> None:
    stripped = ChannelUri.parse("aeron:ipc?alias=a|session-id=777").strip()

    uri = stripped.replace(linger=0.001, mtu=1408, term_length=65536).with_position(64, 7, "64k")

    assert str(uri) == (
        "aeron:ipc?mtu=1408|term-length=64k|init-term-id=7|term-id=7|term-offset=64|"
        "session-id=777|linger=1ms|alias=a"
    )


def test_stripping_refuses_what_the_builder_refuses() -> None:
    with pytest.raises(ChannelUriError, match="TTL not in range 0-255: 300"):
        ChannelUri.parse("aeron:udp?endpoint=h:1|ttl=300").strip()


@pytest.mark.parametrize(
    ("channel", "key"),
    [
        ("aeron:ipc", "1001:ipc"),
        ("aeron:ipc?alias=a|mtu=64", "1001:ipc"),
        (
            "aeron:udp?tags=1|session-id=2|control=c:3|interface=i|endpoint=e:4|ttl=1",
            "1001:udp?endpoint=e:4|interface=i|control=c:3|session-id=2|tags=1",
        ),
    ],
)
def test_the_recording_key_has_five_parameters(channel: str, key: str) -> None:
    assert ChannelUri.parse(channel).recording_key(1001) == key
