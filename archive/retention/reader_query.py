"""A query for the present readers of recordings, an extension of the archive's control protocol.

The query is the channel fragment of a FindLastMatchingRecording request, as for questions about
times (`aerolog.archive.time_index.time_query`): an archive that does not know it finds no
recording. The request's lowest recording id is the first one to report. The answer's text has an
entry ``recording,position,kind`` for each reader, and its relevant id is where to continue, -1 at
the end.

A second query asks in the same way for the archive's folder, since holds, and the needs of
pipelines, are beside its recordings. The path is the answer's text.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from aerolog.archive.time_index.time_query import PREFIX
from aerolog.transport.errors import MessageFormatError

if TYPE_CHECKING:
    from collections.abc import Iterable

READERS: Final = f"{PREFIX}readers"
FOLDER: Final = f"{PREFIX}folder"
REPLAY: Final = "replay"
REPLICATION: Final = "replication"
#: Entries in an answer, of at most 60 characters each.
ENTRIES_MAX: Final = 16
NO_MORE: Final = -1


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


def answer(readers: Iterable[RecordingReader], from_id: int) -> tuple[int, str]:
    """Return relevant id and text of an answer.

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
    told = list(islice(waiting, ENTRIES_MAX))
    following = next(waiting, None)
    while following is not None and told and told[-1].recording_id == following.recording_id:
        following = told.pop()  # one answer has all readers of a recording
    entries = "|".join(f"{one.recording_id},{one.position},{one.kind}" for one in told)
    next_id = NO_MORE if following is None else following.recording_id
    return next_id, PREFIX + entries


def parse(text: str) -> list[RecordingReader]:
    """Parse the readers in an answer's text.

    Raises:
        MessageFormatError: the text is not such an answer.
    """
    found = []
    for entry in filter(None, text.removeprefix(PREFIX).split("|")):
        try:
            recording_id, position, kind = entry.split(",")
            found.append(RecordingReader(int(recording_id), kind, int(position)))
        except ValueError:
            raise MessageFormatError(f"no reader of a recording: {entry[:80]!r}") from None
    return found
