"""Reports unknown parameters of channels, which the reference ignores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.transport.config.known_names import nearest, suggestion, tell_once
from aerolog.transport.errors import ChannelUriError
from aerolog.transport.uri.keys import BY_KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_SHOWN_LENGTH: Final = 60


def check_keys(channel: str, *, strict: bool, write: Callable[[str], object]) -> None:
    """Report each unknown parameter of a channel once in this process.

    Args:
        channel: the channel as it was given; a malformed one is left to its parser.
        strict: whether an unknown parameter is an error.
        write: called with each line, without a line end.

    Raises:
        ChannelUriError: if a parameter is unknown and ``strict`` is set.
    """
    if strict:
        refuse_unknown_keys(channel)
    for key in unknown_keys(channel):
        if tell_once(f"channel parameter {key}"):
            write(_line(key, channel))


def refuse_unknown_keys(channel: str) -> None:
    """Refuse a channel that has an unknown parameter.

    Raises:
        ChannelUriError: it has.
    """
    for key in unknown_keys(channel):
        raise ChannelUriError(_line(key, channel))


def unknown_keys(channel: str) -> Iterator[str]:
    """Yield the unknown parameters of a channel, which may be malformed or cut short."""
    _, _, params = channel.partition("?")
    for param in params.split("|"):
        key, equals, _ = param.partition("=")
        if equals and key not in BY_KEY:
            yield key


def nearest_key(key: str) -> str | None:
    """Return the known parameter that is most like another one, or None if none is."""
    return nearest(key[:_SHOWN_LENGTH], BY_KEY)


def _line(key: str, channel: str) -> str:
    near = suggestion(nearest_key(key))
    return f"unknown channel parameter {_shown(key)}{near} (channel {_shown(channel)})"


def _shown(text: str) -> str:
    """Return a text that a client may have chosen in a form that is fit for a line of a log."""
    kept = text if len(text) <= _SHOWN_LENGTH else f"{text[:_SHOWN_LENGTH]}..."
    return "".join(char if char.isprintable() else "?" for char in kept)
