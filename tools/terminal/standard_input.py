"""Text from standard input, of bounded length."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from aerolog.transport.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable


def stdin_text(length_max: int) -> str:
    """All of standard input.

    Raises:
        ConfigurationError: it is no text, or longer than ``length_max`` characters.
    """
    return _bounded(sys.stdin.read, "standard input", length_max)


def stdin_line(length_max: int) -> str:
    """The first line of standard input, without its end.

    Raises:
        ConfigurationError: it is no text, or longer than ``length_max`` characters.
    """
    what = "the first line of standard input"
    return _bounded(sys.stdin.readline, what, length_max).rstrip("\r\n")


def _bounded(read: Callable[[int], str], what: str, length_max: int) -> str:
    try:
        text = read(length_max + 1)
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{what} is no text: {error}") from error
    if len(text) > length_max:
        raise ConfigurationError(f"{what} is longer than {length_max} characters")
    return text
