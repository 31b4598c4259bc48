"""Clients of an archive: `AeronArchive` waits, `AsyncAeronArchive` is awaited.

Both speak the reference's control protocol and work with an archive of either kind.
"""

from aerolog.archive.client.aeron_archive import AeronArchive, AsyncAeronArchive
from aerolog.archive.client.client_base import ArchiveClientState
from aerolog.archive.client.client_session import ArchiveClientStats
from aerolog.archive.client.connection import ArchiveConnection, ConnectStep
from aerolog.archive.client.options import ArchiveClientOptions
from aerolog.archive.client.recording_events import (
    AsyncRecordingEvents,
    RecordingEvent,
    RecordingEvents,
)
from aerolog.archive.client.recording_position import (
    RecordingPosition,
    RecordingPositionKey,
    find_by_recording,
    find_by_session,
)
from aerolog.archive.client.recording_signals import SignalFilter, SignalHandler
from aerolog.archive.client.replay.channel_replay import ChannelReplay
from aerolog.archive.client.replay.merged_batch import MergedBatch
from aerolog.archive.client.replay.merged_replay import AsyncMergedReplay, MergedReplay, Published
from aerolog.archive.client.replay.paced_replay import AsyncPaced, Paced, paced, paced_async
from aerolog.archive.client.replay.persistent_options import (
    FROM_LIVE,
    FROM_START,
    JoinEvent,
    JoinTrouble,
    LiveJoined,
    LiveLeft,
    PersistentSubscriptionListener,
    PersistentSubscriptionState,
    ReplayStarted,
)
from aerolog.archive.client.replay.persistent_subscription import (
    AsyncPersistentSubscription,
    PersistentSubscription,
)
from aerolog.archive.client.replay.replay_merge import (
    AsyncReplayMerge,
    ReplayMerge,
    ReplayMergeState,
)
from aerolog.archive.client.replay.timed_message import TimedMessage
from aerolog.archive.client.replay.timed_replay import AsyncTimedReplay, TimedReplay
from aerolog.archive.client.request import RecordingSubscription
from aerolog.archive.format.descriptor import RecordingDescriptor
from aerolog.archive.format.segment import segment_base as segment_file_base_position
from aerolog.archive.protocol import RecordingSignal, RecordingSignalEvent, SourceLocation
from aerolog.transport.credentials import (
    CredentialsSupplier,
    HmacCredentials,
    PasswordCredentials,
    StaticCredentials,
)

__all__ = [
    "FROM_LIVE",
    "FROM_START",
    "AeronArchive",
    "ArchiveClientOptions",
    "ArchiveClientState",
    "ArchiveClientStats",
    "ArchiveConnection",
    "AsyncAeronArchive",
    "AsyncMergedReplay",
    "AsyncPaced",
    "AsyncPersistentSubscription",
    "AsyncRecordingEvents",
    "AsyncReplayMerge",
    "AsyncTimedReplay",
    "ChannelReplay",
    "ConnectStep",
    "CredentialsSupplier",
    "HmacCredentials",
    "JoinEvent",
    "JoinTrouble",
    "LiveJoined",
    "LiveLeft",
    "MergedBatch",
    "MergedReplay",
    "Paced",
    "PasswordCredentials",
    "PersistentSubscription",
    "PersistentSubscriptionListener",
    "PersistentSubscriptionState",
    "Published",
    "RecordingDescriptor",
    "RecordingEvent",
    "RecordingEvents",
    "RecordingPosition",
    "RecordingPositionKey",
    "RecordingSignal",
    "RecordingSignalEvent",
    "RecordingSubscription",
    "ReplayMerge",
    "ReplayMergeState",
    "ReplayStarted",
    "SignalFilter",
    "SignalHandler",
    "SourceLocation",
    "StaticCredentials",
    "TimedMessage",
    "TimedReplay",
    "find_by_recording",
    "find_by_session",
    "paced",
    "paced_async",
    "segment_file_base_position",
]
