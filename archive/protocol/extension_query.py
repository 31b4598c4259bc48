"""The extension query: what clients ask beyond the requests of the reference.

Spec extension-query 1 to 3. A query travels as the channel fragment of a FindLastMatchingRecording
request. An archive that does not know it finds no recording whose channel contains the fragment,
and says so. An answer to a known query has a text that begins with ``aerolog:``.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final, Self

from aerolog.transport.errors import MessageFormatError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from aerolog.archive.protocol import ControlResponse, FindLastMatchingRecordingRequest

PREFIX: Final = "aerolog:"
POSITION_AT: Final = "position-at"
END_POSITION_AT: Final = "end-position-at"
TIME_AT: Final = "time-at"
TIMES: Final = "times"
READERS: Final = "readers"
FOLDER: Final = "folder"
_NEEDED: Final = {
    POSITION_AT: frozenset({"time-ns"}),
    END_POSITION_AT: frozenset({"time-ns"}),
    TIME_AT: frozenset({"position"}),
    TIMES: frozenset[str](),
    READERS: frozenset[str](),
    FOLDER: frozenset[str](),
}
_OPTIONAL: Final = {TIMES: frozenset({"page", "from-position", "until-position"})}
_NUMBER_DIGITS_MAX: Final = 19
_FRAGMENT_LENGTH_MAX: Final = 256  # no known query is longer

#: In a query the first page, in an answer that no page or no recording follows.
NO_MORE: Final = -1
#: Readers in an answer, of at most 60 characters each.
READERS_MAX: Final = 16
REPLAY: Final = "replay"
REPLICATION: Final = "replication"


@dataclass(frozen=True, slots=True)
class ExtensionQuery:
    """A query of an archive.

    Attributes:
        what: the name of the query.
        recording_id: the recording that it is about.
        values: numeric arguments by name, each in the range of int64.
    """

    what: str
    recording_id: int = 0
    values: Mapping[str, int] = field(default_factory=dict)

    @property
    def fragment(self) -> str:
        """The channel fragment that carries the query."""
        values = "|".join(f"{name}={value}" for name, value in self.values.items())
        return f"{PREFIX}{self.what}{values and '?'}{values}"

    @classmethod
    def of(cls, request: FindLastMatchingRecordingRequest) -> Self | None:
        """The query in a request, None when the request is a search for a recording.

        What is not written exactly as a known query is a search, which the archive then answers as
        the reference does.
        """
        fragment = request.channel
        is_plain = bool(request.session_id or request.stream_id)
        if is_plain or not fragment.startswith(PREFIX) or len(fragment) > _FRAGMENT_LENGTH_MAX:
            return None
        what, mark, rest = fragment.removeprefix(PREFIX).partition("?")
        parts = rest.split("|") if mark else []
        values = dict(filter(None, map(_argument, parts)))
        needed = _NEEDED.get(what)
        is_query = (
            needed is not None
            and len(values) == len(parts)
            and needed <= values.keys() <= needed | _OPTIONAL.get(what, needed)
        )
        return cls(what, request.min_recording_id, values) if is_query else None


def _argument(text: str) -> tuple[str, int] | None:
    """A named int64, None when the text is something else."""
    name, _, number = text.partition("=")
    digits = number.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _NUMBER_DIGITS_MAX):
        return None
    return (name, int(number)) if -(2**63) <= int(number) < 2**63 else None


@dataclass(frozen=True, slots=True)
class ExtensionAnswer:
    """The answer to a query.

    Attributes:
        number: the relevant id of the response.
        text: what follows the prefix in the response's text.
    """

    number: int
    text: str = ""

    @property
    def message(self) -> str:
        """The text of the response."""
        return PREFIX + self.text

    @classmethod
    def of(cls, response: ControlResponse) -> Self | None:
        """The answer in a response, None from an archive that does not know the query."""
        text = response.error_message
        if not text.startswith(PREFIX):
            return None
        return cls(response.relevant_id, text.removeprefix(PREFIX))


# -- times ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class TimesPage:
    """A part of a time index on its way to a client.

    Attributes:
        entries: pairs of int64, time and position.
        next_page: the page to ask for next, NO_MORE after the last.
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

    def answer(self) -> ExtensionAnswer:
        """The answer that carries the page."""
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
        head = "|".join(str(each) for each in fields)
        text = f"{head};{base64.b64encode(self.entries).decode('ascii')}"
        return ExtensionAnswer(len(self.entries) // 16, text)

    @classmethod
    def of(cls, answer: ExtensionAnswer) -> Self:
        """The page in an answer.

        Raises:
            MessageFormatError: the answer has no page.
        """
        head, _, encoded = answer.text.partition(";")
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


# -- readers -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, order=True)
class RecordingReader:
    """A reader that needs a recording of an archive now.

    Attributes:
        recording_id: the recording that is needed.
        kind: ``replay``, or ``replication`` when a replication is making the recording.
        position: nothing from this position on may be deleted.
    """

    recording_id: int
    kind: str
    position: int


def readers_answer(readers: Iterable[RecordingReader], from_id: int) -> ExtensionAnswer:
    """The answer with the lowest position of each kind, by recording.

    Args:
        readers: all readers, in any order.
        from_id: the lowest recording id to report.
    """
    lowest: dict[tuple[int, str], RecordingReader] = {}
    for reader in readers:
        key = (reader.recording_id, reader.kind)
        if reader.recording_id >= from_id:
            lowest[key] = min(lowest.get(key, reader), reader)
    waiting = iter(sorted(lowest.values()))
    reported = list(islice(waiting, READERS_MAX))
    following = next(waiting, None)
    while following and reported and reported[-1].recording_id == following.recording_id:
        following = reported.pop()  # one answer has all readers of a recording
    entries = "|".join(f"{one.recording_id},{one.position},{one.kind}" for one in reported)
    return ExtensionAnswer(NO_MORE if following is None else following.recording_id, entries)


def readers_of(answer: ExtensionAnswer) -> list[RecordingReader]:
    """The readers in an answer.

    Raises:
        MessageFormatError: the answer has no readers.
    """
    found = []
    for entry in filter(None, answer.text.split("|")):
        try:
            recording_id, position, kind = entry.split(",")
            found.append(RecordingReader(int(recording_id), kind, int(position)))
        except ValueError:
            raise MessageFormatError(f"no reader of a recording: {entry[:80]!r}") from None
    return found
