"""Times of recordings: questions that the reference's archive does not answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.archive.client import time_queries
from aerolog.archive.client.client_base import ArchiveClientBase
from aerolog.archive.time_index.index import TimeIndex, epoch_ns
from aerolog.transport.client.steps.caller import Steps, operation

if TYPE_CHECKING:
    from datetime import datetime


class TimeOperations(ArchiveClientBase):
    """Find places in recordings by wall-clock time.

    Times are epoch nanoseconds or datetimes; a datetime without a zone is UTC. A recording may be
    active or not. Each operation raises TimeIndexUnavailableError when the archive does not know
    the question, which the reference's archive does not.
    """

    @operation
    def find_position(self, recording_id: int, time: int | datetime) -> Steps[int]:
        """The largest known position that skips nothing recorded at or after a time.

        Args:
            recording_id: the id of a recording, active or not.
            time: epoch ns, or a datetime; one without a zone is UTC.
        """
        return time_queries.find_position(self.conversation, recording_id, epoch_ns(time))

    @operation
    def find_end_position(self, recording_id: int, time: int | datetime) -> Steps[int]:
        """The smallest known position with nothing from it on recorded before a time.

        Args:
            recording_id: the id of a recording, active or not.
            time: epoch ns, or a datetime; one without a zone is UTC.
        """
        return time_queries.find_end_position(self.conversation, recording_id, epoch_ns(time))

    @operation
    def find_time(self, recording_id: int, position: int) -> Steps[int]:
        """When the frame that begins at a position was recorded, epoch ns."""
        return time_queries.find_time(self.conversation, recording_id, position)

    @operation
    def time_index(
        self,
        recording_id: int,
        from_position: int | None = None,
        until_position: int | None = None,
    ) -> Steps[TimeIndex]:
        """The index of a recording, or the part of it between two positions, fetched in pages.

        Outside that part the index tells times only roughly.

        Args:
            recording_id: the recording.
            from_position: where the part begins; the recording's start by default.
            until_position: where the part ends; the recording's end by default.
        """
        return time_queries.time_index(
            self.conversation, recording_id, from_position, until_position
        )
