"""The archive's and its client's properties (configuration 11 and 12), each declared once."""

from __future__ import annotations

from typing import Final

from aerolog.transport.config import names
from aerolog.transport.config.definition import Declare
from aerolog.transport.config.driver_properties import DIR, PRINT_CONFIGURATION

_S: Final = 1_000_000_000
_MS: Final = 1_000_000
_K: Final = 1 << 10
_M: Final = 1 << 20

THREADING_MODES: Final = {mode: mode for mode in ("DEDICATED", "SHARED", "INVOKER")}

CHECKSUMS: Final = {
    "CRC-32": "crc32",
    "CRC-32C": "crc32c",
    "io.aeron.archive.checksum.Crc32": "crc32",
    "io.aeron.archive.checksum.Crc32c": "crc32c",
    "org.agrona.checksum.Crc32": "crc32",
    "org.agrona.checksum.Crc32c": "crc32c",
}

AUTHENTICATORS: Final = {"io.aeron.security.DefaultAuthenticatorSupplier": "default"}

AUTHORISATION_SERVICES: Final = {"ALLOW_ALL": "allow", "DENY_ALL": "deny"}

_archive = Declare("aeron.archive.")

ARCHIVE_DIR = _archive.text(
    "aeron.archive.dir", "aeron-archive", "archive directory", keyword="archive_dir"
)
MARK_FILE_DIR = _archive.text(
    "aeron.archive.mark.file.dir", None, "folder of the mark file; default: the archive's"
)
DIR_DELETE_ON_START = _archive.boolean(
    "aeron.archive.dir.delete.on.start", False, "delete the archive directory at start"
)
ARCHIVE_ID = _archive.long(
    "aeron.archive.id", -1, "id of the archive; -1: given by the driver", keyword="archive_id"
)
CONTROL_CHANNEL_ENABLED = _archive.boolean(
    "aeron.archive.control.channel.enabled", True, "false: only local control"
)
CONTROL_CHANNEL = _archive.text(
    "aeron.archive.control.channel", None, "channel of control requests"
)
CONTROL_STREAM_ID = _archive.integer(
    "aeron.archive.control.stream.id", 10, "stream of control requests"
)
LOCAL_CONTROL_CHANNEL = _archive.text(
    "aeron.archive.local.control.channel", "aeron:ipc?term-length=64k",
    "channel of control requests on the same host; aeron:ipc",
)  # fmt: skip
LOCAL_CONTROL_STREAM_ID = _archive.integer(
    "aeron.archive.local.control.stream.id", 10, "stream of local control requests"
)
CONTROL_TERM_BUFFER_LENGTH = _archive.size(
    "aeron.archive.control.term.buffer.length", 64 * _K, "term of control streams"
)
CONTROL_MTU_LENGTH = _archive.size(
    "aeron.archive.control.mtu.length", 1408, "mtu of control streams"
)
CONTROL_TERM_BUFFER_SPARSE = _archive.boolean(
    "aeron.archive.control.term.buffer.sparse", True, "sparse logs for control streams"
)
RECORDING_EVENTS_CHANNEL = _archive.text(
    "aeron.archive.recording.events.channel", None, "channel of recording events"
)
RECORDING_EVENTS_STREAM_ID = _archive.integer(
    "aeron.archive.recording.events.stream.id", 30, "stream of recording events"
)
RECORDING_EVENTS_ENABLED = _archive.boolean(
    "aeron.archive.recording.events.enabled", False, "publish recording events"
)
REPLICATION_CHANNEL = _archive.text(
    "aeron.archive.replication.channel", None, "endpoint for replication from other archives"
)
SEGMENT_FILE_LENGTH = _archive.size(
    "aeron.archive.segment.file.length", 128 * _M, "segment file; a power of two, 64k to 1g"
)
FILE_IO_MAX_LENGTH = _archive.size(
    "aeron.archive.file.io.max.length", _M, "largest read or write; a power of two from 64k"
)
FILE_SYNC_LEVEL = _archive.integer(
    "aeron.archive.file.sync.level", 0, "segments: 0 no sync, 1 data, 2 data and metadata"
)
CATALOG_FILE_SYNC_LEVEL = _archive.integer(
    "aeron.archive.catalog.file.sync.level", 0, "catalog: the same, not less than segments"
)
CATALOG_CAPACITY = _archive.size(
    "aeron.archive.catalog.capacity", _M, "first length of the catalog file"
)
MAX_CATALOG_ENTRIES = _archive.long("aeron.archive.max.catalog.entries", 8192, "unused")
LOW_STORAGE_SPACE_THRESHOLD = _archive.size(
    "aeron.archive.low.storage.space.threshold", 128 * _M, "no new recordings at this free space"
)
THREADING_MODE = _archive.choice(
    "aeron.archive.threading.mode", "DEDICATED", THREADING_MODES, "how agents share threads"
)
IDLE_STRATEGY = _archive.choice(
    "aeron.archive.idle.strategy", "backoff", names.IDLE_STRATEGIES, "conductor's idling"
)
RECORDER_IDLE_STRATEGY = _archive.choice(
    "aeron.archive.recorder.idle.strategy", None, names.IDLE_STRATEGIES,
    "recorder's idling; default: the conductor's",
)  # fmt: skip
REPLAYER_IDLE_STRATEGY = _archive.choice(
    "aeron.archive.replayer.idle.strategy", None, names.IDLE_STRATEGIES,
    "replayer's idling; default: the conductor's",
)  # fmt: skip
MAX_CONCURRENT_RECORDINGS = _archive.integer(
    "aeron.archive.max.concurrent.recordings", 20, "recordings at a time"
)
MAX_CONCURRENT_REPLAYS = _archive.integer(
    "aeron.archive.max.concurrent.replays", 20, "replays at a time"
)
CONNECT_TIMEOUT = _archive.duration(
    "aeron.archive.connect.timeout", 5 * _S, "time for a control session or replay to connect"
)
SESSION_LIVENESS_CHECK_INTERVAL = _archive.duration(
    "aeron.archive.session.liveness.check.interval", _S, "interval of looking at control sessions"
)
REPLAY_LINGER_TIMEOUT = _archive.duration(
    "aeron.archive.replay.linger.timeout", 5 * _S, "linger of replay publications"
)
CONDUCTOR_CYCLE_THRESHOLD = _archive.duration(
    "aeron.archive.conductor.cycle.threshold", 100 * _MS, "longer conductor cycles are counted"
)
RECORDER_CYCLE_THRESHOLD = _archive.duration(
    "aeron.archive.recorder.cycle.threshold", 100 * _MS, "longer recorder cycles are counted"
)
REPLAYER_CYCLE_THRESHOLD = _archive.duration(
    "aeron.archive.replayer.cycle.threshold", 100 * _MS, "longer replayer cycles are counted"
)
ERROR_BUFFER_LENGTH = _archive.size(
    "aeron.archive.error.buffer.length", _M, "error log in the mark file, at least 1m"
)
AUTHENTICATOR_SUPPLIER = _archive.choice(
    "aeron.archive.authenticator.supplier", "default", AUTHENTICATORS, "who may connect"
)
AUTHORISATION_SERVICE_SUPPLIER = _archive.choice(
    "aeron.archive.authorisation.service.supplier", "allow", AUTHORISATION_SERVICES,
    "who may do what",
)  # fmt: skip
RECORD_CHECKSUM = _archive.choice(
    "aeron.archive.record.checksum", None, CHECKSUMS, "checksum written into recorded frames"
)
REPLAY_CHECKSUM = _archive.choice(
    "aeron.archive.replay.checksum", None, CHECKSUMS, "checksum verified on replay"
)
_archive.share(DIR, PRINT_CONFIGURATION)

#: Every property of the archive, in the order of the reference page.
ARCHIVE_PROPERTIES: Final = _archive.table

_client = Declare("aeron.archive.")
_client.share(CONTROL_CHANNEL, CONTROL_STREAM_ID)
CONTROL_RESPONSE_CHANNEL = _client.text(
    "aeron.archive.control.response.channel", None, "channel of control responses"
)
CONTROL_RESPONSE_STREAM_ID = _client.integer(
    "aeron.archive.control.response.stream.id", 20, "stream of control responses"
)
_client.share(
    RECORDING_EVENTS_CHANNEL,
    RECORDING_EVENTS_STREAM_ID,
    CONTROL_TERM_BUFFER_LENGTH,
    CONTROL_MTU_LENGTH,
    CONTROL_TERM_BUFFER_SPARSE,
)
MESSAGE_TIMEOUT = _client.duration(
    "aeron.archive.message.timeout", 10 * _S, "time to wait for a response"
)
MESSAGE_RETRY_ATTEMPTS = _client.integer(
    "aeron.archive.message.retry.attempts", 3, "attempts to send a request, at least 1"
)
CLIENT_NAME = _client.text(
    "aeron.archive.client.name", "", "name of the client, at most 100 characters",
    keyword="client_name",
)  # fmt: skip

#: Every property of the archive client, in the order of the reference page.
ARCHIVE_CLIENT_PROPERTIES: Final = _client.table
