"""Replication: have this archive copy a recording from another one (spec archive-protocol 15)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.archive.client import request
from aerolog.archive.client.caller import Steps, operation
from aerolog.archive.client.client_base import ArchiveClientBase

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
        """Copy a recording of another archive into this one, from where the copy ends.

        Signals tell how it goes (REPLICATE, EXTEND, SYNC, MERGE, STOP, REPLICATE_END); they and
        its errors carry the replication id as correlation id.

        Args:
            src_recording_id: in the other archive.
            src_control_channel: where the other archive listens.
            src_control_stream_id: where the other archive listens.
            dst_recording_id: the recording here to continue; None makes a new one.
            live_destination: of the live stream, which is joined when the copy has caught up.
            stop_position: where to end; None ends with the recording.
            channel_tag_id: tag of the channel that the replay is received on.
            subscription_tag_id: tag of the subscription that the replay is received on.
            replication_channel: for the replay; None is the property of this archive.
            replication_session_id: of the replay; not together with ``live_destination``.
            file_io_max_length: bytes that the other archive reads at once.
            credentials: for the other archive.
            src_response_channel: where the other archive shall answer; None is the property of
                this archive.

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
