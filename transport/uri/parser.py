"""The state machine that splits a channel into prefix, media and parameters (spec channel-uri 3).

It checks only the syntax, as the reference does: values are not checked, unknown keys are kept, and
media is checked only if there are no parameters.
"""

from __future__ import annotations

from aerolog.transport.config.values import ILLEGAL_STATE
from aerolog.transport.errors import ChannelUriError
from aerolog.transport.uri.keys import (
    IPC_MEDIA,
    MAX_URI_LENGTH,
    SCHEME,
    SPY_PREFIX,
    SPY_QUALIFIER,
    UDP_MEDIA,
)

_SCHEME_PREFIX = SCHEME + ":"


def parse_channel(text: str) -> tuple[str, str, dict[str, str]]:
    """Splits a channel.

    Returns:
        The prefix (``""`` or ``"aeron-spy"``), the media, and the parameters in order of their
        first appearance, each with its last value.

    Raises:
        ChannelUriError: with the reference's text; error indices count from the start.
    """
    if len(text) > MAX_URI_LENGTH:
        raise ChannelUriError(
            f"URI length ({len(text)}) exceeds max supported length ({MAX_URI_LENGTH}): "
            f"{text[:MAX_URI_LENGTH]}"
        )
    prefix, start = ("", 0)
    if text.startswith(SPY_PREFIX):
        prefix, start = SPY_QUALIFIER, len(SPY_PREFIX)
    if not text.startswith(_SCHEME_PREFIX, start):
        raise ChannelUriError(f"Aeron URIs must start with 'aeron:', found: {text}")
    start += len(_SCHEME_PREFIX)
    media, has_parameters, _ = text[start:].partition("?")
    for index, char in enumerate(media, start):
        if char in ":|=":
            raise ChannelUriError(
                f"encountered '{char}' within media definition at index {index} in {text}"
            )
    if has_parameters:
        return prefix, media, _parse_parameters(text, start + len(media) + 1)
    if media not in (UDP_MEDIA, IPC_MEDIA):
        raise ChannelUriError(f"unknown media: {media}")
    return prefix, media, {}


def _parse_parameters(text: str, index: int) -> dict[str, str]:
    params: dict[str, str] = {}
    while True:
        equals, bar = text.find("=", index), text.find("|", index)
        if bar >= 0 and (equals < 0 or bar < equals):
            raise _illegal_state(f"invalid end of key at index {bar} in {text}")
        if equals < 0:
            raise _illegal_state(f"no more input found, state=PARAMS_KEY in {text}")
        if equals == index:
            raise _illegal_state(f"empty key not allowed at index {equals} in {text}")
        end = bar if bar >= 0 else len(text)
        params[text[index:equals]] = text[equals + 1 : end]
        if bar < 0:
            return params
        index = bar + 1


def _illegal_state(message: str) -> ChannelUriError:
    return ChannelUriError(message, reference_type=ILLEGAL_STATE)
