"""Queries about an archive that the reference's archive does not answer: readers, folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.archive.client import request
from aerolog.archive.client.client_base import ArchiveClientBase
from aerolog.archive.protocol.extension_query import (
    FOLDER,
    NO_MORE,
    READERS,
    ExtensionQuery,
    readers_of,
)
from aerolog.transport.client.steps.caller import Steps, operation

if TYPE_CHECKING:
    from aerolog.archive.protocol.extension_query import RecordingReader


class ReaderOperations(ArchiveClientBase):
    """Ask which positions replays and replications still need, and for the folder."""

    @operation
    def recording_readers(self) -> Steps[list[RecordingReader] | None]:
        """The recordings that replays read or replications write now, and from which position.

        Returns:
            The lowest position of each kind, by recording; None from an archive that does not know
            the query, such as the reference's.
        """
        found: list[RecordingReader] = []
        from_id = 0
        while from_id != NO_MORE:
            query = ExtensionQuery(READERS, from_id)
            answer = yield from self.conversation.ask(request.extension(query))
            if answer is None:
                return None
            found += readers_of(answer)
            if answer.number <= from_id:
                break
            from_id = answer.number
        return found

    @operation
    def archive_folder(self) -> Steps[str | None]:
        """The path of the archive's folder, as the archive's machine names it.

        Returns:
            The path; None from an archive that does not know the query, such as the reference's.
        """
        answer = yield from self.conversation.ask(request.extension(ExtensionQuery(FOLDER)))
        return None if answer is None else answer.text
