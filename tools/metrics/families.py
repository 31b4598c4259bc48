"""Every metric by its name: kind, labels, meaning. The names are a promise.

The page, the dashboard and the tests are made of this table. Units are seconds and bytes; what only
ever grows ends in ``_total``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from aerolog.transport.counters.system_counters import SystemCounter

if TYPE_CHECKING:
    from collections.abc import Mapping


class MetricKind(StrEnum):
    """What a metric is to a database of metrics."""

    GAUGE = "gauge"
    COUNTER = "counter"


class Merge(StrEnum):
    """The rule by which several values of one label set become one."""

    SUM = "sum"
    MAX = "max"
    MIN = "min"


@dataclass(frozen=True, slots=True)
class Family:
    """A metric, with all that is exported beside its values.

    Attributes:
        name: the exported name; that of a counter ends in ``_total``.
        help: what the metric tells, in a line.
        labels: the names of the labels.
        kind: gauge or counter.
        merge: how several values of the same labels become one.
        system: system counters of a driver that it tells -> values of the labels behind the first.
    """

    name: str
    help: str
    labels: tuple[str, ...]
    kind: MetricKind = MetricKind.GAUGE
    merge: Merge = Merge.SUM
    system: Mapping[SystemCounter, tuple[str, ...]] = field(default_factory=dict, hash=False)

    @property
    def unit(self) -> str:
        """Base unit, as its name says: ``seconds``, ``bytes`` or nothing."""
        words = self.name.removesuffix("_total").split("_")
        return words[-1] if words[-1] in {"seconds", "bytes"} else ""


#: The one system counter that a metric tells, or several by the value of its further label.
_System: TypeAlias = SystemCounter | dict[SystemCounter, str]


def _gauge(
    labels: tuple[str, ...],
    name: str,
    text: str,
    *more: str,
    merge: Merge = Merge.SUM,
    system: _System | None = None,
) -> Family:
    return Family(f"aerolog_{name}", text, labels + more, MetricKind.GAUGE, merge, _told(system))


def _counter(labels: tuple[str, ...], name: str, text: str, *more: str) -> Family:
    return Family(f"aerolog_{name}_total", text, labels + more, MetricKind.COUNTER)


# What has the labels of a driver, a stream and so on, with more of its own behind them.
_driver_gauge: Final = partial(_gauge, ("aeron_dir",))
_driver_counter: Final = partial(_counter, ("aeron_dir",))
_stream_gauge: Final = partial(_gauge, ("aeron_dir", "stream_id", "channel"))
_stream_counter: Final = partial(_counter, ("aeron_dir", "stream_id", "channel"))
_archive_gauge: Final = partial(_gauge, ("archive_dir",))
_archive_counter: Final = partial(_counter, ("archive_dir",))
_recorded_gauge: Final = partial(_gauge, ("archive_dir", "stream_id", "channel"))
_recorded_counter: Final = partial(_counter, ("archive_dir", "stream_id", "channel"))
_cluster_gauge: Final = partial(_gauge, ("aeron_dir", "cluster_id"))
_cluster_counter: Final = partial(_counter, ("aeron_dir", "cluster_id"))
_component_gauge: Final = partial(_gauge, ("aeron_dir", "cluster_id", "component"))
_component_counter: Final = partial(_counter, ("aeron_dir", "cluster_id", "component"))
_catalog_gauge: Final = partial(_gauge, ("catalog",))
_exporter_gauge: Final = partial(_gauge, ())


def _system(system: SystemCounter, name: str) -> Family:
    """A counter of a driver that is one of its system counters."""
    return replace(_driver_counter(name, f"{system.meaning}."), system=_told(system))


def _systems(system: dict[SystemCounter, str], name: str, text: str, label: str) -> Family:
    """A counter of a driver that is several of its system counters, by the value of a label."""
    return replace(_driver_counter(name, text, label), system=_told(system))


def _told(system: _System | None) -> dict[SystemCounter, tuple[str, ...]]:
    if system is None:
        return {}
    if isinstance(system, SystemCounter):
        return {system: ()}
    return {counter: (value,) for counter, value in system.items()}


#: Heading -> metrics below it.
SECTIONS: Final[dict[str, tuple[Family, ...]]] = {
    "Drivers": (
        _driver_gauge("driver_up", "1 while the driver gives signs of life, else 0."),
        _driver_gauge(
            "driver_state", "1 for the state that the driver's directory is in.", "state"
        ),
        _driver_gauge("driver_info", "1; versions of the driver.", "version", "cnc_version"),
        _driver_gauge("driver_start_time_seconds", "When the driver started, since 1970."),
        _driver_gauge("driver_heartbeat_age_seconds", "Since the driver's last sign of life."),
        _driver_gauge("driver_counters", "Counters in use."),
        _driver_gauge("driver_clients", "Connected clients."),
        _driver_gauge(
            "driver_channels", "Channel endpoints by direction and status.", "direction", "status"
        ),
        _driver_gauge(
            "driver_mapped_bytes",
            "Bytes that the driver has mapped.",
            system=SystemCounter.BYTES_CURRENTLY_MAPPED,
        ),
        _driver_gauge("driver_streams", "Streams: sessions of publications."),
        _driver_gauge(
            "client_heartbeat_age_seconds",
            "Since the last sign of life of the clients of a name, the longest.",
            "client",
            merge=Merge.MAX,
        ),
    ),
    "Network": (
        _system(SystemCounter.BYTES_SENT, "driver_sent_bytes"),
        _system(SystemCounter.BYTES_RECEIVED, "driver_received_bytes"),
        _system(SystemCounter.RETRANSMITTED_BYTES, "driver_retransmitted_bytes"),
        _system(SystemCounter.NAK_MESSAGES_SENT, "driver_naks_sent"),
        _system(SystemCounter.NAK_MESSAGES_RECEIVED, "driver_naks_received"),
        _system(SystemCounter.STATUS_MESSAGES_SENT, "driver_status_messages_sent"),
        _system(SystemCounter.STATUS_MESSAGES_RECEIVED, "driver_status_messages_received"),
        _system(SystemCounter.STATUS_MESSAGES_REJECTED, "driver_status_messages_rejected"),
        _system(SystemCounter.HEARTBEATS_SENT, "driver_heartbeats_sent"),
        _system(SystemCounter.HEARTBEATS_RECEIVED, "driver_heartbeats_received"),
        _system(SystemCounter.RETRANSMITS_SENT, "driver_retransmits_sent"),
        _system(SystemCounter.RETRANSMIT_OVERFLOW, "driver_retransmit_overflows"),
        _system(SystemCounter.FLOW_CONTROL_UNDER_RUNS, "driver_flow_control_under_runs"),
        _system(SystemCounter.FLOW_CONTROL_OVER_RUNS, "driver_flow_control_over_runs"),
        _system(SystemCounter.SENDER_FLOW_CONTROL_LIMITS, "driver_back_pressure_events"),
        _system(SystemCounter.INVALID_PACKETS, "driver_invalid_packets"),
        _system(SystemCounter.SHORT_SENDS, "driver_short_sends"),
        _system(SystemCounter.LOSS_GAP_FILLS, "driver_loss_gap_fills"),
        _system(SystemCounter.ERROR_FRAMES_SENT, "driver_error_frames_sent"),
        _system(SystemCounter.ERROR_FRAMES_RECEIVED, "driver_error_frames_received"),
        _system(SystemCounter.POSSIBLE_TTL_ASYMMETRY, "driver_ttl_asymmetries"),
        _system(SystemCounter.RESOLUTION_CHANGES, "driver_resolution_changes"),
    ),
    "Agents of a driver": (
        _driver_gauge(
            "driver_cycle_time_max_seconds",
            "Longest duty cycle since the start, by agent.",
            "agent",
            merge=Merge.MAX,
            system={
                SystemCounter.CONDUCTOR_MAX_CYCLE_TIME: "conductor",
                SystemCounter.SENDER_MAX_CYCLE_TIME: "sender",
                SystemCounter.RECEIVER_MAX_CYCLE_TIME: "receiver",
            },
        ),
        _systems(
            {
                SystemCounter.CONDUCTOR_CYCLE_TIME_THRESHOLD_EXCEEDED: "conductor",
                SystemCounter.SENDER_CYCLE_TIME_THRESHOLD_EXCEEDED: "sender",
                SystemCounter.RECEIVER_CYCLE_TIME_THRESHOLD_EXCEEDED: "receiver",
            },
            "driver_cycle_time_exceeded",
            "Duty cycles that took longer than the threshold, by agent.",
            "agent",
        ),
        _driver_gauge(
            "driver_name_resolution_max_seconds",
            "Longest resolution of a name.",
            system=SystemCounter.NAME_RESOLVER_MAX_TIME,
        ),
        _system(
            SystemCounter.NAME_RESOLVER_TIME_THRESHOLD_EXCEEDED, "driver_name_resolution_exceeded"
        ),
        _systems(
            {
                SystemCounter.RECEIVER_PROXY_FAILS: "receiver",
                SystemCounter.SENDER_PROXY_FAILS: "sender",
                SystemCounter.CONDUCTOR_PROXY_FAILS: "conductor",
                SystemCounter.ASYNC_EXECUTOR_PROXY_FAILS: "async executor",
            },
            "driver_failed_offers",
            "Offers to a full queue between agents, by queue.",
            "queue",
        ),
        _driver_gauge(
            "driver_controllable_idle_status",
            "Status of that idle strategy.",
            system=SystemCounter.CONTROLLABLE_IDLE_STRATEGY,
        ),
        _system(SystemCounter.CLIENT_TIMEOUTS, "driver_client_timeouts"),
        _system(SystemCounter.UNBLOCKED_PUBLICATIONS, "driver_unblocked_publications"),
        _system(SystemCounter.UNBLOCKED_COMMANDS, "driver_unblocked_commands"),
        _system(SystemCounter.FREE_FAILS, "driver_failed_frees"),
        _system(SystemCounter.PUBLICATIONS_REVOKED, "driver_publications_revoked"),
        _system(SystemCounter.PUBLICATION_IMAGES_REVOKED, "driver_images_revoked"),
        _system(SystemCounter.IMAGES_REJECTED, "driver_images_rejected"),
    ),
    "Errors and loss": (
        _system(SystemCounter.ERRORS, "driver_errors"),
        _driver_gauge("driver_distinct_errors", "Distinct errors in the log."),
        _driver_counter(
            "driver_logged_errors",
            "Observations of the errors in the log, by their class.",
            "error",
        ),
        _driver_gauge(
            "driver_last_error_time_seconds",
            "When the latest error was observed, since 1970.",
            merge=Merge.MAX,
        ),
        _stream_counter("loss_bytes", "Bytes lost, from the loss report."),
        _stream_counter("loss_observations", "Observations of loss, from the loss report."),
        _stream_gauge(
            "loss_last_time_seconds", "When loss was last observed, since 1970.", merge=Merge.MAX
        ),
    ),
    "Streams": (
        _stream_gauge("stream_sessions", "Sessions of the stream."),
        _stream_gauge("stream_subscribers", "Subscribers' positions in the stream."),
        _stream_counter("stream_published_bytes", "Bytes published, frames included."),
        _stream_counter("stream_sent_bytes", "Bytes of the stream sent."),
        _stream_counter("stream_received_bytes", "Bytes of the stream received."),
        _stream_counter("stream_consumed_bytes", "Bytes consumed by all subscribers."),
        _stream_gauge(
            "stream_subscriber_lag_bytes",
            "How far the slowest subscriber is behind.",
            merge=Merge.MAX,
        ),
        _stream_gauge(
            "stream_publisher_window_bytes",
            "What may be published before back pressure, the least.",
            merge=Merge.MIN,
        ),
        _stream_gauge(
            "stream_sender_window_bytes",
            "What the receivers allow to send, the least.",
            merge=Merge.MIN,
        ),
        _stream_counter("stream_back_pressure_events", "Times the sender had no window."),
        _stream_counter("stream_naks_sent", "Requests to send again, sent."),
        _stream_counter("stream_naks_received", "Requests to send again, received."),
        _stream_gauge(
            "stream_receiver_gap_bytes",
            "From what is complete to the highest position seen, the most.",
            merge=Merge.MAX,
        ),
        _stream_gauge("stream_tracked_receivers", "Receivers that flow control tracks."),
        _stream_gauge(
            "stream_congestion_window_bytes",
            "Window of congestion control, the least.",
            merge=Merge.MIN,
        ),
        _stream_gauge(
            "stream_round_trip_seconds",
            "Round trip that congestion control measured, the longest.",
            merge=Merge.MAX,
        ),
        _stream_gauge(
            "stream_limited_sessions",
            "Sessions by what limits them; nothing is not counted.",
            "limit",
        ),
    ),
    "Archives": (
        _archive_gauge("archive_up", "1 while the archive gives signs of life, else 0."),
        _archive_gauge("archive_state", "1 for the state that the folder is in.", "state"),
        _archive_gauge(
            "archive_info", "1; the archive's id and its driver.", "archive_id", "aeron_dir"
        ),
        _archive_gauge("archive_activity_age_seconds", "Since the last sign of life."),
        _archive_gauge("archive_recordings", "Recordings by state.", "state"),
        _archive_gauge(
            "archive_recordings_without_writer",
            "Recordings that are active in the catalog and are not being written.",
        ),
        _archive_gauge("archive_segments", "Segment files of recordings."),
        _archive_gauge("archive_segment_bytes", "Length of the segment files."),
        _archive_gauge("archive_segment_disk_bytes", "What they take on disk."),
        _archive_gauge("archive_missing_segments", "Segment files that should be there."),
        _archive_gauge("archive_damages", "Places of the catalog that cannot be read."),
        _archive_gauge("archive_disk_bytes", "Size of the file system."),
        _archive_gauge("archive_disk_free_bytes", "What may still be used of it."),
        _archive_counter("archive_errors", "Errors, repeated ones included."),
        _archive_gauge("archive_distinct_errors", "Distinct errors in the log."),
        _archive_counter(
            "archive_logged_errors",
            "Observations of the errors in the log, by their class.",
            "error",
        ),
        _archive_gauge("archive_control_sessions", "Control sessions."),
        _archive_gauge("archive_recording_sessions", "Recordings going on."),
        _archive_gauge("archive_replay_sessions", "Replays going on."),
        _archive_counter("archive_written_bytes", "Bytes recorded."),
        _archive_counter("archive_write_seconds", "Time spent writing."),
        _archive_gauge("archive_write_time_max_seconds", "Longest write.", merge=Merge.MAX),
        _archive_counter("archive_read_bytes", "Bytes replayed."),
        _archive_counter("archive_read_seconds", "Time spent reading."),
        _archive_gauge("archive_read_time_max_seconds", "Longest read.", merge=Merge.MAX),
        _archive_gauge(
            "archive_cycle_time_max_seconds",
            "Longest duty cycle since the start, by agent.",
            "agent",
            merge=Merge.MAX,
        ),
        _archive_counter(
            "archive_cycle_time_exceeded",
            "Duty cycles that took longer than the threshold, by agent.",
            "agent",
        ),
        _recorded_gauge("recording_sessions", "Recordings of the stream going on."),
        _recorded_counter("recording_recorded_bytes", "Bytes of the stream recorded."),
        _recorded_gauge(
            "recording_lag_bytes",
            "How far the recording is behind the stream, the most.",
            merge=Merge.MAX,
        ),
    ),
    "Time, health and retention": (
        _archive_gauge(
            "archive_index_recordings",
            "Recordings by the state of their time index: whole, faulty, missing.",
            "state",
        ),
        _archive_gauge("archive_index_entries", "Entries of all time indexes."),
        _archive_gauge("archive_index_bytes", "Length of the files of time indexes."),
        _archive_gauge(
            "archive_index_behind_bytes",
            "How far an index is behind its recording that is written, the most.",
            merge=Merge.MAX,
        ),
        _archive_counter(
            "archive_index_written_entries", "Entries written since the archive started."
        ),
        _archive_counter(
            "archive_index_lost_notes",
            "Times that found no room on their way to an index: it is less exact there.",
        ),
        _archive_gauge(
            "archive_health_recordings",
            "Recordings by what verification knows of them, the worst of their segments.",
            "state",
        ),
        _archive_gauge(
            "archive_health_segments",
            "Closed segments of verified recordings by what is known of them.",
            "state",
        ),
        _archive_gauge(
            "archive_health_oldest_time_seconds",
            "When the segment was verified whose verification is longest ago, since 1970.",
            merge=Merge.MIN,
        ),
        _archive_counter("archive_verified_bytes", "Bytes that the running archive verified."),
        _archive_counter(
            "archive_verified_segments", "Segments that the running archive verified."
        ),
        _archive_gauge(
            "archive_bad_segments",
            "Segments that the running archive knows to be damaged, changed or gone.",
        ),
        _archive_gauge("archive_waiting_segments", "Segments that are to be verified now."),
        _archive_gauge("archive_retention_running", "1 while a run of retention goes on."),
        _archive_gauge(
            "archive_retention_failed", "1 when the last run did not come to its end, else 0."
        ),
        _archive_gauge(
            "archive_retention_last_time_seconds", "When the last run ended, since 1970."
        ),
        _archive_counter("archive_retention_runs", "Runs of retention."),
        _archive_counter("archive_retention_segments", "Segment files that retention let go."),
        _archive_counter("archive_retention_bytes", "Bytes of these files."),
        _archive_gauge(
            "archive_retention_refused", "Steps of the last run that the archive refused."
        ),
        _archive_gauge(
            "archive_retention_holds",
            "Holds that are in force, and those that have ended.",
            "state",
        ),
    ),
    "Clusters": (
        _cluster_gauge("cluster_module_state", "1 for the state of the consensus module.", "state"),
        _cluster_gauge("cluster_node_role", "1 for what the node is in its cluster.", "role"),
        _cluster_gauge(
            "cluster_election_state",
            "1 for the state of the election, closed when none is under way.",
            "state",
        ),
        _cluster_gauge(
            "cluster_control_toggle",
            "1 for what an operator asks of the cluster, neutral for nothing.",
            "toggle",
        ),
        _cluster_gauge("cluster_sessions", "Open sessions of clients, on the leader."),
        _cluster_gauge(
            "cluster_commit_position_bytes",
            "Position in the log up to which services may read.",
            merge=Merge.MAX,
        ),
        _cluster_gauge("cluster_leadership_term", "Id of the leadership term.", merge=Merge.MAX),
        _cluster_counter("cluster_elections", "Elections since the module started."),
        _cluster_counter("cluster_snapshots", "Snapshots since the module started."),
        _cluster_counter("cluster_client_timeouts", "Sessions that were silent for too long."),
        _cluster_counter(
            "cluster_invalid_requests", "Messages in a session that its client did not send."
        ),
        _component_counter(
            "cluster_errors", "Errors of module and services, repeated ones included."
        ),
        _component_gauge(
            "cluster_cycle_time_max_seconds",
            "Longest duty cycle since the start, by component.",
            merge=Merge.MAX,
        ),
        _component_counter(
            "cluster_cycle_time_exceeded",
            "Duty cycles that took longer than the threshold, by component.",
        ),
        _component_gauge(
            "cluster_snapshot_time_max_seconds",
            "Longest snapshot since the start, of the whole and by service.",
            merge=Merge.MAX,
        ),
        _component_counter(
            "cluster_snapshot_time_exceeded",
            "Snapshots that took longer than the threshold, of the whole and by service.",
        ),
        _component_counter(
            "cluster_missed_messages",
            "Messages that clients missed, as they had gone or did not read, by service.",
        ),
        _component_counter(
            "cluster_egress_wait_seconds",
            "Time for which a service waited for clients that did not read, by service.",
        ),
    ),
    "SQL catalogs": (
        _catalog_gauge("catalog_up", "1 while the database answers, else 0."),
        _catalog_gauge(
            "catalog_recordings", "Recordings by archive and state.", "archive", "state"
        ),
        _catalog_gauge("catalog_recorded_bytes", "Bytes of the recordings.", "archive"),
        _catalog_gauge(
            "catalog_newest_recording_time_seconds",
            "When the newest recording began, since 1970.",
            "archive",
            merge=Merge.MAX,
        ),
    ),
    "The exporter": (
        _exporter_gauge("exporter_info", "1; version of aerolog.", "version"),
        _exporter_gauge("exporter_collect_seconds", "What the last collection took."),
        _exporter_gauge("exporter_label_limit", "How many label sets of a kind are told apart."),
        _exporter_gauge(
            "exporter_overflowed_label_sets",
            "Label sets over the limit, which share the one named other.",
            "source",
            "of",
        ),
    ),
}

#: Name -> metric.
FAMILIES: Final[dict[str, Family]] = {
    family.name: family for listed in SECTIONS.values() for family in listed
}
