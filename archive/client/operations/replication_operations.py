"""Replication: have this archive copy a recording from another one (spec archive-protocol 15)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.archive.client import request
from aerolog.archive.client.client_base import ArchiveClientBase
from aerolog.transport.client.steps.caller import Steps, operation

if TYPE_CHECKING:
    from aerolog.archive.client.request import Channel


class ReplicationOperations(ArchiveClientBase):
    """Start and stop replications into this archive."""

    @operation
    def replicate(
        self,
        src_recording_id: int,
        src_control_channel: Channel,
        src_control_stream_id: int,
        *,
        dst_recording_id: int | None = None,
        live_destination: Channel | None = None,
        stop_position: int | None = None,
        channel_tag_id: int | None = None,
        subscription_tag_id: int | None = None,
        replication_channel: Channel | None = None,
        replication_session_id: int | None = None,
        file_io_max_length: int | None = None,
        credentials: bytes = b"",
        src_response_channel: Channel | None = None,
    ) -> Steps[int]:
        """Copy a recording of another archive into this one; a copy that exists is continued.

        Signals tell of its progress (REPLICATE, EXTEND, SYNC, MERGE, STOP, REPLICATE_END). They
        and its errors carry the replication id as correlation id.

        Args:
            src_recording_id: the recording's id in the other archive.
            src_control_channel: the control channel of the other archive.
            src_control_stream_id: the control stream of the other archive.
            dst_recording_id: the recording of this archive to continue; None makes a new one.
            live_destination: where the live stream comes to, which is joined when the copy has
                caught up; None joins none.
            stop_position: where to end; None ends with the recording.
            channel_tag_id: tag of the channel that the replay is received on.
            subscription_tag_id: tag of the subscription that the replay is received on.
            replication_channel: the channel of the replay; None takes this archive's property.
            replication_session_id: the session id of the replay; not together with
                ``live_destination``.
            file_io_max_length: how many bytes the other archive reads from a file at once, at most.
            credentials: the credentials for the other archive.
            src_response_channel: where the other archive answers; None takes this archive's
                property.

        Returns:
            The replication id.
        """
        return self.conversation.ask(
            request.replicate(
                src_recording_id,
                src_control_channel,
                src_control_stream_id,
                dst_recording_id=dst_recording_id,
                live_destination=live_destination,
                stop_position=stop_position,
                channel_tag_id=channel_tag_id,
                subscription_tag_id=subscription_tag_id,
                replication_channel=replication_channel,
                replication_session_id=replication_session_id,
                file_io_max_length=file_io_max_length,
                credentials=credentials,
                src_response_channel=src_response_channel,
            )
        )

    @operation
    def stop_replication(self, replication_id: int) -> Steps[None]:
        """End a replication.

        Raises:
            ArchiveError: UNKNOWN_REPLICATION.
        """
        return self.conversation.ask(request.strictly(request.try_stop_replication(replication_id)))

    @operation
    def try_stop_replication(self, replication_id: int) -> Steps[bool]:
        """As stop_replication; False when there is no such replication."""
        return self.conversation.ask(request.try_stop_replication(replication_id))
