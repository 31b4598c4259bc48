"""Recording: start, extend, stop (spec archive-protocol 9, 21.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.archive.client import request
from aerolog.archive.client.client_base import ArchiveClientBase
from aerolog.archive.protocol import SourceLocation
from aerolog.transport.client.steps.caller import Steps, operation
from aerolog.transport.errors import AerologError
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from aerolog.archive.client.request import Channel
    from aerolog.transport.client.publication import ExclusivePublication, Publication


class RecordingOperations(ArchiveClientBase):
    """Start, extend and stop recordings."""

    @operation
    def start_recording(
        self,
        channel: Channel,
        stream_id: int,
        location: SourceLocation = SourceLocation.LOCAL,
        *,
        auto_stop: bool | None = None,
    ) -> Steps[int]:
        """Record every publication of a channel and stream from now on.

        Args:
            channel: the channel to record.
            stream_id: the stream to record.
            location: LOCAL spies on publications of the archive's driver, REMOTE subscribes to
                them; over IPC both are the same.
            auto_stop: whether recording ends when the first image ends; None sends the older form
                of the request, which lacks this choice.

        Returns:
            The subscription id, for `stop_recording_subscription`.
        """
        return self.conversation.ask(
            request.start_recording(channel, stream_id, location, auto_stop=auto_stop)
        )

    @operation
    def extend_recording(
        self,
        recording_id: int,
        channel: Channel,
        stream_id: int,
        location: SourceLocation = SourceLocation.LOCAL,
        *,
        auto_stop: bool | None = None,
    ) -> Steps[int]:
        """Continue a stopped recording with a publication that starts where it stopped.

        The other arguments are those of `start_recording`.

        Returns:
            The subscription id.
        """
        return self.conversation.ask(
            request.extend_recording(
                recording_id, channel, stream_id, location, auto_stop=auto_stop
            )
        )

    @operation
    def stop_recording(self, channel: Channel, stream_id: int) -> Steps[None]:
        """Stop what start_recording began with the same arguments.

        Raises:
            ArchiveError: UNKNOWN_SUBSCRIPTION, there is no such recording subscription.
        """
        return self.conversation.ask(
            request.strictly(request.try_stop_recording(channel, stream_id))
        )

    @operation
    def try_stop_recording(self, channel: Channel, stream_id: int) -> Steps[bool]:
        """As stop_recording; False when there is no such recording subscription."""
        return self.conversation.ask(request.try_stop_recording(channel, stream_id))

    @operation
    def stop_recording_subscription(self, subscription_id: int) -> Steps[None]:
        """Stop by the id that start_recording returned.

        Raises:
            ArchiveError: UNKNOWN_SUBSCRIPTION, there is no such recording subscription.
        """
        return self.conversation.ask(
            request.strictly(request.try_stop_recording_subscription(subscription_id))
        )

    @operation
    def try_stop_recording_subscription(self, subscription_id: int) -> Steps[bool]:
        """As stop_recording_subscription; False when there is none."""
        return self.conversation.ask(request.try_stop_recording_subscription(subscription_id))

    @operation
    def stop_recording_by_identity(self, recording_id: int) -> Steps[bool]:
        """Stop one recording; False when it was not active.

        Raises:
            ArchiveError: UNKNOWN_RECORDING.
        """
        return self.conversation.ask(request.try_stop_recording_by_identity(recording_id))

    @operation
    def stop_recording_of(self, publication: Publication | ExclusivePublication) -> Steps[None]:
        """Stop what `add_recorded_publication` began."""
        call = request.try_stop_recording(recorded_channel(publication), publication.stream_id)
        return self.conversation.ask(request.strictly(call))

    @operation
    def add_recorded_publication(self, channel: Channel, stream_id: int) -> Steps[Publication]:
        """Add a publication and have the archive record its session, and no other.

        Raises:
            AerologError: this client has such a publication already.
        """
        publication = yield from self.conversation.added(
            self.aeron.add_publication_async(str(channel), stream_id)
        )
        if not publication.is_original:
            publication.close()
            raise AerologError(
                f"publication already added for channel={publication.channel} "
                f"streamId={publication.stream_id}"
            )
        yield from self._record(publication)
        return publication

    @operation
    def add_recorded_exclusive_publication(
        self, channel: Channel, stream_id: int
    ) -> Steps[ExclusivePublication]:
        """As add_recorded_publication, with an exclusive publication."""
        publication = yield from self.conversation.added(
            self.aeron.add_exclusive_publication_async(str(channel), stream_id)
        )
        yield from self._record(publication)
        return publication

    def _record(self, publication: Publication | ExclusivePublication) -> Steps[None]:
        channel = recorded_channel(publication)
        call = request.start_recording(
            channel, publication.stream_id, SourceLocation.LOCAL, auto_stop=None
        )
        try:
            yield from self.conversation.ask(call)
        except BaseException:
            publication.close()
            raise


def recorded_channel(publication: Publication | ExclusivePublication) -> str:
    """The channel that records one publication's session and no other."""
    return str(ChannelUri.parse(publication.channel).add_session_id(publication.session_id))
