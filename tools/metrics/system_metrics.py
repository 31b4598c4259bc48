"""Which metric each of a driver's system counters is (spec counters 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from aerolog.tools.views.counters_snapshot import SYSTEM_COUNTER

if TYPE_CHECKING:
    from aerolog.tools.metrics.samples import Samples
    from aerolog.tools.views.counters_snapshot import CountersSnapshot

_NS: Final = 1e-9


class _Of(NamedTuple):
    """A metric, the values of its further labels, and its unit in that of the counter."""

    name: str
    labels: tuple[str, ...] = ()
    scale: float = 1


#: Value is the driver's version; told by driver_info.
SOFTWARE_VERSION: Final = 34

SYSTEM_METRICS: Final[dict[int, _Of]] = {
    0: _Of("driver_sent_bytes_total"),
    1: _Of("driver_received_bytes_total"),
    2: _Of("driver_failed_offers_total", ("receiver",)),
    3: _Of("driver_failed_offers_total", ("sender",)),
    4: _Of("driver_failed_offers_total", ("conductor",)),
    5: _Of("driver_naks_sent_total"),
    6: _Of("driver_naks_received_total"),
    7: _Of("driver_status_messages_sent_total"),
    8: _Of("driver_status_messages_received_total"),
    9: _Of("driver_heartbeats_sent_total"),
    10: _Of("driver_heartbeats_received_total"),
    11: _Of("driver_retransmits_sent_total"),
    12: _Of("driver_flow_control_under_runs_total"),
    13: _Of("driver_flow_control_over_runs_total"),
    14: _Of("driver_invalid_packets_total"),
    15: _Of("driver_errors_total"),
    16: _Of("driver_short_sends_total"),
    17: _Of("driver_failed_frees_total"),
    18: _Of("driver_back_pressure_events_total"),
    19: _Of("driver_unblocked_publications_total"),
    20: _Of("driver_unblocked_commands_total"),
    21: _Of("driver_ttl_asymmetries_total"),
    22: _Of("driver_controllable_idle_status"),
    23: _Of("driver_loss_gap_fills_total"),
    24: _Of("driver_client_timeouts_total"),
    25: _Of("driver_resolution_changes_total"),
    26: _Of("driver_cycle_time_max_seconds", ("conductor",), _NS),
    27: _Of("driver_cycle_time_exceeded_total", ("conductor",)),
    28: _Of("driver_cycle_time_max_seconds", ("sender",), _NS),
    29: _Of("driver_cycle_time_exceeded_total", ("sender",)),
    30: _Of("driver_cycle_time_max_seconds", ("receiver",), _NS),
    31: _Of("driver_cycle_time_exceeded_total", ("receiver",)),
    32: _Of("driver_name_resolution_max_seconds", (), _NS),
    33: _Of("driver_name_resolution_exceeded_total"),
    35: _Of("driver_mapped_bytes"),
    36: _Of("driver_retransmitted_bytes_total"),
    37: _Of("driver_retransmit_overflows_total"),
    38: _Of("driver_error_frames_received_total"),
    39: _Of("driver_error_frames_sent_total"),
    40: _Of("driver_publications_revoked_total"),
    41: _Of("driver_images_revoked_total"),
    42: _Of("driver_images_rejected_total"),
    44: _Of("driver_status_messages_rejected_total"),
    45: _Of("driver_failed_offers_total", ("async executor",)),
}


def add_system_metrics(samples: Samples, aeron_dir: str, snapshot: CountersSnapshot) -> None:
    """Adds what the system counters say; one that a driver does not have is left out."""
    for counter_id, metric in SYSTEM_METRICS.items():
        row = snapshot.row_of(counter_id)
        if row is not None and snapshot.type_ids[row] == SYSTEM_COUNTER:
            value = max(snapshot.values[row], 0) * metric.scale
            samples.add(metric.name, value, aeron_dir, *metric.labels)


def driver_version(snapshot: CountersSnapshot) -> str:
    """The driver's version as major.minor.patch, nothing when it has no counter for it."""
    packed = snapshot.system(SOFTWARE_VERSION)
    return f"{packed >> 16 & 0xFF}.{packed >> 8 & 0xFF}.{packed & 0xFF}" if packed > 0 else ""
