"""The module's configuration properties (spec configuration 14), read through Settings."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from aerolog.cluster.module.members import Member, parse_members
from aerolog.cluster.protocol import ClusterTimeUnit, semantic_version
from aerolog.transport.config.definition import Declare
from aerolog.transport.config.known_names import STRICT
from aerolog.transport.config.settings import Settings
from aerolog.transport.errors import ChannelUriError, ConfigurationError
from aerolog.transport.events.properties import CLUSTER_EVENT_PROPERTIES
from aerolog.transport.security.plug_ins import AUTHENTICATOR_PLUG_INS, AUTHORISATION_PLUG_INS
from aerolog.transport.time_units import NS_PER_MS as _MS
from aerolog.transport.time_units import NS_PER_S as _S
from aerolog.transport.time_units import NS_PER_US as _US
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aerolog.cluster.module.extension import ConsensusModuleExtension
    from aerolog.transport.config.definition import Property
    from aerolog.transport.config.sources import Properties

_M: Final = 1024 * 1024
SERVICES_MAX: Final = 10
EXTENSION_PLUG_INS: Final = "aerolog.cluster_extensions"
NO_EXTENSION: Final = "none"
HEAP_TIMERS: Final = "heap"
POSITION_KEYS: Final = ("init-term-id", "term-id", "term-offset")
#: Which clocks there are: the reference's names, and the time unit of each.
_CLOCKS: Final = {
    "io.aeron.cluster.MillisecondClusterClock": "MILLIS",
    "io.aeron.cluster.NanosecondClusterClock": "NANOS",
    "MILLIS": "MILLIS",
    "MICROS": "MICROS",
    "NANOS": "NANOS",
}
_UNITS_NS: Final = {"MILLIS": _MS, "MICROS": _US, "NANOS": 1}
_TIMER_SERVICES: Final = {
    "io.aeron.cluster.WheelTimerServiceSupplier": "wheel",
    "io.aeron.cluster.PriorityHeapTimerServiceSupplier": HEAP_TIMERS,
    "wheel": "wheel",
    "heap": HEAP_TIMERS,
}
_AUTHENTICATORS: Final = {
    "none": "default",
    "default": "default",
    "io.aeron.security.DefaultAuthenticatorSupplier": "default",
    "io.aeron.samples.archive.SampleAuthenticatorSupplier": "sample",
}
#: The default allows what members of a backup ask for, and nothing else (spec cluster 22).
DEFAULT_AUTHORISATION: Final = "default"
_AUTHORISATION: Final = {
    "default": "default",
    "ALLOW_ALL": "ALLOW_ALL",
    "DENY_ALL": "DENY_ALL",
    "io.aeron.security.AuthorisationService.ALLOW_ALL": "ALLOW_ALL",
    "io.aeron.security.AuthorisationService.DENY_ALL": "DENY_ALL",
}

_declare = Declare("aeron.cluster.")

AERON_DIR = _declare.text("aeron.dir", "", "directory of the driver", keyword="aeron_dir")
DRIVER_TIMEOUT = _declare.millis(
    "aeron.driver.timeout", 10_000, "age at which the driver counts as gone"
)
CLUSTER_ID = _declare.integer("aeron.cluster.id", 0, "id of the cluster", keyword="cluster_id")
MEMBER_ID = _declare.integer("aeron.cluster.member.id", 0, "id of this member")
APPOINTED_LEADER = _declare.integer(
    "aeron.cluster.appointed.leader.id", -1, "the only member that may lead, -1 for any"
)
MEMBERS = _declare.text(
    "aeron.cluster.members",
    None,
    "members as ID,INGRESS,CONSENSUS,LOG,CATCHUP,ARCHIVE, separated by |",
)
MEMBER_ENDPOINTS = _declare.text(
    "aeron.cluster.member.endpoints", "", "this member's endpoints, which equal those in members"
)
CLUSTER_DIR = _declare.text(
    "aeron.cluster.dir", "aeron-cluster", "folder of the node", keyword="cluster_dir"
)
MARK_FILE_DIR = _declare.text("aeron.cluster.mark.file.dir", None, "folder of the mark file")
SERVICES_DIR = _declare.text(
    "aeron.cluster.services.dir", None, "folder of the services' mark files"
)
INGRESS_CHANNEL = _declare.text("aeron.cluster.ingress.channel", None, "where clients send")
INGRESS_STREAM = _declare.integer("aeron.cluster.ingress.stream.id", 101, "stream of the ingress")
INGRESS_LIMIT = _declare.integer(
    "aeron.cluster.ingress.fragment.limit", 50, "most fragments of ingress in a duty cycle", low=1
)
INGRESS_IPC = _declare.boolean(
    "aeron.cluster.ingress.ipc.allowed", False, "clients of the same driver may use aeron:ipc",
    any_case=True,
)  # fmt: skip
LOG_CHANNEL = _declare.text(
    "aeron.cluster.log.channel", "aeron:udp?term-length=64m", "the log's channel"
)
LOG_STREAM = _declare.integer("aeron.cluster.log.stream.id", 100, "stream of the log")
SNAPSHOT_CHANNEL = _declare.text(
    "aeron.cluster.snapshot.channel", "aeron:ipc?alias=snapshot", "where snapshots are recorded"
)
SNAPSHOT_STREAM = _declare.integer(
    "aeron.cluster.snapshot.stream.id", 107, "stream of the module's snapshots"
)
REPLAY_CHANNEL = _declare.text("aeron.cluster.replay.channel", "aeron:ipc", "for replays")
REPLAY_STREAM = _declare.integer("aeron.cluster.replay.stream.id", 103, "stream of replays")
CONTROL_CHANNEL = _declare.text(
    "aeron.cluster.control.channel",
    "aeron:ipc?term-length=128k",
    "between consensus module and services",
)
MODULE_STREAM = _declare.integer(
    "aeron.cluster.consensus.module.stream.id", 105, "stream from services to the module"
)
SERVICE_STREAM = _declare.integer(
    "aeron.cluster.service.stream.id", 104, "stream from the module to services"
)
CONSENSUS_CHANNEL = _declare.text("aeron.cluster.consensus.channel", "aeron:udp", "between members")
CONSENSUS_STREAM = _declare.integer(
    "aeron.cluster.consensus.stream.id", 108, "stream between members"
)
REPLICATION_CHANNEL = _declare.text(
    "aeron.cluster.replication.channel", None, "where archives of other members are copied to"
)
SERVICE_COUNT = _declare.integer("aeron.cluster.service.count", 1, "services of a node, 0 to 10")
MAX_SESSIONS = _declare.integer(
    "aeron.cluster.max.sessions", 10, "most sessions at a time", keyword="max_sessions"
)
SESSION_TIMEOUT = _declare.duration(
    "aeron.cluster.session.timeout", 10 * _S, "silence after which a session is closed"
)
HEARTBEAT_TIMEOUT = _declare.duration(
    "aeron.cluster.leader.heartbeat.timeout", 10 * _S, "silence after which a leader is gone"
)
HEARTBEAT_INTERVAL = _declare.duration(
    "aeron.cluster.leader.heartbeat.interval", 200 * _MS, "between signs of life of a leader"
)
CANVASS_TIMEOUT = _declare.duration(
    "aeron.cluster.startup.canvass.timeout", 60 * _S, "for all members to come at the start"
)
ELECTION_TIMEOUT = _declare.duration("aeron.cluster.election.timeout", _S, "for a ballot")
ELECTION_INTERVAL = _declare.duration(
    "aeron.cluster.election.status.interval", 100 * _MS, "between messages of an election"
)
TERMINATION_TIMEOUT = _declare.duration(
    "aeron.cluster.termination.timeout", 10 * _S, "for members and services to end"
)
CYCLE_THRESHOLD = _declare.duration(
    "aeron.cluster.cycle.threshold", 100 * _MS, "duty cycles longer than this are counted"
)
SNAPSHOT_THRESHOLD = _declare.duration(
    "aeron.cluster.total.snapshot.threshold", _S, "snapshots longer than this are counted"
)
TICK_RESOLUTION = _declare.duration(
    "aeron.cluster.wheel.tick.resolution",
    8 * _MS,
    "how long a tick of the wheel is; it is rounded up to a power of two",
)
TICKS_PER_WHEEL = _declare.integer(
    "aeron.cluster.ticks.per.wheel", 128, "ticks of the wheel, a power of two", low=1
)
TIMER_SERVICE = _declare.choice(
    "aeron.cluster.timer.service.supplier", "wheel", _TIMER_SERVICES, "how timers are kept"
)
CLUSTER_CLOCK = _declare.choice(
    "aeron.cluster.clock", "MILLIS", _CLOCKS, "the unit of the cluster's time"
)
FILE_SYNC_LEVEL = _declare.integer(
    "aeron.cluster.file.sync.level", 0, "0 none, 1 data, 2 data and metadata", low=0, high=2
)
ERROR_BUFFER_LENGTH = _declare.size(
    "aeron.cluster.error.buffer.length", _M, "bytes of the error log", low=_M
)
IDLE_STRATEGY = _declare.text("aeron.cluster.idle.strategy", "backoff", "when there is no work")
LOG_CONTROL = _declare.boolean(
    "aeron.cluster.log.control.enable", True, "the log is sent from the log endpoint's host"
)
CONSENSUS_CONTROL = _declare.boolean(
    "aeron.cluster.consensus.control.enable", True, "consensus messages are sent from its host"
)
ROLE_NAME = _declare.text(
    "aeron.cluster.consensus.module.agent.role.name", None, "name of the module's thread"
)
EXTENSION = _declare.choice(
    "aeron.cluster.consensus.module.extension", NO_EXTENSION, {NO_EXTENSION: NO_EXTENSION},
    "takes the place of services", plug_ins=EXTENSION_PLUG_INS,
)  # fmt: skip
AUTHENTICATOR = _declare.choice(
    "aeron.cluster.authenticator.supplier", "default", _AUTHENTICATORS, "decides who may connect",
    plug_ins=AUTHENTICATOR_PLUG_INS,
)  # fmt: skip
AUTHORISATION = _declare.choice(
    "aeron.cluster.authorisation.service.supplier", DEFAULT_AUTHORISATION, _AUTHORISATION,
    "decides who may have a snapshot taken", plug_ins=AUTHORISATION_PLUG_INS,
)  # fmt: skip
APP_VERSION = _declare.integer(
    "aerolog.cluster.app.version", semantic_version(0, 0, 1), "version of the services, packed",
    keyword="app_version",
)  # fmt: skip
START_EMPTY = _declare.boolean(
    "aerolog.cluster.start.empty", False,
    "start as an empty cluster where recording.log is empty and the archive holds a log",
    keyword="start_empty",
)  # fmt: skip
ARCHIVE_CHANNEL = _declare.text(
    "aeron.archive.local.control.channel", "aeron:ipc?term-length=64k", "the node's archive",
    keyword="archive_channel",
)  # fmt: skip
ARCHIVE_STREAM = _declare.integer(
    "aeron.archive.local.control.stream.id", 10, "stream of the node's archive",
    keyword="archive_stream_id",
)  # fmt: skip

PROPERTIES: Final = (*_declare.table, *CLUSTER_EVENT_PROPERTIES, STRICT)


def module_folders(properties: Properties, keywords: Mapping[str, Any]) -> tuple[str, str]:
    """Folder and mark file's folder of a module, from settings of which others may be unusable.

    Args:
        properties: settings by the reference's names.
        keywords: settings by keyword, of which those of the two folders are read.
    """
    table = (CLUSTER_DIR, MARK_FILE_DIR)
    names = {prop.keyword for prop in table}
    given = {name: value for name, value in keywords.items() if name in names}
    return _folders(Settings(table, properties, given))


def _folders(settings: Settings) -> tuple[str, str]:
    folder = os.path.realpath(settings[CLUSTER_DIR])
    return folder, _folder(settings[MARK_FILE_DIR], folder)


class ModuleConfig:
    """The values of all properties of a consensus module, checked (spec cluster 20).

    Args:
        properties: settings by the reference's names; those of the environment when None.
        keywords: settings by keyword; ``extension`` is an object, which overrides the property.

    Attributes:
        extension: the ``ConsensusModuleExtension`` that was given, None without one.
        settings: the values; ``config[PROPERTY]`` reads one.
        cluster_dir: absolute path of the node's folder, as are mark_file_dir and services_dir.
        members: all members by their ids.
        member: this member.
        time_unit: the unit of the cluster's time.
        time_unit_ns: the same in nanoseconds.
    """

    def __init__(
        self,
        properties: Properties | None = None,
        keywords: Mapping[str, Any] | None = None,
    ) -> None:
        given = dict(keywords or {})
        self.extension: ConsensusModuleExtension | None = given.pop("extension", None)
        self.settings = settings = Settings(PROPERTIES, properties, given)
        self.cluster_dir, self.mark_file_dir = _folders(settings)
        self.services_dir = _folder(settings[SERVICES_DIR], self.cluster_dir)
        self.members = parse_members(settings[MEMBERS] or "")
        self.member = self._own_member()
        self.time_unit = ClusterTimeUnit[settings[CLUSTER_CLOCK]]
        self.time_unit_ns = _UNITS_NS[self.time_unit.name]
        self._check_numbers()
        self._check_channels()

    def __getitem__(self, prop: Any) -> Any:
        return self.settings[prop]

    def _own_member(self) -> Member:
        if not self.members:
            raise ConfigurationError("ClusterMembers must be set: aeron.cluster.members")
        member_id = self.settings[MEMBER_ID]
        if member_id not in self.members:
            raise ConfigurationError(
                f"memberId={member_id} not found in: {self.settings[MEMBERS]}: set"
                " aeron.cluster.member.id to one of them"
            )
        member = self.members[member_id]
        stated = self.settings[MEMBER_ENDPOINTS]
        if stated and stated != member.endpoints:
            raise ConfigurationError(
                f"memberEndpoints={stated} differ from those in the members: {member.endpoints}"
            )
        return member

    def _check_numbers(self) -> None:
        services = self.settings[SERVICE_COUNT]
        if self.extension is not None or self.settings[EXTENSION] != NO_EXTENSION:
            if services != 0:
                raise ConfigurationError(
                    "service count must be zero when ConsensusModuleExtension is enabled: set"
                    " aeron.cluster.service.count=0"
                )
        elif not 1 <= services <= SERVICES_MAX:
            raise ConfigurationError(
                f"service count {services}: a node has 1 to {SERVICES_MAX} services, and none only"
                f" with an extension of the module: set {SERVICE_COUNT.name} or {EXTENSION.name}"
            )
        ticks = self.settings[TICKS_PER_WHEEL]
        if ticks & (ticks - 1):
            raise ConfigurationError(f"{TICKS_PER_WHEEL.name}: {ticks} is no power of two")
        canvass, heartbeat = self.settings[CANVASS_TIMEOUT], self.settings[HEARTBEAT_TIMEOUT]
        if heartbeat == 0 or canvass // heartbeat < 2:
            raise ConfigurationError(
                f"startupCanvassTimeoutNs={canvass} must be a multiple of"
                f" leaderHeartbeatTimeoutNs={heartbeat}, and at least twice that"
            )

    def _check_channels(self) -> None:
        settings = self.settings
        log = self._channel(LOG_CHANNEL)
        for key in POSITION_KEYS:
            if key in log:
                raise ConfigurationError(f"logChannel must not contain: {key}")
        if not settings[INGRESS_CHANNEL]:
            raise ConfigurationError("ingressChannel must be specified")
        if not settings[REPLICATION_CHANNEL]:
            raise ConfigurationError("replicationChannel must be specified")
        for prop in (
            INGRESS_CHANNEL,
            REPLICATION_CHANNEL,
            CONSENSUS_CHANNEL,
            SNAPSHOT_CHANNEL,
            REPLAY_CHANNEL,
        ):
            self._channel(prop)
        if not self._channel(CONTROL_CHANNEL).is_ipc:
            raise ConfigurationError(
                f"controlChannel must be IPC media: uri={settings[CONTROL_CHANNEL]}"
            )
        if not self._channel(ARCHIVE_CHANNEL).is_ipc:
            raise ConfigurationError(
                f"local archive control must be IPC: uri={settings[ARCHIVE_CHANNEL]}"
            )

    def _channel(self, prop: Property[Any]) -> ChannelUri:
        try:
            return ChannelUri.parse(self.settings[prop])
        except ChannelUriError as error:
            raise ConfigurationError(
                f"{prop.name}: {error} ({self.settings.source(prop)})"
            ) from error


def _folder(given: str | None, default: str) -> str:
    return os.path.realpath(given) if given else default
