"""Questions to an archive about times: an extension of the control protocol.

A question is the channel fragment of a FindLastMatchingRecording request, whose smallest recording
id names the recording. No channel begins with ``aerolog:``, so an archive that does not know the
question finds no recording and answers OK with the relevant id -1 and an empty text. An answer to
a question always has a text that begins with ``aerolog:``.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aerolog.transport.errors import MessageFormatError

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX: Final = "aerolog:"
POSITION_AT: Final = "position-at"
END_POSITION_AT: Final = "end-position-at"
TIME_AT: Final = "time-at"
TIMES: Final = "times"
QUESTIONS: Final = {
    POSITION_AT: frozenset({"time-ns"}),
    END_POSITION_AT: frozenset({"time-ns"}),
    TIME_AT: frozenset({"position"}),
    TIMES: frozenset({"page", "from-position", "until-position"}),
}
#: In place of the number of a page: the first one wanted, or none behind.
NO_PAGE: Final = -1
_NUMBER_DIGITS_MAX: Final = 19


@dataclass(frozen=True, slots=True)
class Question:
    """A question's name and its numeric arguments by name."""

    what: str
    values: Mapping[str, int]

    def __str__(self) -> str:
        values = "|".join(f"{name}={value}" for name, value in self.values.items())
        return f"{PREFIX}{self.what}?{values}"

    @classmethod
    def parse(cls, text: str) -> Question:
        """Parse a question from a channel fragment.

        Raises:
            MessageFormatError: there is no such question, or it does not have these arguments.
        """
        what, _, rest = text.removeprefix(PREFIX).partition("?")
        known = QUESTIONS.get(what)
        if known is None:
            raise MessageFormatError(f"no question of time: {text[:80]!r}")
        values: dict[str, int] = {}
        for part in filter(None, rest.split("|")):
            name, _, number = part.partition("=")
            digits = number.removeprefix("-")
            good = digits.isascii() and digits.isdigit() and len(digits) <= _NUMBER_DIGITS_MAX
            if name not in known or not good or not -(2**63) <= int(number) < 2**63:
                raise MessageFormatError(f"the question {what} has no {part[:80]!r}")
            values[name] = int(number)
        if what != TIMES and not values:
            raise MessageFormatError(f"the question {what} needs {', '.join(sorted(known))}")
        return cls(what, values)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimesPage:
    """A part of an index on its way to a client.

    Attributes:
        entries: pairs of int64, time and position.
        next_page: the page to ask for next, NO_PAGE after the last.
        source: the origin of the times, see TimeIndex.
        is_rebuilt: whether the index was made afterwards.
        start_position: the recording's start, bytes. The fields end_position, start_time_ns and
            end_time_ns are the recording's too; end_time_ns is None while it goes on.
    """

    entries: bytes
    next_page: int
    source: str
    is_rebuilt: bool
    start_position: int
    end_position: int
    start_time_ns: int
    end_time_ns: int | None

    def __str__(self) -> str:
        end = "" if self.end_time_ns is None else self.end_time_ns
        fields = (
            self.next_page,
            self.source,
            int(self.is_rebuilt),
            self.start_position,
            self.end_position,
            self.start_time_ns,
            end,
        )
        head = "|".join(str(field) for field in fields)
        return f"{PREFIX}{head};{base64.b64encode(self.entries).decode('ascii')}"

    @classmethod
    def parse(cls, text: str) -> TimesPage:
        """Parse a page from an answer's text.

        Raises:
            MessageFormatError: the text is no page.
        """
        head, _, encoded = text.removeprefix(PREFIX).partition(";")
        try:
            page, source, rebuilt, start, end, start_time, end_time = head.split("|")
            entries = base64.b64decode(encoded, validate=True)
            if len(entries) % 16:
                raise ValueError(f"{len(entries)} bytes of entries")
            return cls(
                entries=entries,
                next_page=int(page),
                source=source,
                is_rebuilt=rebuilt == "1",
                start_position=int(start),
                end_position=int(end),
                start_time_ns=int(start_time),
                end_time_ns=int(end_time) if end_time else None,
            )
        except (ValueError, binascii.Error) as error:
            raise MessageFormatError(f"no page of times: {error}") from None
