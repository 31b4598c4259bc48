"""The archive's configuration properties (spec archive-protocol 5.2), read through Settings."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from aerolog.archive.format.checksum import checksum_for
from aerolog.archive.format.segment import SEGMENT_LENGTH_MAX, SEGMENT_LENGTH_MIN, is_power_of_two
from aerolog.archive.protocol import defaults
from aerolog.transport.config.definition import Declare
from aerolog.transport.config.known_names import STRICT
from aerolog.transport.config.settings import Settings
from aerolog.transport.driver.properties import PUBLICATION_LINGER_TIMEOUT
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.events.properties import ARCHIVE_EVENT_PROPERTIES
from aerolog.transport.security.plug_ins import AUTHENTICATOR_PLUG_INS, AUTHORISATION_PLUG_INS
from aerolog.transport.time_units import NS_PER_MS as _MS
from aerolog.transport.time_units import NS_PER_S as _S
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aerolog.archive.format.checksum import Checksum
    from aerolog.transport.config.sources import Properties

_K: Final = 1024
_M: Final = 1024 * _K

FILE_IO_LENGTH_MIN: Final = 64 * _K
ERROR_BUFFER_LENGTH_MIN: Final = _M

_MODES: Final = {mode: mode for mode in ("DEDICATED", "SHARED", "INVOKER")}
_AUTHENTICATORS: Final = {
    "none": "default",
    "default": "default",
    "password-file": "password-file",
    "hmac": "hmac",
    "io.aeron.security.DefaultAuthenticatorSupplier": "default",
    "io.aeron.samples.archive.SampleAuthenticatorSupplier": "sample",
}
_AUTHORISATION: Final = {
    "ALLOW_ALL": "ALLOW_ALL",
    "DENY_ALL": "DENY_ALL",
    "rules-file": "rules-file",
    "io.aeron.security.AuthorisationService.ALLOW_ALL": "ALLOW_ALL",
    "io.aeron.security.AuthorisationService.DENY_ALL": "DENY_ALL",
}

_declare = Declare("aeron.archive.")

ARCHIVE_DIR = _declare.text(
    "aeron.archive.dir", "aeron-archive", "folder of the archive", keyword="archive_dir"
)
AERON_DIR = _declare.text("aeron.dir", "", "directory of the driver", keyword="aeron_dir")
DRIVER_TIMEOUT = _declare.millis(
    "aeron.driver.timeout", 10_000, "age at which the driver counts as gone"
)
MARK_FILE_DIR = _declare.text("aeron.archive.mark.file.dir", None, "folder of the mark file")
DIR_DELETE_ON_START = _declare.boolean(
    "aeron.archive.dir.delete.on.start",
    False,
    "delete the folder when starting, unless a live archive has it or a recording is held",
)
ARCHIVE_ID = _declare.long(
    "aeron.archive.id", -1, "id of the archive, -1 for one from the driver", keyword="archive_id"
)
CONTROL_CHANNEL_ENABLED = _declare.boolean(
    "aeron.archive.control.channel.enabled",
    True,
    "listen on the control channel: true must have one, not given listens where there is one",
)
CONTROL_CHANNEL = _declare.text(
    "aeron.archive.control.channel", None, "UDP channel to listen on for requests"
)
CONTROL_STREAM_ID = _declare.integer(
    "aeron.archive.control.stream.id", defaults.CONTROL_STREAM_ID, "stream of the control channel"
)
LOCAL_CONTROL_CHANNEL = _declare.text(
    "aeron.archive.local.control.channel",
    "aeron:ipc?term-length=64k",
    "IPC channel to listen on for requests",
)
LOCAL_CONTROL_STREAM_ID = _declare.integer(
    "aeron.archive.local.control.stream.id",
    defaults.CONTROL_STREAM_ID,
    "stream of the local control channel",
)
CONTROL_TERM_LENGTH = _declare.size(
    "aeron.archive.control.term.buffer.length",
    defaults.CONTROL_TERM_LENGTH,
    "terms of responses when the client does not say",
    low=64 * _K,
    high=1024 * _M,
)
CONTROL_MTU = _declare.size(
    "aeron.archive.control.mtu.length",
    defaults.CONTROL_MTU,
    "mtu of responses",
    low=32,
    high=65_504,
)
CONTROL_SPARSE = _declare.boolean(
    "aeron.archive.control.term.buffer.sparse",
    defaults.CONTROL_TERM_SPARSE,
    "sparse logs for responses",
)
EVENTS_CHANNEL = _declare.text(
    "aeron.archive.recording.events.channel", None, "channel of the recording events"
)
EVENTS_STREAM_ID = _declare.integer(
    "aeron.archive.recording.events.stream.id",
    defaults.RECORDING_EVENTS_STREAM_ID,
    "stream of the recording events",
)
EVENTS_ENABLED = _declare.boolean(
    "aeron.archive.recording.events.enabled", False, "send recording events"
)
REPLICATION_CHANNEL = _declare.text(
    "aeron.archive.replication.channel", None, "channel that replications replay to"
)
REPLICATION_RESPONSE_CHANNEL = _declare.text(
    "aeron.archive.control.response.channel",
    None,
    "where other archives answer this one; port 0 of the control channel's host when not given",
)
REPLICATION_RESPONSE_STREAM_ID = _declare.integer(
    "aeron.archive.control.response.stream.id",
    defaults.RESPONSE_STREAM_ID,
    "stream on which other archives answer",
)
REPLICATION_TIMEOUT = _declare.duration(
    "aeron.archive.message.timeout",
    defaults.MESSAGE_TIMEOUT_NS,
    "for each step of a replication, and to connect",
)
SEGMENT_LENGTH = _declare.size(
    "aeron.archive.segment.file.length", 128 * _M, "bytes of a segment file, a power of two"
)
SEGMENT_PREALLOCATE = _declare.boolean(
    "aeron.archive.segment.file.preallocate",
    False,
    "each segment file has its place on disk as a whole from its start on",
)
FILE_IO_LENGTH = _declare.size(
    "aeron.archive.file.io.max.length", _M, "bytes of a read or write at most, a power of two"
)
FILE_SYNC_LEVEL = _declare.integer(
    "aeron.archive.file.sync.level", 0, "0 none, 1 data, 2 data and metadata", low=0, high=2
)
CATALOG_SYNC_LEVEL = _declare.integer(
    "aeron.archive.catalog.file.sync.level", 0, "at least the file sync level", low=0, high=2
)
CATALOG_CAPACITY = _declare.size(
    "aeron.archive.catalog.capacity", _M, "bytes of a new catalog file", high=2**31 - 1
)
LOW_STORAGE_THRESHOLD = _declare.size(
    "aeron.archive.low.storage.space.threshold",
    128 * _M,
    "free space at or below which no recording is started",
)
THREADING_MODE = _declare.choice(
    "aeron.archive.threading.mode", "DEDICATED", _MODES, "which agents share a thread"
)
IDLE_STRATEGY = _declare.text(
    "aeron.archive.idle.strategy", "backoff", "idle strategy of the conductor"
)
RECORDER_IDLE_STRATEGY = _declare.text(
    "aeron.archive.recorder.idle.strategy", None, "idle strategy of the recorder"
)
REPLAYER_IDLE_STRATEGY = _declare.text(
    "aeron.archive.replayer.idle.strategy", None, "idle strategy of the replayer"
)
MAX_RECORDINGS = _declare.integer(
    "aeron.archive.max.concurrent.recordings", 20, "recordings at a time", low=0
)
MAX_REPLAYS = _declare.integer(
    "aeron.archive.max.concurrent.replays", 20, "replays at a time", low=0
)
CONNECT_TIMEOUT = _declare.duration(
    "aeron.archive.connect.timeout", 5 * _S, "for a session to be set up, a replay to connect"
)
LIVENESS_INTERVAL = _declare.duration(
    "aeron.archive.session.liveness.check.interval", _S, "between pings of a control session"
)
REPLAY_LINGER = _declare.duration(
    "aeron.archive.replay.linger.timeout",
    PUBLICATION_LINGER_TIMEOUT.default,
    "linger of replay publications; by default aeron.publication.linger.timeout as set",
)
CONDUCTOR_THRESHOLD = _declare.duration(
    "aeron.archive.conductor.cycle.threshold", 100 * _MS, "a conductor cycle above it is counted"
)
RECORDER_THRESHOLD = _declare.duration(
    "aeron.archive.recorder.cycle.threshold", 100 * _MS, "a recorder cycle above it is counted"
)
REPLAYER_THRESHOLD = _declare.duration(
    "aeron.archive.replayer.cycle.threshold", 100 * _MS, "a replayer cycle above it is counted"
)
ERROR_BUFFER_LENGTH = _declare.size(
    "aeron.archive.error.buffer.length",
    ERROR_BUFFER_LENGTH_MIN,
    "bytes of the error log in the mark file",
    low=ERROR_BUFFER_LENGTH_MIN,
    high=2**31 - 1 - 8192,
)
AUTHENTICATOR = _declare.choice(
    "aeron.archive.authenticator.supplier",
    "default",
    _AUTHENTICATORS,
    "who may connect",
    plug_ins=AUTHENTICATOR_PLUG_INS,
)
AUTHORISATION = _declare.choice(
    "aeron.archive.authorisation.service.supplier",
    "ALLOW_ALL",
    _AUTHORISATION,
    "who may do what",
    plug_ins=AUTHORISATION_PLUG_INS,
)
PASSWORD_FILE = _declare.text(
    "aerolog.archive.password.file",
    None,
    "users and hashed passwords, for the authenticator password-file",
    keyword="password_file",
)
HMAC_KEY_FILE = _declare.text(
    "aerolog.archive.hmac.key.file",
    None,
    "users and keys, for the authenticator hmac",
    keyword="hmac_key_file",
)
RULES_FILE = _declare.text(
    "aerolog.archive.rules.file",
    None,
    "who may send which requests, for the authorisation service rules-file",
    keyword="rules_file",
)
MAX_CONTROL_SESSIONS = _declare.integer(
    "aerolog.archive.max.control.sessions",
    0,
    "control sessions at a time, 0 for any number",
    low=0,
    keyword="max_control_sessions",
)
BOUND_CONTROL_SESSIONS = _declare.boolean(
    "aerolog.archive.bound.control.sessions",
    True,
    "whether a control session has a random id and answers only to the image that opened it",
    keyword="bound_control_sessions",
)
RESPONSE_QUEUE_LENGTH = _declare.size(
    "aerolog.archive.response.queue.length",
    256 * _K,
    "bytes of unread responses kept for a control session, above which it is ended",
    low=4 * _K,
    high=1024 * _M,
    keyword="response_queue_length",
)
DELETE_RATE = _declare.integer(
    "aerolog.archive.delete.rate",
    0,
    "segment files deleted in a second at most, 0 for as many as turns of the conductor allow",
    low=0,
    high=1_000_000,
    keyword="delete_rate",
)
RECORD_CHECKSUM = _declare.text(
    "aeron.archive.record.checksum", None, "checksum written into frames and catalog"
)
REPLAY_CHECKSUM = _declare.text(
    "aeron.archive.replay.checksum", None, "checksum that replayed frames must have"
)
VERIFY_RATE = _declare.size(
    "aerolog.archive.verify.rate",
    0,
    "bytes a second at which closed segments are read and verified, 0 for never",
    keyword="verify_rate",
)
VERIFY_INTERVAL = _declare.duration(
    "aerolog.archive.verify.interval",
    24 * 3600 * _S,
    "age of its last verification at which a segment is read again",
    low=_MS,
    keyword="verify_interval",
)
VERIFY_LOOK_INTERVAL = _declare.duration(
    "aerolog.archive.verify.look.interval",
    10 * _S,
    "between looks at which segments are new, gone or not the file that was verified",
    low=_MS,
    keyword="verify_look_interval",
)
TIME_INDEX = _declare.boolean(
    "aerolog.archive.time.index",
    True,
    "keep an index of times beside each recording",
    keyword="time_index",
)
TIME_SOURCE = _declare.choice(
    "aerolog.archive.time.source",
    "clock",
    {"clock": "clock", "channel": "channel"},
    "times of the index: the archive's clock, or what the channel puts into messages",
    keyword="time_source",
)
PRINT_CONFIGURATION = _declare.boolean(
    "aeron.print.configuration", False, "print the configuration at start"
)

PROPERTIES: Final = (*_declare.table, *ARCHIVE_EVENT_PROPERTIES, STRICT)


def archive_folders(properties: Properties, keywords: Mapping[str, Any]) -> tuple[str, str]:
    """Folder and mark file's folder of an archive, from settings of which others may be unusable.

    Args:
        properties: settings by the reference's names.
        keywords: settings by keyword, of which those of the two folders are read.
    """
    table = (ARCHIVE_DIR, MARK_FILE_DIR)
    names = {prop.keyword for prop in table}
    given = {name: value for name, value in keywords.items() if name in names}
    return _folders(Settings(table, properties, given))


def _folders(settings: Settings) -> tuple[str, str]:
    folder = os.path.realpath(settings[ARCHIVE_DIR])
    mark_file_dir = settings[MARK_FILE_DIR]
    return folder, os.path.realpath(mark_file_dir) if mark_file_dir else folder


class ArchiveConfig:
    """The values of all archive properties, checked in the reference's order.

    Attributes:
        settings: the values; ``config[PROPERTY]`` reads one.
        archive_dir: absolute path with symbolic links resolved, as is mark_file_dir.
        control_channel: None when the archive listens only on the local channel.
        record_checksum: None when recording uses none, as is replay_checksum for replays.
    """

    def __init__(
        self,
        properties: Properties | None = None,
        keywords: Mapping[str, Any] | None = None,
    ) -> None:
        self.settings = settings = Settings(PROPERTIES, properties, keywords)
        driver = Settings((PUBLICATION_LINGER_TIMEOUT,), properties)
        settings.set_default(REPLAY_LINGER, driver[PUBLICATION_LINGER_TIMEOUT])
        self.archive_dir, self.mark_file_dir = _folders(settings)
        self._check_lengths()
        self.control_channel = self._checked_control_channel()
        self._check_channels()
        self.record_checksum: Checksum | None = checksum_for(settings[RECORD_CHECKSUM])
        self.replay_checksum: Checksum | None = checksum_for(settings[REPLAY_CHECKSUM])

    def __getitem__(self, prop: Any) -> Any:
        return self.settings[prop]

    def _check_lengths(self) -> None:
        settings = self.settings
        file_level, catalog_level = settings[FILE_SYNC_LEVEL], settings[CATALOG_SYNC_LEVEL]
        if not settings.is_given(CATALOG_SYNC_LEVEL):
            self.catalog_sync_level = file_level
        elif catalog_level < file_level:
            raise ConfigurationError(
                f"catalogFileSyncLevel {catalog_level} < fileSyncLevel {file_level}"
            )
        else:
            self.catalog_sync_level = catalog_level
        length = settings[FILE_IO_LENGTH]
        if length < FILE_IO_LENGTH_MIN or not is_power_of_two(length):
            raise ConfigurationError(
                f"invalid fileIoMaxLength={length}: a power of two from {FILE_IO_LENGTH_MIN}"
            )
        segment = settings[SEGMENT_LENGTH]
        if not is_power_of_two(segment):
            raise ConfigurationError(f"segment file length not a power of 2: {segment}")
        if not SEGMENT_LENGTH_MIN <= segment <= SEGMENT_LENGTH_MAX:
            raise ConfigurationError(f"segment file length not in valid range: {segment}")

    def _checked_control_channel(self) -> str | None:
        settings = self.settings
        channel = settings[CONTROL_CHANNEL]
        if not settings[CONTROL_CHANNEL_ENABLED]:
            return None
        if channel is None:
            if settings.is_given(CONTROL_CHANNEL_ENABLED):
                raise ConfigurationError("Archive.Context.controlChannel must be set")
            return None
        if not channel.startswith("aeron:udp"):
            raise ConfigurationError(
                f"Archive.Context.controlChannel must be UDP media: uri={channel}"
            )
        ChannelUri.parse(channel)
        return channel

    def _check_channels(self) -> None:
        settings = self.settings
        local = settings[LOCAL_CONTROL_CHANNEL]
        if not local.startswith("aeron:ipc"):
            raise ConfigurationError(f"local control channel must be IPC media: uri={local}")
        ChannelUri.parse(local)
        if settings[EVENTS_ENABLED] and settings[EVENTS_CHANNEL] is None:
            raise ConfigurationError("Archive.Context.recordingEventsChannel must be set")
