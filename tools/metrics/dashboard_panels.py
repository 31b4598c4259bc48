"""What the dashboard shows: rows of panels, each a few queries over the metrics of ``families``."""

from __future__ import annotations

from typing import Final, NamedTuple

#: How Grafana names units.
_BYTES: Final = "bytes"
_BYTES_PER_SECOND: Final = "Bps"
_PER_SECOND: Final = "cps"
_SECONDS: Final = "s"
_COUNT: Final = "short"

_D: Final = '{aeron_dir=~"$aeron_dir"}'
_A: Final = '{archive_dir=~"$archive_dir"}'
_C: Final = '{catalog=~"$catalog"}'
_RATE: Final = "[$__rate_interval]"


class Panel(NamedTuple):
    """A panel: its queries with their legends.

    Attributes:
        title: above it.
        unit: the unit of the values, as Grafana names it.
        queries: PromQL and legend.
        width: columns that the panel takes of 24.
        kind: the kind of the panel, as Grafana names it.
    """

    title: str
    unit: str
    queries: tuple[tuple[str, str], ...]
    width: int
    kind: str


def _panel(
    title: str, unit: str, *queries: tuple[str, str], width: int = 8, kind: str = "timeseries"
) -> Panel:
    return Panel(title, unit, queries, width, kind)


def _rate(name: str, where: str = _D, by: str = "aeron_dir") -> str:
    return f"sum by ({by}) (rate(aerolog_{name}_total{where}{_RATE}))"


_UNSOUND: Final = '{archive_dir=~"$archive_dir", state!="sound"}'
_INACTIVE: Final = '{aeron_dir=~"$aeron_dir", status!="active"}'
_WRITE_TIME: Final = _rate("archive_write_seconds", _A, "archive_dir")
_WRITTEN: Final = _rate("archive_written_bytes", _A, "archive_dir")
_NOT_CLOSED: Final = '{aeron_dir=~"$aeron_dir", state!="closed"}'
_COMPONENT: Final = "cluster_id, component"
_COMMITTED: Final = f"deriv(aerolog_cluster_commit_position_bytes{_D}{_RATE})"
_PART: Final = "{{component}} cluster {{cluster_id}}"
_STREAM: Final = "stream_id, channel"
_LEGEND: Final = "{{stream_id}} {{channel}}"

#: Heading of a row -> its panels.
ROWS: Final[dict[str, tuple[Panel, ...]]] = {
    "Is everything there": (
        _panel(
            "Drivers", _COUNT, (f"aerolog_driver_up{_D}", "{{aeron_dir}}"), width=6, kind="stat"
        ),
        _panel(
            "Archives", _COUNT, (f"aerolog_archive_up{_A}", "{{archive_dir}}"), width=6, kind="stat"
        ),
        _panel(
            "Signs of life",
            _SECONDS,
            (f"aerolog_driver_heartbeat_age_seconds{_D}", "driver {{aeron_dir}}"),
            (f"aerolog_archive_activity_age_seconds{_A}", "archive {{archive_dir}}"),
            (f"max by (client) (aerolog_client_heartbeat_age_seconds{_D})", "client {{client}}"),
            width=12,
        ),
        _panel(
            "Errors",
            _PER_SECOND,
            (_rate("driver_errors"), "driver {{aeron_dir}}"),
            (_rate("archive_errors", _A, "archive_dir"), "archive {{archive_dir}}"),
        ),
        _panel(
            "Errors in the logs",
            _COUNT,
            (f"sum by (error) (aerolog_driver_logged_errors_total{_D})", "driver {{error}}"),
            (f"sum by (error) (aerolog_archive_logged_errors_total{_A})", "archive {{error}}"),
        ),
        _panel(
            "Label sets over the limit",
            _COUNT,
            ("sum by (source, of) (aerolog_exporter_overflowed_label_sets)", "{{source}} {{of}}"),
        ),
    ),
    "Network": (
        _panel(
            "Bytes",
            _BYTES_PER_SECOND,
            (_rate("driver_sent_bytes"), "sent {{aeron_dir}}"),
            (_rate("driver_received_bytes"), "received {{aeron_dir}}"),
            (_rate("driver_retransmitted_bytes"), "sent again {{aeron_dir}}"),
        ),
        _panel(
            "Loss and repair",
            _PER_SECOND,
            (_rate("driver_naks_sent"), "NAKs sent {{aeron_dir}}"),
            (_rate("driver_naks_received"), "NAKs received {{aeron_dir}}"),
            (_rate("driver_retransmits_sent"), "retransmits {{aeron_dir}}"),
            (_rate("driver_loss_gap_fills"), "gaps filled {{aeron_dir}}"),
        ),
        _panel(
            "Trouble",
            _PER_SECOND,
            (_rate("driver_back_pressure_events"), "back pressure {{aeron_dir}}"),
            (_rate("driver_short_sends"), "short sends {{aeron_dir}}"),
            (_rate("driver_invalid_packets"), "invalid packets {{aeron_dir}}"),
            (_rate("driver_flow_control_over_runs"), "over runs {{aeron_dir}}"),
        ),
        _panel("Bytes lost", _BYTES_PER_SECOND, (_rate("loss_bytes", by=_STREAM), _LEGEND)),
        _panel(
            "Channels that are not active",
            _COUNT,
            (
                f"sum by (direction, status) (aerolog_driver_channels{_INACTIVE})",
                "{{direction}} {{status}}",
            ),
        ),
        _panel(
            "Clients",
            _COUNT,
            (f"aerolog_driver_clients{_D}", "{{aeron_dir}}"),
            (_rate("driver_client_timeouts"), "timed out {{aeron_dir}}"),
        ),
    ),
    "Streams": (
        _panel(
            "Published", _BYTES_PER_SECOND, (_rate("stream_published_bytes", by=_STREAM), _LEGEND)
        ),
        _panel(
            "Received", _BYTES_PER_SECOND, (_rate("stream_received_bytes", by=_STREAM), _LEGEND)
        ),
        _panel(
            "Consumed", _BYTES_PER_SECOND, (_rate("stream_consumed_bytes", by=_STREAM), _LEGEND)
        ),
        _panel(
            "Behind: the slowest subscriber",
            _BYTES,
            (f"max by ({_STREAM}) (aerolog_stream_subscriber_lag_bytes{_D})", _LEGEND),
        ),
        _panel(
            "What may still be published",
            _BYTES,
            (f"min by ({_STREAM}) (aerolog_stream_publisher_window_bytes{_D})", _LEGEND),
        ),
        _panel(
            "What limits sessions",
            _COUNT,
            (f"sum by (limit) (aerolog_stream_limited_sessions{_D})", "{{limit}}"),
        ),
    ),
    "Agents": (
        _panel(
            "Longest duty cycle",
            _SECONDS,
            (f"aerolog_driver_cycle_time_max_seconds{_D}", "{{agent}} {{aeron_dir}}"),
            (f"aerolog_archive_cycle_time_max_seconds{_A}", "archive {{agent}} {{archive_dir}}"),
        ),
        _panel(
            "Duty cycles over the threshold",
            _PER_SECOND,
            (_rate("driver_cycle_time_exceeded", by="agent"), "{{agent}}"),
            (_rate("archive_cycle_time_exceeded", _A, "agent"), "archive {{agent}}"),
        ),
        _panel(
            "Offers to a full queue",
            _PER_SECOND,
            (_rate("driver_failed_offers", by="queue"), "{{queue}}"),
        ),
    ),
    "Archives": (
        _panel(
            "Recorded and replayed",
            _BYTES_PER_SECOND,
            (_rate("archive_written_bytes", _A, "archive_dir"), "recorded {{archive_dir}}"),
            (_rate("archive_read_bytes", _A, "archive_dir"), "replayed {{archive_dir}}"),
        ),
        _panel(
            "Recorded, by stream",
            _BYTES_PER_SECOND,
            (_rate("recording_recorded_bytes", _A, _STREAM), _LEGEND),
        ),
        _panel(
            "Recordings behind their streams",
            _BYTES,
            (f"max by ({_STREAM}) (aerolog_recording_lag_bytes{_A})", _LEGEND),
        ),
        _panel(
            "Recordings",
            _COUNT,
            (f"aerolog_archive_recordings{_A}", "{{state}} {{archive_dir}}"),
            (f"aerolog_archive_recordings_without_writer{_A}", "no writer {{archive_dir}}"),
        ),
        _panel(
            "Sessions",
            _COUNT,
            (f"aerolog_archive_control_sessions{_A}", "control {{archive_dir}}"),
            (f"aerolog_archive_recording_sessions{_A}", "recording {{archive_dir}}"),
            (f"aerolog_archive_replay_sessions{_A}", "replay {{archive_dir}}"),
        ),
        _panel(
            "Disk",
            "percentunit",
            (
                f"1 - aerolog_archive_disk_free_bytes{_A} / aerolog_archive_disk_bytes{_A}",
                "in use {{archive_dir}}",
            ),
        ),
        _panel(
            "Segment files",
            _BYTES,
            (f"aerolog_archive_segment_bytes{_A}", "length {{archive_dir}}"),
            (f"aerolog_archive_segment_disk_bytes{_A}", "on disk {{archive_dir}}"),
        ),
        _panel(
            "Time of a write",
            _SECONDS,
            (f"{_WRITE_TIME} / {_WRITTEN} * 1048576", "of 1 MiB {{archive_dir}}"),
            (f"aerolog_archive_write_time_max_seconds{_A}", "longest {{archive_dir}}"),
        ),
        _panel(
            "Damage",
            _COUNT,
            (f"aerolog_archive_missing_segments{_A}", "segments missing {{archive_dir}}"),
            (f"aerolog_archive_damages{_A}", "catalog unreadable {{archive_dir}}"),
        ),
    ),
    "Time, health and retention": (
        _panel(
            "Time indexes",
            _COUNT,
            (
                f"sum by (state, archive_dir) (aerolog_archive_index_recordings{_A})",
                "{{state}} {{archive_dir}}",
            ),
        ),
        _panel(
            "Indexes behind their recordings",
            _BYTES,
            (f"aerolog_archive_index_behind_bytes{_A}", "{{archive_dir}}"),
        ),
        _panel(
            "Length of the indexes", _BYTES, (f"aerolog_archive_index_bytes{_A}", "{{archive_dir}}")
        ),
        _panel(
            "Recordings that are not sound",
            _COUNT,
            (f"sum by (state) (aerolog_archive_health_recordings{_UNSOUND})", "{{state}}"),
        ),
        _panel(
            "Closed segments",
            _COUNT,
            (f"sum by (state) (aerolog_archive_health_segments{_A})", "{{state}}"),
        ),
        _panel(
            "Since the oldest verification",
            _SECONDS,
            (f"time() - aerolog_archive_health_oldest_time_seconds{_A}", "{{archive_dir}}"),
        ),
        _panel(
            "Verified",
            _BYTES_PER_SECOND,
            (_rate("archive_verified_bytes", _A, "archive_dir"), "{{archive_dir}}"),
        ),
        _panel(
            "Segments of a verifying archive",
            _COUNT,
            (f"aerolog_archive_bad_segments{_A}", "bad {{archive_dir}}"),
            (f"aerolog_archive_waiting_segments{_A}", "to verify {{archive_dir}}"),
        ),
        _panel(
            "Index entries",
            _PER_SECOND,
            (_rate("archive_index_written_entries", _A, "archive_dir"), "{{archive_dir}}"),
            (_rate("archive_index_lost_notes", _A, "archive_dir"), "lost {{archive_dir}}"),
        ),
        _panel(
            "Let go by retention",
            _BYTES_PER_SECOND,
            (_rate("archive_retention_bytes", _A, "archive_dir"), "{{archive_dir}}"),
        ),
        _panel(
            "Since the last run of retention",
            _SECONDS,
            (f"time() - aerolog_archive_retention_last_time_seconds{_A}", "{{archive_dir}}"),
        ),
        _panel(
            "Retention",
            _COUNT,
            (f"aerolog_archive_retention_failed{_A}", "failed {{archive_dir}}"),
            (f"aerolog_archive_retention_refused{_A}", "steps refused {{archive_dir}}"),
            (f"aerolog_archive_retention_holds{_A}", "holds {{state}} {{archive_dir}}"),
        ),
    ),
    "Clusters": (
        _panel(
            "State and role",
            _COUNT,
            (f"aerolog_cluster_module_state{_D}", "{{state}} cluster {{cluster_id}}"),
            (f"aerolog_cluster_node_role{_D}", "{{role}} cluster {{cluster_id}}"),
            (
                f"aerolog_cluster_election_state{_NOT_CLOSED}",
                "election {{state}} cluster {{cluster_id}}",
            ),
        ),
        _panel(
            "Sessions and term",
            _COUNT,
            (f"aerolog_cluster_sessions{_D}", "sessions cluster {{cluster_id}}"),
            (f"aerolog_cluster_leadership_term{_D}", "term cluster {{cluster_id}}"),
        ),
        _panel(
            "Log",
            _BYTES_PER_SECOND,
            (f"sum by (cluster_id) ({_COMMITTED})", "committed cluster {{cluster_id}}"),
        ),
        _panel(
            "Longest cycles and snapshots",
            _SECONDS,
            (
                f"aerolog_cluster_cycle_time_max_seconds{_D}",
                "cycle {{component}} cluster {{cluster_id}}",
            ),
            (
                f"aerolog_cluster_snapshot_time_max_seconds{_D}",
                "snapshot {{component}} cluster {{cluster_id}}",
            ),
        ),
        _panel(
            "Over the threshold",
            _PER_SECOND,
            (_rate("cluster_cycle_time_exceeded", by=_COMPONENT), f"cycles {_PART}"),
            (_rate("cluster_snapshot_time_exceeded", by=_COMPONENT), f"snapshots {_PART}"),
        ),
        _panel(
            "Errors, timeouts and elections",
            _PER_SECOND,
            (_rate("cluster_errors", by=_COMPONENT), f"errors {_PART}"),
            (_rate("cluster_client_timeouts", by="cluster_id"), "timeouts cluster {{cluster_id}}"),
            (_rate("cluster_missed_messages", by=_COMPONENT), f"missed {_PART}"),
            (_rate("cluster_elections", by="cluster_id"), "elections cluster {{cluster_id}}"),
        ),
    ),
    "SQL catalogs": (
        _panel(
            "Catalogs", _COUNT, (f"aerolog_catalog_up{_C}", "{{catalog}}"), width=6, kind="stat"
        ),
        _panel(
            "Recordings known",
            _COUNT,
            (f"sum by (archive, state) (aerolog_catalog_recordings{_C})", "{{state}} {{archive}}"),
            width=9,
        ),
        _panel(
            "Bytes known",
            _BYTES,
            (f"sum by (archive) (aerolog_catalog_recorded_bytes{_C})", "{{archive}}"),
            width=9,
        ),
    ),
}
