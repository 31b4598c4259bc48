"""Questions about an archive that the reference's archive does not answer: readers, folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.archive.client import request
from aerolog.archive.client.client_base import ArchiveClientBase
from aerolog.archive.retention.reader_query import FOLDER, NO_MORE, READERS, parse
from aerolog.archive.time_index.time_query import PREFIX
from aerolog.transport.client.steps.caller import Steps, operation

if TYPE_CHECKING:
    from aerolog.archive.retention.reader_query import RecordingReader


class ReaderOperations(ArchiveClientBase):
    """Ask which positions replays and replications still need, and for the folder."""

    @operation
    def recording_readers(self) -> Steps[list[RecordingReader] | None]:
        """The recordings that replays read or replications write now, and from which position.

        Returns:
            The lowest position of each kind, by recording; None from an archive that does not know
            the question, such as the reference's.
        """
        found: list[RecordingReader] = []
        from_id = 0
        while from_id != NO_MORE:
            answer = yield from self.conversation.ask(request.ask_time(from_id, READERS))
            if not answer.error_message.startswith(PREFIX):
                return None
            found += parse(answer.error_message)
            if answer.relevant_id <= from_id:
                break
            from_id = answer.relevant_id
        return found

    @operation
    def archive_folder(self) -> Steps[str | None]:
        """The path of the archive's folder, as the archive's machine names it.

        Returns:
            The path; None from an archive that does not know the question, such as the reference's.
        """
        answer = yield from self.conversation.ask(request.ask_time(0, FOLDER))
        text = answer.error_message
        return text.removeprefix(PREFIX) if text.startswith(PREFIX) else None
