"""The options of a service container, checked (spec configuration 15)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Self

from aerolog.archive.client.options import ArchiveClientOptions
from aerolog.archive.client.session_options import read_options
from aerolog.cluster.protocol import semantic_version
from aerolog.cluster.service.event_agent import SEND_TIMEOUT_NS
from aerolog.transport.client.options import LOG, MAX_CLIENT_NAME_LENGTH
from aerolog.transport.concurrent.clock import Clock, SystemClock
from aerolog.transport.config.definition import Declare
from aerolog.transport.config.known_names import STRICT
from aerolog.transport.errors import ChannelUriError, ConfigurationError
from aerolog.transport.time_units import NS_PER_S
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from aerolog.transport.config.sources import Properties

MAX_SERVICE_ID: Final = 9
_ARCHIVE_RESPONSE_STREAM: Final = 120
_ERROR_BUFFER_MIN: Final = 1 << 20

_declare = Declare("aeron.cluster.")

AERON_DIR: Final = _declare.text(
    "aeron.dir", None, "the driver's directory; by default that of this user", keyword="aeron_dir"
)
DRIVER_TIMEOUT: Final = _declare.millis(
    "aeron.driver.timeout", 10_000, "age at which the driver counts as gone, ms",
    keyword="driver_timeout",
)  # fmt: skip
CLUSTER_ID: Final = _declare.integer(
    "aeron.cluster.id", 0, "tells clusters apart that share a driver", keyword="cluster_id"
)
SERVICE_ID: Final = _declare.integer(
    "aeron.cluster.service.id", 0, "number of the service in its node, 0 to 9"
)
SERVICE_NAME: Final = _declare.text(
    "aeron.cluster.service.name", None,
    "shown in threads and the mark file; clustered-service-<cluster id>-<service id> by default",
)  # fmt: skip
SERVICE_CLASS: Final = _declare.text(
    "aeron.cluster.service.class.name", None, "the service, as MODULE:CLASS"
)
REPLAY_CHANNEL: Final = _declare.text(
    "aeron.cluster.replay.channel", "aeron:ipc", "where the archive replays snapshots"
)
REPLAY_STREAM: Final = _declare.integer(
    "aeron.cluster.replay.stream.id", 103, "stream of those replays"
)
CONTROL_CHANNEL: Final = _declare.text(
    "aeron.cluster.control.channel", "aeron:ipc?term-length=128k",
    "between the consensus module and its services",
)  # fmt: skip
SERVICE_STREAM: Final = _declare.integer(
    "aeron.cluster.service.stream.id", 104, "stream from the consensus module to its services"
)
MODULE_STREAM: Final = _declare.integer(
    "aeron.cluster.consensus.module.stream.id", 105, "stream from services to the consensus module"
)
SNAPSHOT_CHANNEL: Final = _declare.text(
    "aeron.cluster.snapshot.channel",
    "aeron:ipc?alias=snapshot",
    "from which snapshots are recorded",
)
SNAPSHOT_STREAM: Final = _declare.integer(
    "aeron.cluster.snapshot.stream.id", 106, "stream of the snapshots"
)
CLUSTER_DIR: Final = _declare.text(
    "aeron.cluster.dir", "aeron-cluster", "the cluster's folder", keyword="cluster_dir"
)
MARK_FILE_DIR: Final = _declare.text(
    "aeron.cluster.mark.file.dir", None, "where the mark file is; the cluster's folder by default"
)
ERROR_BUFFER_LENGTH: Final = _declare.size(
    "aeron.cluster.service.error.buffer.length", _ERROR_BUFFER_MIN,
    "room for errors in the mark file", low=_ERROR_BUFFER_MIN, high=2**31 - 1 - 8192,
)  # fmt: skip
ERROR_HANDLER: Final = _declare.text(
    "aeron.cluster.service.delegating.error.handler", None,
    "what is called with each error, as MODULE:NAME of a function or a class",
    keyword="error_handler",
)  # fmt: skip
RESPONDER: Final = _declare.boolean(
    "aeron.cluster.service.responder", True, "whether the service sends messages to clients"
)
FRAGMENT_LIMIT: Final = _declare.integer(
    "aeron.cluster.log.fragment.limit", 50, "fragments of the log read in one duty cycle"
)
CYCLE_THRESHOLD: Final = _declare.duration(
    "aeron.cluster.service.cycle.threshold", 100_000_000, "duty cycles longer than this are counted"
)
SNAPSHOT_THRESHOLD: Final = _declare.duration(
    "aeron.cluster.service.snapshot.threshold", NS_PER_S,
    "snapshots that take longer than this are counted",
)  # fmt: skip
IDLE_STRATEGY: Final = _declare.text(
    "aeron.cluster.idle.strategy", "backoff", "how the container waits when it has nothing to do"
)
SEND_TIMEOUT: Final = _declare.duration(
    "aerolog.cluster.service.send.timeout", SEND_TIMEOUT_NS,
    "longest wait within a second for all clients that do not read; then they miss messages",
    keyword="send_timeout",
)  # fmt: skip
APP_VERSION: Final = _declare.integer(
    "aerolog.cluster.app.version", semantic_version(0, 0, 1), "version of the service, packed",
    keyword="app_version",
)  # fmt: skip
ARCHIVE_CHANNEL: Final = _declare.text(
    "aeron.archive.local.control.channel", "aeron:ipc", "where the node's archive takes requests",
    keyword="archive_channel",
)  # fmt: skip
ARCHIVE_STREAM: Final = _declare.integer(
    "aeron.archive.local.control.stream.id", 10, "stream of those requests",
    keyword="archive_stream_id",
)  # fmt: skip

PROPERTIES: Final = (*_declare.table, STRICT)


@lru_cache(maxsize=256)
def _tell(warning: str) -> None:
    # A command reads its settings more than once.
    LOG.warning("%s", warning)


@dataclass(slots=True, kw_only=True)
class ServiceContainerOptions:
    """Everything that ``ServiceContainer`` takes, checked; ``of`` reads properties as well.

    Attributes:
        aeron_dir: the driver's directory, None for the default of this user.
        driver_timeout: age at which the driver counts as gone, ms.
        cluster_id: tells clusters apart that share a driver.
        service_id: number of the service in its node, 0 to 9.
        service_name: shown in threads and the mark file.
        service_class_name: the service as ``MODULE:CLASS``, where no service is given.
        cluster_dir: the cluster's folder, which has the mark file.
        error_handler: what is called with each error, as ``MODULE:NAME``; a class is made.
        service_responder: whether the service sends messages to clients.
        log_fragment_limit: how many fragments of the log are read in one duty cycle.
        service_cycle_threshold: duty cycles longer than this are counted, ns.
        service_snapshot_threshold: snapshots that take longer than this are counted, ns.
        send_timeout: longest wait within a second for all clients that do not read, ns; a client
            has half of what is left, and then misses messages until it reads again.
        idle_strategy: how the container waits when it has nothing to do.
        app_version: the application's version, ``major << 16 | minor << 8 | patch``; snapshots and
            terms of another major version end the container.
        archive: options of the archive's client, which snapshots need.
        clock: source of wall-clock and monotonic time; what the service sees is the log's time.
    """

    aeron_dir: str | None = AERON_DIR.default
    driver_timeout: int = DRIVER_TIMEOUT.default
    cluster_id: int = CLUSTER_ID.default
    service_id: int = SERVICE_ID.default
    service_name: str | None = SERVICE_NAME.default
    service_class_name: str | None = SERVICE_CLASS.default
    replay_channel: str = REPLAY_CHANNEL.default
    replay_stream_id: int = REPLAY_STREAM.default
    control_channel: str = CONTROL_CHANNEL.default
    service_stream_id: int = SERVICE_STREAM.default
    consensus_module_stream_id: int = MODULE_STREAM.default
    snapshot_channel: str = SNAPSHOT_CHANNEL.default
    snapshot_stream_id: int = SNAPSHOT_STREAM.default
    cluster_dir: str = CLUSTER_DIR.default
    mark_file_dir: str | None = MARK_FILE_DIR.default
    service_error_buffer_length: int = ERROR_BUFFER_LENGTH.default
    error_handler: str | None = ERROR_HANDLER.default
    service_responder: bool = RESPONDER.default
    log_fragment_limit: int = FRAGMENT_LIMIT.default
    service_cycle_threshold: int = CYCLE_THRESHOLD.default
    service_snapshot_threshold: int = SNAPSHOT_THRESHOLD.default
    send_timeout: int = SEND_TIMEOUT.default
    idle_strategy: str = IDLE_STRATEGY.default
    app_version: int = APP_VERSION.default
    archive_channel: str = ARCHIVE_CHANNEL.default
    archive_stream_id: int = ARCHIVE_STREAM.default
    archive: dict[str, Any] = field(default_factory=dict, repr=False)
    clock: Clock = field(default_factory=SystemClock)

    @classmethod
    def of(cls, *, properties: Properties | None = None, **options: Any) -> Self:
        """Make options: keywords come before properties, and properties before defaults.

        Args:
            properties: values by the reference's property names; the environment when None.
            options: attributes of this class; a value of None counts as not given.

        Raises:
            ConfigurationError: unknown options, or values that cannot be used.
        """
        owner = "a service container"
        return cls(**read_options(PROPERTIES, properties, options, cls.__slots__, owner, _tell))

    def __post_init__(self) -> None:
        if not 0 <= self.service_id <= MAX_SERVICE_ID:
            raise ConfigurationError(
                f"service id {self.service_id} is not in the range 0 to {MAX_SERVICE_ID}"
            )
        if len(self.name) > MAX_CLIENT_NAME_LENGTH:
            raise ConfigurationError(
                f"a service's name has at most {MAX_CLIENT_NAME_LENGTH} characters, not"
                f" {len(self.name)}"
            )
        if self.log_fragment_limit < 1:
            raise ConfigurationError(
                f"log_fragment_limit is at least 1, not {self.log_fragment_limit}"
            )
        for prop, channel in (
            (CONTROL_CHANNEL, self.control_channel),
            (REPLAY_CHANNEL, self.replay_channel),
            (SNAPSHOT_CHANNEL, self.snapshot_channel),
        ):
            try:
                ChannelUri.parse(channel)
            except ChannelUriError as error:
                raise ConfigurationError(f"{prop.name}: {error}") from error

    @property
    def name(self) -> str:
        """The service's name."""
        return self.service_name or f"clustered-service-{self.cluster_id}-{self.service_id}"

    def archive_options(self) -> dict[str, Any]:
        """Options of the client of the node's archive; each service has its own response stream."""
        responses = self.cluster_id * 100 + _ARCHIVE_RESPONSE_STREAM + self.service_id + 1
        options = {
            "request_channel": self.archive_channel,
            "request_stream_id": self.archive_stream_id,
            "response_channel": self.archive_channel,
            "response_stream_id": responses,
            "replay_channel": self.replay_channel,
            "name": self.name,
            "clock": self.clock,
            **self.archive,
        }
        ArchiveClientOptions.of(**options)
        return options
