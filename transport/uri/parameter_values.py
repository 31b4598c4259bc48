"""Values of channel parameters: the builder's checks and shortest forms (spec channel-uri 21)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from aerolog.transport.config.values import (
    ASCII_NUMBER_FORMAT,
    ILLEGAL_STATE,
    INT32_MAX,
    INT64_MAX,
    INT64_MIN,
    duration_to_ns,
    format_duration,
    format_size,
    parse_duration_ns,
    parse_int32,
    parse_int64,
    parse_size,
)
from aerolog.transport.errors import ChannelUriError, ConfigurationError
from aerolog.transport.protocol.frames import FRAME_ALIGNMENT
from aerolog.transport.uri.keys import (
    CONTROL_MODES,
    INIT_TERM_ID,
    INVALID_TAG,
    MTU,
    PROTOTYPE,
    RESERVED,
    TAG_PREFIX,
    TERM_ID,
    TERM_LENGTH,
    TERM_OFFSET,
    Kind,
    Parameter,
)

if TYPE_CHECKING:
    from collections.abc import Callable

#: The types of a parameter's value in Python; None leaves the parameter out.
ParameterValue = str | int | float | bool | timedelta | tuple[int, ...] | list[int] | None

MIN_MTU = 32
MAX_MTU = 65_504
MIN_TERM_LENGTH = 64 * 1024
MAX_TERM_LENGTH = 1 << 30


def written(parameter: Parameter, value: ParameterValue) -> str:
    """Return the text of a value, checked as the reference's builder checks it.

    Raises:
        ChannelUriError: if the value is not of the parameter's kind or is out of range.
    """
    try:
        text = value if isinstance(value, str) else _from_python(parameter, value)
        return _WRITERS[parameter.kind](parameter, text)
    except ConfigurationError as error:
        raise ChannelUriError(
            str(error),
            reference_type=error.reference_type,
            reference_message=error.reference_message,
        ) from error


def check_position_triple(params: dict[str, str]) -> None:
    """Check that all or none of the position parameters are set, and no term precedes the first."""
    triple = [params.get(key) for key in (INIT_TERM_ID, TERM_ID, TERM_OFFSET)]
    if all(value is None for value in triple):
        return
    if any(value is None for value in triple):
        raise ChannelUriError(
            "either all or none of the parameters ['initialTermId', 'termId', 'termOffset'] "
            "must be provided"
        )
    initial, term_id = int(params[INIT_TERM_ID]), int(params[TERM_ID])
    if wrapped_int32(term_id - initial) < 0:
        raise ChannelUriError(
            f"difference greater than 2^31 - 1: termId={term_id} - initialTermId={initial}"
        )
    if TERM_LENGTH in params:
        offset = int(params[TERM_OFFSET])
        term_length = parse_size(TERM_LENGTH, params[TERM_LENGTH])
        if offset > term_length:
            raise ChannelUriError(f"termOffset={offset} > termLength={term_length}")


def wrapped_int32(value: int) -> int:
    """Wrap a value around to a signed 32-bit number."""
    return ((value + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)


def check_term_length(length: int) -> None:
    """Check that a term length is a power of two from 64 KiB to 1 GiB."""
    if length < MIN_TERM_LENGTH:
        message = f"Term length less than min length of {MIN_TERM_LENGTH}: length={length}"
    elif length > MAX_TERM_LENGTH:
        message = f"Term length more than max length of {MAX_TERM_LENGTH}: length={length}"
    elif length & (length - 1):
        message = f"Term length not a power of 2: length={length}"
    else:
        return
    raise ChannelUriError(message, reference_type=ILLEGAL_STATE)


def _from_python(parameter: Parameter, value: ParameterValue) -> str:
    kind = parameter.kind
    if kind is Kind.DURATION and isinstance(value, (int, float, timedelta)):
        return format_duration(duration_to_ns(parameter.key, value))
    if isinstance(value, bool):
        if kind is Kind.BOOLEAN:
            return "true" if value else "false"
    elif isinstance(value, int):
        if kind in {Kind.SIZE, Kind.MTU, Kind.TERM_LENGTH} and value < 0:
            raise ChannelUriError(f"`{parameter.key}` value cannot be negative: {value}")
        if kind is not Kind.BOOLEAN:
            return str(value)
    elif isinstance(value, (tuple, list)) and parameter.key == "tags" and 0 < len(value) < 3:
        for tag in value:
            _check_int64("tags", tag)
        return ",".join(map(str, value))
    raise ChannelUriError(f"{parameter.key}: {value!r} is not {kind.value}")


def _check_int64(key: str, value: int) -> None:
    if (
        isinstance(value, bool)
        or not isinstance(value, int)
        or not (INT64_MIN <= value <= INT64_MAX)
    ):
        raise ChannelUriError(f"{key}: {value!r} is not a signed 64-bit number")


def _text(parameter: Parameter, text: str) -> str:
    if "|" in text:
        raise ChannelUriError(f"{parameter.key}: {text!r} contains '|', which ends a parameter")
    return text


def _control_mode(_: Parameter, text: str) -> str:
    if text not in CONTROL_MODES:
        raise ChannelUriError(f"invalid control mode: {text}")
    return text


def _size(parameter: Parameter, text: str) -> str:
    value = parse_size(parameter.key, text)
    if value > INT32_MAX:
        raise ChannelUriError(f"value exceeds maximum permitted: value={value}")
    return format_size(value)


def _mtu(_: Parameter, text: str) -> str:
    value = parse_size(MTU, text)
    if value > INT32_MAX:
        raise ChannelUriError(f"mtu {value} > {INT32_MAX}")
    if not MIN_MTU <= value <= MAX_MTU:
        raise ChannelUriError(f"MTU not in range {MIN_MTU}-{MAX_MTU}: {value}")
    if value % FRAME_ALIGNMENT:
        raise ChannelUriError(f"MTU not a multiple of FRAME_ALIGNMENT: mtu={value}")
    return format_size(value)


def _term_length(_: Parameter, text: str) -> str:
    value = parse_size(TERM_LENGTH, text)
    if value > MAX_TERM_LENGTH:
        raise ChannelUriError(
            f"term length more than max length of {MAX_TERM_LENGTH}: value={value}"
        )
    check_term_length(value)
    return format_size(value)


def _duration(parameter: Parameter, text: str) -> str:
    return format_duration(parse_duration_ns(parameter.key, text))


def _boolean(_: Parameter, text: str) -> str:
    return "true" if text.lower() == "true" else "false"


def _int32(parameter: Parameter, text: str) -> str:
    return str(_number(text, parse_int32, _int32_message(parameter)))


def _int32_message(parameter: Parameter) -> str:
    if parameter.key in {"max-resend", "stream-id"}:
        return f"{parameter.key} must be a number"
    return f"'{parameter.label or parameter.key}' must be a valid integer"


def _int64(parameter: Parameter, text: str) -> str:
    return str(_number(text, parse_int64, f"'{parameter.key}' must be a valid long value"))


def _number(text: str, parse: Callable[[str, str], int], message: str) -> int:
    try:
        return parse("", text)
    except ConfigurationError as error:
        raise ChannelUriError(message) from error


def _term_offset(_: Parameter, text: str) -> str:
    value = _number(text, parse_int32, "'term-offset' must be a valid integer")
    if not 0 <= value <= MAX_TERM_LENGTH:
        raise ChannelUriError(f"term offset not in range 0-1g: {value}")
    if value % FRAME_ALIGNMENT:
        raise ChannelUriError(f"term offset not multiple of FRAME_ALIGNMENT: {value}")
    return str(value)


def _session_id(_: Parameter, text: str) -> str:
    if not text.startswith(TAG_PREFIX):
        return str(_number(text, parse_int32, "'session-id' must be a valid integer"))
    tag = text[len(TAG_PREFIX) :]
    try:
        return TAG_PREFIX + str(parse_int64("session-id", tag))
    except ConfigurationError as error:
        reason = f"error parsing long: {tag}"
        raise ChannelUriError(
            f"session-id: {text!r} is not tag:N: {reason}",
            reference_type=ASCII_NUMBER_FORMAT,
            reference_message=reason,
        ) from error


def _ttl(_: Parameter, text: str) -> str:
    value = _number(text, parse_int32, "'ttl' must be a value integer")
    if not 0 <= value <= 255:
        raise ChannelUriError(f"TTL not in range 0-255: {value}")
    return str(value)


def _timestamp_offset(parameter: Parameter, text: str) -> str:
    if text == RESERVED:
        return text
    message = f"{parameter.label} must be a number or the value '{RESERVED}' found: {text}"
    _number(text, parse_int32, message)
    return text


def _response_correlation_id(parameter: Parameter, text: str) -> str:
    if text == PROTOTYPE:
        return text
    message = (
        f"{parameter.label} must be a number greater than or equal to {INVALID_TAG}, "
        f"or the value '{PROTOTYPE}' found: {text}"
    )
    if _number(text, parse_int64, message) < -1:
        raise ChannelUriError(message)
    return text


_WRITERS: dict[Kind, Callable[[Parameter, str], str]] = {
    Kind.TEXT: _text,
    Kind.CONTROL_MODE: _control_mode,
    Kind.MTU: _mtu,
    Kind.TERM_LENGTH: _term_length,
    Kind.SIZE: _size,
    Kind.DURATION: _duration,
    Kind.BOOLEAN: _boolean,
    Kind.INT32: _int32,
    Kind.INT64: _int64,
    Kind.TERM_OFFSET: _term_offset,
    Kind.SESSION_ID: _session_id,
    Kind.TTL: _ttl,
    Kind.TIMESTAMP_OFFSET: _timestamp_offset,
    Kind.RESPONSE_CORRELATION_ID: _response_correlation_id,
}
