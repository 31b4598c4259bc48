"""Reads and checks the parameters of channels in the reference's order (spec channel-uri 13, 14).

The first failure wins, and its text is the reference's. As in the reference, a
``ConfigurationError`` of the value parser is reported to the client with the generic error code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from aerolog.transport.config.values import (
    parse_bool,
    parse_duration_ns,
    parse_int32,
    parse_int64,
    parse_size,
)
from aerolog.transport.driver import properties
from aerolog.transport.driver.conductor.command_error import (
    CONFIGURATION_EXCEPTION,
    ILLEGAL_ARGUMENT,
    ILLEGAL_STATE,
    generic,
    invalid_channel,
)
from aerolog.transport.driver.conductor.session_ids import wrap_int32
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.protocol.frames import FRAME_ALIGNMENT
from aerolog.transport.uri import ChannelUri, keys

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.transport.config.settings import Settings

NULL_VALUE = -1
PROTOTYPE_CORRELATION_ID = keys.PROTOTYPE_CORRELATION_ID

TERM_MIN_LENGTH = 64 * 1024
TERM_MAX_LENGTH = 1024 * 1024 * 1024
MAX_MESSAGE_LENGTH = 16 * 1024 * 1024
MAX_UDP_PAYLOAD_LENGTH = 65_504
MAX_RESEND_MAX = 256


class StartPosition(NamedTuple):
    """The position at which a publication starts, as its channel gives it."""

    initial_term_id: int
    term_id: int
    term_offset: int

    def position(self, term_length: int) -> int:
        """Return the position in bytes, in a log with such terms."""
        return wrap_int32(self.term_id - self.initial_term_id) * term_length + self.term_offset


@dataclass(frozen=True, slots=True)
class TaggedSession:
    """The values that ``session-id=tag:N`` copies from the publication with entity tag N."""

    session_id: int
    mtu_length: int
    term_length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicationParams:
    """The parameters of a publication's channel, with the driver's defaults filled in.

    Lengths are in bytes, timeouts in nanoseconds. ``has_…`` says whether the channel gives a value.
    """

    entity_tag: int
    session_id: int
    has_session_id: bool
    term_length: int
    has_term_length: bool
    mtu_length: int
    has_mtu_length: bool
    window_length: int
    linger_timeout_ns: int
    signal_eos: bool
    sparse: bool
    spies_simulate_connection: bool
    untethered_window_limit_timeout_ns: int
    untethered_linger_timeout_ns: int
    untethered_resting_timeout_ns: int
    max_resend: int
    start: StartPosition | None
    is_response: bool
    response_correlation_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionParams:
    """The parameters of a subscription's channel, with the driver's defaults filled in."""

    session_id: int | None
    is_reliable: bool
    is_tether: bool
    is_rejoin: bool
    is_sparse: bool
    is_response: bool


class PublicationLookups(NamedTuple):
    """Access to the driver's publications for checks of a new publication's parameters.

    Attributes:
        check_entity_tag_free: raises when a publication already has the tag.
        tagged_session: returns the values of the publication with an entity tag, or None.
        next_session_id: takes the next id from the driver's sequence.
    """

    check_entity_tag_free: Callable[[int, ChannelUri], None]
    tagged_session: Callable[[int], TaggedSession | None]
    next_session_id: Callable[[], int]


class MediaDefaults(NamedTuple):
    """Values for publications of one media whose channel gives none; lengths in bytes.

    Attributes:
        publication: how errors name a publication of this media.
    """

    publication: str
    term_length: int
    mtu_length: int
    window_length: int


def ipc_publication_params(
    uri: ChannelUri, stream_id: int, settings: Settings, lookups: PublicationLookups
) -> PublicationParams:
    """Read and check the channel of an IPC publication.

    Raises:
        ControlProtocolError: with code and text of the first check that fails.
        ConfigurationError: a size or duration that does not parse.
    """
    defaults = MediaDefaults(
        "an IPC publication",
        settings[properties.IPC_TERM_BUFFER_LENGTH],
        settings[properties.IPC_MTU_LENGTH],
        settings[properties.IPC_PUBLICATION_TERM_WINDOW_LENGTH],
    )
    return publication_params(uri, stream_id, settings, lookups, defaults)


def publication_params(
    uri: ChannelUri,
    stream_id: int,
    settings: Settings,
    lookups: PublicationLookups,
    defaults: MediaDefaults,
) -> PublicationParams:
    """Read and check the parameters that IPC and UDP publications have in common.

    Raises:
        ControlProtocolError: with code and text of the first check that fails.
        ConfigurationError: a size or duration that does not parse.
    """
    _check_stream_id(uri, stream_id)
    entity_tag = _entity_tag(uri, lookups)
    session_id, tagged = _session_id(uri, lookups, defaults.publication)
    term_length, has_term_length = _term_length(uri, defaults.term_length, tagged)
    mtu_length, has_mtu_length = _mtu_length(uri, defaults.mtu_length, tagged)
    if mtu_length > max_message_length(term_length):
        raise invalid_channel(
            f"MTU greater than max message length for term length: mtu={mtu_length} "
            f"maxMessageLength={max_message_length(term_length)} termLength={term_length} "
            f"channel={uri}"
        )
    window_length = _window_length(uri, defaults.window_length, term_length, mtu_length)
    linger_ns = _duration(uri, keys.LINGER, settings[properties.PUBLICATION_LINGER_TIMEOUT])
    window_limit_ns, untethered_linger_ns, resting_ns = untethered_timeouts(uri, settings)
    return PublicationParams(
        entity_tag=entity_tag,
        session_id=session_id,
        has_session_id=keys.SESSION_ID in uri,
        term_length=term_length,
        has_term_length=has_term_length,
        mtu_length=mtu_length,
        has_mtu_length=has_mtu_length,
        window_length=window_length,
        linger_timeout_ns=linger_ns,
        signal_eos=_boolean(uri, keys.EOS, default=True),
        sparse=_boolean(uri, keys.SPARSE, default=settings[properties.TERM_BUFFER_SPARSE_FILE]),
        spies_simulate_connection=_boolean(
            uri, keys.SSC, default=settings[properties.SPIES_SIMULATE_CONNECTION]
        ),
        untethered_window_limit_timeout_ns=window_limit_ns,
        untethered_linger_timeout_ns=untethered_linger_ns,
        untethered_resting_timeout_ns=resting_ns,
        max_resend=_max_resend(uri, settings[properties.MAX_RESEND]),
        start=_publication_start(uri, term_length),
        is_response=uri.has_control_mode_response,
        response_correlation_id=_response_correlation_id(uri),
    )


def ipc_subscription_params(uri: ChannelUri, settings: Settings) -> SubscriptionParams:
    """Read and check the channel of an IPC subscription; a position is checked and not used.

    Raises:
        ControlProtocolError: with code and text of the first check that fails.
        ConfigurationError: a number, size or duration that does not parse.
    """
    session_id = None
    if keys.SESSION_ID in uri:
        session_id = parse_int32(keys.SESSION_ID, uri[keys.SESSION_ID])
    _check_subscription_start(uri)
    params = SubscriptionParams(
        session_id=session_id,
        is_reliable=_boolean(uri, keys.RELIABLE, default=settings[properties.RELIABLE_STREAM]),
        is_tether=_boolean(uri, keys.TETHER, default=settings[properties.TETHER_SUBSCRIPTIONS]),
        is_rejoin=_boolean(uri, keys.REJOIN, default=settings[properties.REJOIN_STREAM]),
        is_sparse=_boolean(uri, keys.SPARSE, default=settings[properties.TERM_BUFFER_SPARSE_FILE]),
        is_response=uri.has_control_mode_response,
    )
    if keys.RCV_WND in uri:
        parse_size(keys.RCV_WND, uri[keys.RCV_WND])
    untethered_timeouts(uri, settings)
    return params


def max_message_length(term_length: int) -> int:
    """Return the longest message in bytes that a log with such terms carries."""
    return min(term_length // 8, MAX_MESSAGE_LENGTH)


def untethered_timeouts(uri: ChannelUri, settings: Settings) -> tuple[int, int, int]:
    """Return the window limit timeout, linger and resting timeout in nanoseconds."""
    window_limit_ns = _duration(
        uri,
        keys.UNTETHERED_WINDOW_LIMIT_TIMEOUT,
        settings[properties.UNTETHERED_WINDOW_LIMIT_TIMEOUT],
    )
    linger_ns = _duration(
        uri, keys.UNTETHERED_LINGER_TIMEOUT, settings[properties.UNTETHERED_LINGER_TIMEOUT]
    )
    resting_ns = _duration(
        uri, keys.UNTETHERED_RESTING_TIMEOUT, settings[properties.UNTETHERED_RESTING_TIMEOUT]
    )
    return window_limit_ns, window_limit_ns if linger_ns == NULL_VALUE else linger_ns, resting_ns


def _check_stream_id(uri: ChannelUri, stream_id: int) -> None:
    if keys.STREAM_ID not in uri:
        return
    named = _number(uri, keys.STREAM_ID)
    if named != stream_id:
        raise invalid_channel(f"stream-id={named} does not match provided streamId={stream_id}")


def _entity_tag(uri: ChannelUri, lookups: PublicationLookups) -> int:
    text = uri.entity_tag
    if text is None:
        return NULL_VALUE
    try:
        tag = parse_int64("entity tag", text)
    except ConfigurationError:
        raise invalid_channel("invalid entity tag, must be a number") from None
    if tag == NULL_VALUE:
        raise invalid_channel(f"-1 tag is reserved: channel={uri}")
    lookups.check_entity_tag_free(tag, uri)
    return tag


def _session_id(
    uri: ChannelUri, lookups: PublicationLookups, publication: str
) -> tuple[int, TaggedSession | None]:
    text = uri.get(keys.SESSION_ID)
    if text is None:
        return lookups.next_session_id(), None
    if not text.startswith(keys.TAG_PREFIX):
        return _number(uri, keys.SESSION_ID), None
    try:
        tag = parse_int64(keys.SESSION_ID, text.removeprefix(keys.TAG_PREFIX))
    except ConfigurationError:
        raise invalid_channel(f"session-id={text} has an invalid tag: channel={uri}") from None
    tagged = lookups.tagged_session(tag)
    if tagged is None:
        raise invalid_channel(f"session-id={text} must reference {publication}: channel={uri}")
    return tagged.session_id, tagged


def _term_length(uri: ChannelUri, default: int, tagged: TaggedSession | None) -> tuple[int, bool]:
    text = uri.get(keys.TERM_LENGTH)
    if text is None:
        return (default if tagged is None else tagged.term_length), tagged is not None
    length = wrap_int32(parse_size(keys.TERM_LENGTH, text))
    check_term_length(length)
    if tagged is not None and tagged.term_length != length:
        raise invalid_channel(
            f"term-length={length} does not match session-id tag value: channel={uri}"
        )
    return length, True


def check_term_length(length: int) -> None:
    """Refuse a term length that no log may have.

    Raises:
        CommandError: with the reference's text.
    """
    if length < TERM_MIN_LENGTH:
        raise generic(
            ILLEGAL_STATE, f"Term length less than min length of {TERM_MIN_LENGTH}: length={length}"
        )
    if length > TERM_MAX_LENGTH:
        raise generic(
            ILLEGAL_STATE,
            f"Term length more than max length of {TERM_MAX_LENGTH}: length={length}",
        )
    if length & (length - 1):
        raise generic(ILLEGAL_STATE, f"Term length not a power of 2: length={length}")


def _mtu_length(uri: ChannelUri, default: int, tagged: TaggedSession | None) -> tuple[int, bool]:
    text = uri.get(keys.MTU)
    if text is None:
        return (default if tagged is None else tagged.mtu_length), tagged is not None
    length = wrap_int32(parse_size(keys.MTU, text))
    check_mtu_length(length)
    if tagged is not None and tagged.mtu_length != length:
        raise invalid_channel(f"mtu={length} does not match session-id tag value: channel={uri}")
    return length, True


def check_mtu_length(length: int) -> None:
    """Refuse an MTU that no publication may have.

    Raises:
        CommandError: with the reference's text.
    """
    reason = None
    if length <= FRAME_ALIGNMENT:
        reason = f"mtuLength={length} <= HEADER_LENGTH=32"
    elif length > MAX_UDP_PAYLOAD_LENGTH:
        reason = f"mtuLength={length} > MAX_UDP_PAYLOAD_LENGTH={MAX_UDP_PAYLOAD_LENGTH}"
    elif length % FRAME_ALIGNMENT:
        reason = f"mtuLength={length} is not a multiple of FRAME_ALIGNMENT={FRAME_ALIGNMENT}"
    if reason is not None:
        raise generic(CONFIGURATION_EXCEPTION, f"ERROR - {reason}")


def _window_length(uri: ChannelUri, configured: int, term_length: int, mtu_length: int) -> int:
    half_term = term_length // 2
    text = uri.get(keys.PUB_WND)
    if text is None:
        return min(configured, half_term) if configured else half_term
    length = parse_size(keys.PUB_WND, text)
    if length < mtu_length:
        raise invalid_channel(f"pub-wnd={length} cannot be less than the mtu={mtu_length}")
    if length > half_term:
        raise invalid_channel(
            f"pub-wnd={length} must not exceed half the term-length={term_length}"
        )
    return length


def _max_resend(uri: ChannelUri, default: int) -> int:
    if keys.MAX_RESEND not in uri:
        return max(1, min(default, MAX_RESEND_MAX))
    value = _number(uri, keys.MAX_RESEND)
    if not 0 < value <= MAX_RESEND_MAX:
        raise invalid_channel(f"invalid max-resend={value}, must be > 0 and <= {MAX_RESEND_MAX}")
    return value


_START_KEYS = (keys.INIT_TERM_ID, keys.TERM_ID, keys.TERM_OFFSET)


def _publication_start(uri: ChannelUri, term_length: int) -> StartPosition | None:
    present = sum(key in uri for key in _START_KEYS)
    if present == 0:
        return None
    if present < len(_START_KEYS):
        raise invalid_channel(_incomplete_start(uri))
    start = StartPosition(*(_number(uri, key) for key in _START_KEYS))
    if start.term_offset > term_length:
        raise invalid_channel(
            f"term-offset={start.term_offset} > term-length={term_length}: channel={uri}"
        )
    reason = _offset_fault(start, uri) or _order_fault(start, uri)
    if reason is not None:
        raise invalid_channel(reason)
    return start


def _check_subscription_start(uri: ChannelUri) -> None:
    present = sum(key in uri for key in _START_KEYS)
    if present == 0:
        return
    if present < len(_START_KEYS):
        raise generic(ILLEGAL_ARGUMENT, _incomplete_start(uri))
    start = StartPosition(*(parse_int32(key, uri[key]) for key in _START_KEYS))
    if reason := _offset_fault(start, uri):
        raise generic(ILLEGAL_ARGUMENT, reason)
    if reason := _order_fault(start, uri):
        raise generic(ILLEGAL_STATE, reason)


def _incomplete_start(uri: ChannelUri) -> str:
    return f"params must be used as a complete set: {' '.join(_START_KEYS)} channel={uri}"


def _offset_fault(start: StartPosition, uri: ChannelUri) -> str | None:
    if not 0 <= start.term_offset <= TERM_MAX_LENGTH:
        return f"term-offset={start.term_offset} out of range: channel={uri}"
    if start.term_offset % FRAME_ALIGNMENT:
        return (
            f"term-offset={start.term_offset} must be a multiple of FRAME_ALIGNMENT: channel={uri}"
        )
    return None


def _order_fault(start: StartPosition, uri: ChannelUri) -> str | None:
    if wrap_int32(start.term_id - start.initial_term_id) < 0:
        return (
            f"difference greater than 2^31 - 1: init-term-id={start.initial_term_id} "
            f"when term-id={start.term_id} channel={uri}"
        )
    return None


def _response_correlation_id(uri: ChannelUri) -> int:
    text = uri.get(keys.RESPONSE_CORRELATION_ID)
    if text is None:
        return NULL_VALUE
    if text == keys.PROTOTYPE:
        return PROTOTYPE_CORRELATION_ID
    try:
        value = parse_int64(keys.RESPONSE_CORRELATION_ID, text)
    except ConfigurationError:
        value = NULL_VALUE - 1
    if value < NULL_VALUE:
        raise invalid_channel(
            "invalid response-correlation-id, must be a number greater than or equal to -1, "
            "or 'prototype'"
        )
    return value


def _number(uri: ChannelUri, key: str) -> int:
    try:
        return parse_int32(key, uri[key])
    except ConfigurationError:
        raise invalid_channel(f"invalid {key}, must be a number") from None


def _duration(uri: ChannelUri, key: str, default: int) -> int:
    text = uri.get(key)
    return default if text is None else parse_duration_ns(key, text)


def _boolean(uri: ChannelUri, key: str, *, default: bool) -> bool:
    text = uri.get(key)
    return default if text is None else parse_bool(text)
