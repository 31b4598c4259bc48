"""Operations that cut, remove, detach, attach and move recorded data (spec archive-protocol 14)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.archive.client import request
from aerolog.archive.client.client_base import ArchiveClientBase
from aerolog.transport.client.steps.caller import Steps, operation

if TYPE_CHECKING:
    from aerolog.archive.client.request import Channel


class StorageOperations(ArchiveClientBase):
    """Change what is stored. Files are deleted after the answer; a DELETE signal tells when."""

    @operation
    def truncate_recording(self, recording_id: int, position: int) -> Steps[int]:
        """Cut a stopped recording at a position, which becomes its stop position.

        Returns:
            How many segment files will be deleted.
        """
        return self.conversation.ask(request.truncate_recording(recording_id, position))

    @operation
    def purge_recording(self, recording_id: int) -> Steps[int]:
        """Remove a stopped recording from catalog and disk.

        Returns:
            How many segment files will be deleted.
        """
        return self.conversation.ask(request.purge_recording(recording_id))

    @operation
    def detach_segments(self, recording_id: int, new_start_position: int) -> Steps[None]:
        """Move the start forward to a segment's base, keeping the files before it."""
        return self.conversation.ask(request.detach_segments(recording_id, new_start_position))

    @operation
    def delete_detached_segments(self, recording_id: int) -> Steps[int]:
        """Delete the files before the start.

        Returns:
            How many segment files will be deleted.
        """
        return self.conversation.ask(request.delete_detached_segments(recording_id))

    @operation
    def purge_segments(self, recording_id: int, new_start_position: int) -> Steps[int]:
        """Detach the segments before a position and delete their files.

        Returns:
            How many segment files will be deleted.
        """
        return self.conversation.ask(request.purge_segments(recording_id, new_start_position))

    @operation
    def attach_segments(self, recording_id: int) -> Steps[int]:
        """Move the start back over the detached segment files that are in the folder.

        Returns:
            How many segment files were attached.
        """
        return self.conversation.ask(request.attach_segments(recording_id))

    @operation
    def migrate_segments(self, src_recording_id: int, dst_recording_id: int) -> Steps[int]:
        """Move the segment files of one recording to the front of another, or behind it.

        Returns:
            How many segment files were moved.
        """
        return self.conversation.ask(request.migrate_segments(src_recording_id, dst_recording_id))

    @operation
    def update_channel(self, recording_id: int, channel: Channel) -> Steps[None]:
        """Change the channel in a recording's descriptor."""
        return self.conversation.ask(request.update_channel(recording_id, channel))
