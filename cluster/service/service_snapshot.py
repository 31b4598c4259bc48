"""The snapshot of a service, recorded and replayed by the node's archive (spec cluster 16)."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from aerolog.archive.client import AeronArchive
from aerolog.archive.client.recording_position import recording_begun
from aerolog.archive.protocol import SourceLocation
from aerolog.cluster.errors import ClusterError
from aerolog.cluster.files import MessageSum
from aerolog.cluster.protocol import (
    SCHEMA,
    SERVICE_SNAPSHOT_TYPE_ID,
    ClientSession,
    ClusterTimeUnit,
    SnapshotMark,
    SnapshotMarker,
)
from aerolog.cluster.service.snapshot_file import SnapshotReader, SnapshotWriter
from aerolog.transport.client.status import OfferStatus
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aerolog.cluster.files import SnapshotCheck
    from aerolog.cluster.service.service_agent import ServiceAgent
    from aerolog.transport.client.publication import ExclusivePublication


def take_snapshot(agent: ServiceAgent, write: Callable[[SnapshotWriter], object]) -> int:
    """Record a snapshot of the service; returns the recording's id.

    Args:
        agent: the service's agent.
        write: called to write what the service keeps.
    """
    options = agent.options
    with (
        AeronArchive(agent.aeron, idle=agent.idle, **options.archive_options()) as archive,
        agent.aeron.add_exclusive_publication(
            options.snapshot_channel, options.snapshot_stream_id
        ) as publication,
    ):
        channel = ChannelUri.parse(options.snapshot_channel).replace(
            session_id=publication.session_id
        )
        archive.start_recording(
            str(channel), options.snapshot_stream_id, SourceLocation.LOCAL, auto_stop=True
        )
        recorded = archive.caller.carry_out(
            recording_begun(archive.conversation, publication.session_id)
        )
        written = MessageSum()

        def offer(data: bytes) -> None:
            written.add(data)
            _offer(agent, publication, data)

        _write_sessions(agent, offer)
        writer = SnapshotWriter(offer, publication.max_payload_length)
        write(writer)
        writer.flush()
        while recorded.value < publication.position:
            archive.check_for_error()
            agent.idle(0)
    agent.cover_snapshot(recorded.recording_id, written)
    return recorded.recording_id


def _write_sessions(agent: ServiceAgent, offer: Callable[[bytes], None]) -> None:
    marker = SnapshotMarker(
        type_id=SERVICE_SNAPSHOT_TYPE_ID,
        log_position=agent.log_position,
        leadership_term_id=agent.leadership_term_id,
        mark=SnapshotMark.BEGIN,
        time_unit=agent.time_unit,
        app_version=agent.app_version,
    )
    offer(marker.encode())
    for session in agent.sessions.values():
        message = ClientSession(
            cluster_session_id=session.session_id,
            response_stream_id=session.response_stream_id,
            response_channel=session.response_channel,
            encoded_principal=session.principal,
        )
        offer(message.encode())
    marker.mark = SnapshotMark.END
    offer(marker.encode())


def _offer(agent: ServiceAgent, publication: ExclusivePublication, data: bytes) -> None:
    while (result := publication.offer(data)) <= 0:
        if result in {OfferStatus.CLOSED, OfferStatus.MAX_POSITION_EXCEEDED}:
            raise ClusterError(f"the snapshot's publication ended: {result!r}")
        agent.idle(0)


@contextmanager
def load_snapshot(agent: ServiceAgent, recording_id: int) -> Iterator[SnapshotReader]:
    """Read the sessions of a snapshot into the agent, and give what the service wrote.

    Raises:
        ClusterError: the recording is no snapshot of a service, or of another version.
        FileFormatError: it is not what was written, which shows when all has been read.
    """
    options = agent.options
    check = agent.snapshot_check(recording_id)
    with AeronArchive(agent.aeron, idle=agent.idle, **options.archive_options()) as archive:
        messages = (
            message.data
            for message in archive.read(recording_id, stream_id=options.replay_stream_id)
        )
        try:
            _read_sessions(agent, recording_id, _summed(messages, check))
            yield SnapshotReader(_summed(messages, check))
        except Exception:
            _check_all(messages, check)  # what is wrong in the file is the reason
            raise
        else:
            _check_all(messages, check)
        finally:
            messages.close()
    if not check.is_covered:
        agent.cover_snapshot(recording_id, check)


def _summed(messages: Iterator[bytes], check: SnapshotCheck) -> Iterator[bytes]:
    for message in messages:
        check.add(message)
        yield message


def _check_all(messages: Iterator[bytes], check: SnapshotCheck) -> None:
    """Read what a service has left of its snapshot, and check all of it."""
    for _ in _summed(messages, check):
        pass
    check.check()


def _read_sessions(agent: ServiceAgent, recording_id: int, messages: Iterator[bytes]) -> None:
    has_begun = False
    for data in messages:
        message = SCHEMA.decode(data)
        if not isinstance(message, SnapshotMarker):
            if not has_begun:
                raise ClusterError(f"recording {recording_id} is no snapshot: {message}")
            if isinstance(message, ClientSession):
                agent.add_session(
                    message.cluster_session_id,
                    message.response_stream_id,
                    message.response_channel,
                    message.encoded_principal,
                )
            continue
        if message.type_id != SERVICE_SNAPSHOT_TYPE_ID:
            raise ClusterError(
                f"recording {recording_id} is a snapshot of type {message.type_id}, not of type"
                f" {SERVICE_SNAPSHOT_TYPE_ID}"
            )
        if message.mark == SnapshotMark.END:
            return
        has_begun = True
        agent.check_app_version(message.app_version)
        agent.time_unit = ClusterTimeUnit(message.time_unit)
    raise ClusterError(f"the snapshot in recording {recording_id} has no end")
