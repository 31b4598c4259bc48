"""Queries: what is recorded, from where and how far (spec archive-protocol 13)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.archive.client import request
from aerolog.archive.client.client_base import PAGE, ArchiveClientBase
from aerolog.archive.client.recording_position import RecordingPosition, find_by_recording
from aerolog.transport.client.steps.backoff import waiter
from aerolog.transport.client.steps.caller import Parts, Steps, operation, series

if TYPE_CHECKING:
    from aerolog.archive.client.request import Channel, RecordingSubscription
    from aerolog.archive.format.descriptor import RecordingDescriptor


class QueryOperations(ArchiveClientBase):
    """List recordings and recording subscriptions, ask for positions and for the archive's id."""

    @operation
    def list_recording(self, recording_id: int) -> Steps[RecordingDescriptor | None]:
        """One recording, None when unknown."""
        return self.conversation.ask(request.list_recording(recording_id))

    @operation
    def list_recordings(
        self, from_recording_id: int = 0, count: int = PAGE
    ) -> Steps[list[RecordingDescriptor]]:
        """Up to ``count`` recordings from an id on, in the order of ids.

        Raises:
            ValueError: a count below 1, which no archive answers.
        """
        return self.conversation.ask(request.list_recordings(from_recording_id, count))

    @operation
    def list_recordings_for_uri(
        self, from_recording_id: int, count: int, channel_fragment: str, stream_id: int
    ) -> Steps[list[RecordingDescriptor]]:
        """As list_recordings, only for a stream and original channels that contain a text."""
        return self.conversation.ask(
            request.list_recordings_for_uri(from_recording_id, count, channel_fragment, stream_id)
        )

    @series
    def recordings(
        self,
        *,
        from_recording_id: int = 0,
        channel: str = "",
        stream_id: int | None = None,
        page: int = PAGE,
    ) -> Parts[RecordingDescriptor]:
        """All recordings, fetched a page at a time.

        Args:
            from_recording_id: the first id wanted.
            channel: a text that the original channel contains.
            stream_id: only this stream.
            page: how many recordings one request asks for.
        """
        begin = from_recording_id
        while True:
            found = yield from self.conversation.ask(
                request.list_recordings(begin, page)
                if stream_id is None
                else request.list_recordings_for_uri(begin, page, channel, stream_id)
            )
            yield [one for one in found if channel in one.original_channel]
            if len(found) < page:
                return
            begin = found[-1].recording_id + 1

    @operation
    def list_recording_subscriptions(
        self,
        *,
        from_index: int = 0,
        count: int = PAGE,
        channel_fragment: str = "",
        stream_id: int | None = None,
    ) -> Steps[list[RecordingSubscription]]:
        """The subscriptions through which the archive records now.

        Args:
            from_index: how many of the archive's subscriptions to pass over, whether they match
                or not.
            count: how many are wanted at most.
            channel_fragment: a text that the channel contains.
            stream_id: only this stream.
        """
        return self.conversation.ask(
            request.list_recording_subscriptions(from_index, count, channel_fragment, stream_id)
        )

    @operation
    def find_last_matching_recording(
        self,
        min_recording_id: int,
        channel_fragment: Channel,
        stream_id: int,
        session_id: int,
    ) -> Steps[int | None]:
        """The newest recording of a session, None when there is none.

        Args:
            min_recording_id: recordings with lower ids are not considered.
            channel_fragment: a text that the original channel contains.
            stream_id: the stream id of the recording.
            session_id: the session id of the recorded publication.
        """
        return self.conversation.ask(
            request.find_last_matching(
                min_recording_id, str(channel_fragment), stream_id, session_id
            )
        )

    @operation
    def start_position(self, recording_id: int) -> Steps[int | None]:
        """The position at which a recording begins."""
        return self.conversation.ask_position("start position", recording_id)

    @operation
    def stop_position(self, recording_id: int) -> Steps[int | None]:
        """The position at which a recording stopped, None while it is active."""
        return self.conversation.ask_position("stop position", recording_id)

    @operation
    def recording_position(self, recording_id: int) -> Steps[int | None]:
        """The position that an active recording has reached, None when it is not active."""
        return self.conversation.ask_position("recording position", recording_id)

    @operation
    def max_recorded_position(self, recording_id: int) -> Steps[int | None]:
        """The position that an active recording has reached, or at which a stopped one ended."""
        return self.conversation.ask_position("max recorded position", recording_id)

    @operation
    def query_archive_id(self) -> Steps[int]:
        """Ask the archive for its id, which `archive_id` knows from connecting."""
        return self.conversation.ask(request.archive_id())

    def recording_position_counter(self, recording_id: int) -> RecordingPosition | None:
        """The position counter of an active recording, None when it is not active.

        The counter belongs to the archive's driver, so only clients of that driver can read it.
        """
        archive_id = self.conversation.usable().archive_id
        counters = self.aeron.counters
        counter_id = find_by_recording(counters, recording_id, archive_id)
        if counter_id is None or counter_id not in counters:
            return None
        idle = waiter(self.aeron.conductor, None)
        return RecordingPosition(counters[counter_id], recording_id, self.options.clock, idle)
