"""The options of decoders: checked strings; files are read once and then carried as text."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

from aerolog.catalog.decoders.base import DecoderError
from aerolog.transport.memory.regular_file import open_named

if TYPE_CHECKING:
    from collections.abc import Mapping

# Schemas and descriptor sets may come from untrusted sources, so larger files are refused.
SCHEMA_BYTES_MAX = 4 * 1024 * 1024


class Options:
    """The options that a decoder was given.

    Args:
        decoder: the decoder's name, for messages.
        given: the options as given on a command line.
        known: the names of all options that the decoder has.

    Raises:
        DecoderError: an option is unknown or no text.
    """

    def __init__(self, decoder: str, given: Mapping[str, str], known: tuple[str, ...]) -> None:
        self.decoder = decoder
        self.values = dict(given)
        for name, value in self.values.items():
            if name not in known:
                raise DecoderError(
                    f"decoder {decoder} has no option {name!r}; "
                    f"there are: {', '.join(known) or 'none'}"
                )
            if not isinstance(value, str):
                raise DecoderError(f"option {name} of decoder {decoder} is to be a string: {value}")
            if any("\ud800" <= char <= "\udfff" for char in value):
                raise DecoderError(f"option {name} of decoder {decoder} is not UTF-8: {value!a}")

    def text(self, name: str, default: str) -> str:
        """The text of an option, or its default."""
        return self.values.get(name, default)

    def choice(self, name: str, choices: tuple[str, ...]) -> str:
        """An option that is one of some words; the first one is the default.

        Raises:
            DecoderError: the option is another word.
        """
        value = self.values.get(name, choices[0])
        if value not in choices:
            raise DecoderError(
                f"option {name} of decoder {self.decoder} is one of {', '.join(choices)}, "
                f"not {value!r}"
            )
        return value

    def number(self, name: str, default: int, *, least: int, most: int) -> int:
        """An option that is a whole number in a range.

        Raises:
            DecoderError: the option is not a number, or is out of range.
        """
        text = self.values.get(name, str(default))
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if not least <= value <= most:
            raise DecoderError(
                f"option {name} of decoder {self.decoder} is a number from {least} to {most}, "
                f"not {text!r}"
            )
        return value

    def inline_file(self, file_option: str, inline: str, *, is_text: bool) -> bytes | None:
        """The content that a file option names or its inline form carries; only the latter is kept.

        Args:
            file_option: the option that names a file.
            inline: the option that carries the file's content, as base64 unless it is text.
            is_text: whether the content is UTF-8.

        Returns:
            The content; None where neither option is given.

        Raises:
            DecoderError: both are given, or the file cannot be read or is too large.
        """
        path, value = self.values.pop(file_option, ""), self.values.get(inline, "")
        if path and value:
            raise DecoderError(
                f"decoder {self.decoder} takes one of {file_option} and {inline}, not both"
            )
        if path:
            content = self._read(file_option, path)
            self.values[inline] = (
                self._decoded(path, content) if is_text else base64.b64encode(content).decode()
            )
            return content
        if not value:
            return None
        if is_text:
            content = value.encode()
        else:
            try:
                content = base64.b64decode(value, validate=True)
            except (binascii.Error, ValueError) as error:
                raise DecoderError(
                    f"option {inline} of decoder {self.decoder} is not base64: {error}"
                ) from error
        if len(content) > SCHEMA_BYTES_MAX:
            raise DecoderError(
                f"option {inline} of decoder {self.decoder} has {len(content)} bytes; "
                f"the most is {SCHEMA_BYTES_MAX}"
            )
        return content

    def required_file(self, file_option: str, inline: str, what: str, *, is_text: bool) -> bytes:
        """The content of ``inline_file``, which must be given.

        Args:
            file_option: see ``inline_file``.
            inline: see ``inline_file``.
            what: what the file is, for the error.
            is_text: see ``inline_file``.

        Raises:
            DecoderError: neither option is given, or as for ``inline_file``.
        """
        content = self.inline_file(file_option, inline, is_text=is_text)
        if content is None:
            raise DecoderError(f"decoder {self.decoder} needs the option {file_option}: {what}")
        return content

    def _read(self, option: str, path: str) -> bytes:
        try:
            with open_named(path) as file:
                content = file.read(SCHEMA_BYTES_MAX + 1)
        except (OSError, ValueError) as error:
            raise DecoderError(
                f"option {option} of decoder {self.decoder}: cannot read {path}: {error}"
            ) from error
        if len(content) > SCHEMA_BYTES_MAX:
            raise DecoderError(
                f"option {option} of decoder {self.decoder}: {path} has more than "
                f"{SCHEMA_BYTES_MAX} bytes"
            )
        return content

    def _decoded(self, path: str, content: bytes) -> str:
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            raise DecoderError(f"decoder {self.decoder}: {path} is not UTF-8: {error}") from error
