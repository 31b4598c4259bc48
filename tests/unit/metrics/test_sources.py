"""What drivers, archives and catalogs give: alive, away, back again, damaged."""

from __future__ import annotations

import os
import shutil
import struct
import time
from typing import TYPE_CHECKING

import pytest
from live_archive import CHANNEL, STREAM_ID, archiving, until

from aerolog.archive.client import AeronArchive
from aerolog.archive.format.layout import CATALOG_NAME
from aerolog.cluster.counter_types import ClusterCounterType
from aerolog.testing.recordings import RecordingBuilder
from aerolog.tools.metrics.metrics_exporter import Exporter, MetricSources
from aerolog.transport.client import Aeron
from aerolog.transport.concurrent.clock import SystemClock
from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.memory.cnc import CncFile
from aerolog.transport.memory.cnc_header import CncHeader, CncLengths
from aerolog.transport.memory.filesystem import RealFileSystem
from aerolog.transport.memory.loss_report import FILE_NAME, LossReport
from aerolog.transport.memory.mapped_file import MappedFile

if TYPE_CHECKING:
    from pathlib import Path

LENGTHS = CncLengths(1024 + 768, 1024 + 128, 512 * 4 * 128, 128 * 128, 4096)
Values = dict[tuple[str, ...], float]


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def collect(exporter: Exporter) -> dict[str, Values]:
    return {one.family.name.removeprefix("aerolog_"): one.values for one in exporter.collect()}


class Driver:
    """The files of a driver that never ran, alive for an hour unless told otherwise."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        header = CncHeader(LENGTHS, 10_000_000_000, now_ms(), os.getpid())
        self.cnc = CncFile.create(RealFileSystem(), str(folder), header)
        self.beat(-3_600_000)
        self.cnc.publish()
        self.counters = self.cnc.counters_manager(SystemClock())

    def beat(self, age_ms: int) -> None:
        self.cnc.to_driver.consumer_heartbeat_ms = now_ms() - age_ms

    def end(self) -> None:
        self.cnc.to_driver.consumer_heartbeat_ms = -1


def state_of(found: dict[str, Values], kind: str, where: Path) -> tuple[float, str]:
    up = found[f"{kind}_up"][str(where),]
    ((_, state),) = found[f"{kind}_state"]
    return up, state


def test_a_running_driver_and_archive(home: Path, tmp_path: Path) -> None:
    folder, directory = tmp_path / "archive", home / "aeron"
    watched = MetricSources((str(directory),), (str(folder),), interval_s=1e-9)
    where, stream = str(directory), (str(STREAM_ID), "aeron:ipc")
    with (
        archiving(directory, folder, "aeron.archive.id=4711") as service,
        Aeron(service.aeron_dir) as aeron,
        AeronArchive(aeron) as archive,
        Exporter(watched) as exporter,
    ):
        archive.start_recording(CHANNEL, STREAM_ID)
        with aeron.add_exclusive_publication(CHANNEL, STREAM_ID) as publication:
            publication.wait_connected(30, writable=True)
            until(lambda: archive.list_recording(0) is not None)
            for _ in range(70):
                publication.send(bytes(1000), timeout=30)
            end = publication.position
            until(lambda: archive.recording_position(0) == end)
            settled = {
                "stream_published_bytes_total": (where, *stream),
                "stream_consumed_bytes_total": (where, *stream),
                "recording_recorded_bytes_total": (str(folder), *stream),
            }
            # Counters are written one after the other, and the publisher's is a sample.
            until(
                lambda: (
                    (found := collect(exporter))
                    and all(found[name].get(one) == end for name, one in settled.items())
                    and found["archive_written_bytes_total"][str(folder),] > 70 * 1000
                ),
                f"positions of {end}",
            )

            found = collect(exporter)

            assert state_of(found, "driver", directory) == (1, "alive")
            assert state_of(found, "archive", folder) == (1, "alive")
            assert found["driver_info"] == {(where, "1.51.0", "0.2.0"): 1}
            assert found["archive_info"] == {(str(folder), "4711", where): 1}
            assert found["driver_clients"][where,] == 2
            assert found["driver_heartbeat_age_seconds"][where,] < 10
            assert found["stream_subscriber_lag_bytes"][where, *stream] == 0
            assert found["recording_lag_bytes"][str(folder), *stream] == 0
            assert found["archive_recordings"][str(folder), "active"] == 1
            assert found["archive_recordings_without_writer"][str(folder),] == 0
            assert found["archive_segments"][str(folder),] == len(list(folder.glob("*.rec")))
            assert found["archive_recording_sessions"][str(folder),] == 1
            assert found["archive_disk_free_bytes"][str(folder),] > 0
            assert found["driver_errors_total"] == {(where,): 0}
        until(lambda: archive.stop_position(0) == end)
        until(lambda: "recording_sessions" not in collect(exporter), "the end of the recording")
        assert collect(exporter)["archive_recordings"][str(folder), "stopped"] == 1

    with Exporter(watched) as exporter:
        found = collect(exporter)
    assert state_of(found, "archive", folder) == (0, "closed")
    assert found["archive_recordings"][str(folder), "stopped"] == 1
    assert found["archive_missing_segments"][str(folder),] == 0


def test_a_driver_that_goes_and_comes_back(home: Path) -> None:
    directory = home / "aeron"
    with Exporter(MetricSources((str(directory),))) as exporter:
        assert state_of(collect(exporter), "driver", directory) == (0, "missing")

        driver = Driver(directory)
        counter = driver.counters.allocate(CounterType.SYSTEM, "Bytes sent", b"", value=77)
        assert counter == 0
        found = collect(exporter)
        assert state_of(found, "driver", directory) == (1, "alive")
        assert found["driver_sent_bytes_total"][str(directory),] == 77

        driver.beat(60_000)
        found = collect(exporter)
        assert state_of(found, "driver", directory) == (0, "dead")
        assert found["driver_heartbeat_age_seconds"][str(directory),] >= 60
        assert "driver_sent_bytes_total" not in found

        driver.end()
        found = collect(exporter)
        assert state_of(found, "driver", directory) == (0, "closed")
        assert "driver_heartbeat_age_seconds" not in found

        shutil.rmtree(directory)
        assert state_of(collect(exporter), "driver", directory) == (0, "missing")

        Driver(directory).counters.allocate(CounterType.SYSTEM, "Bytes sent", b"", value=5)
        found = collect(exporter)
        assert state_of(found, "driver", directory) == (1, "alive")
        assert found["driver_sent_bytes_total"][str(directory),] == 5


def test_clusters_of_a_driver(home: Path) -> None:
    driver = Driver(home / "aeron")

    def add(type_id: int, value: int, *ids: int) -> None:
        driver.counters.allocate(
            type_id, "of a cluster", struct.pack(f"<{len(ids)}i", *ids), value=value
        )

    for type_id, value in {
        ClusterCounterType.MODULE_STATE: 1,
        ClusterCounterType.NODE_ROLE: 2,
        ClusterCounterType.CONTROL_TOGGLE: 1,
        ClusterCounterType.COMMIT_POSITION: 4_096,
        ClusterCounterType.SNAPSHOT_COUNT: 3,
        ClusterCounterType.ELECTION_STATE: 17,
        ClusterCounterType.MODULE_ERRORS: 1,
        ClusterCounterType.TIMED_OUT_CLIENTS: 2,
        ClusterCounterType.INVALID_REQUESTS: 5,
        ClusterCounterType.MODULE_MAX_CYCLE: 10**9,
        ClusterCounterType.MODULE_CYCLES_EXCEEDED: 4,
        ClusterCounterType.MODULE_MAX_SNAPSHOT: 2 * 10**9,
        ClusterCounterType.MODULE_SNAPSHOTS_EXCEEDED: 6,
        ClusterCounterType.ELECTION_COUNT: 7,
        ClusterCounterType.LEADERSHIP_TERM: 8,
    }.items():
        add(type_id, value, 9)
    for type_id, value in {
        ClusterCounterType.SERVICE_ERRORS: 11,
        ClusterCounterType.SERVICE_MAX_CYCLE: 3 * 10**9,
        ClusterCounterType.SERVICE_CYCLES_EXCEEDED: 12,
        ClusterCounterType.SERVICE_MAX_SNAPSHOT: 4 * 10**9,
        ClusterCounterType.SERVICE_SNAPSHOTS_EXCEEDED: 13,
        ClusterCounterType.SERVICE_MISSED: 14,
        ClusterCounterType.SERVICE_EGRESS_WAIT: 5 * 10**9,
    }.items():
        add(type_id, value, 9, 0)
    for session_id in (1, 2):
        driver.counters.allocate(
            ClusterCounterType.SESSION, "session", struct.pack("<iq", 9, session_id), value=1
        )
    add(200, 99, 10)

    with Exporter(MetricSources((str(home / "aeron"),))) as exporter:
        found = collect(exporter)

    def of(name: str) -> dict[tuple[str, ...], float]:
        return {labels[1:]: value for labels, value in found[f"cluster_{name}"].items()}

    assert of("module_state") == {("9", "active"): 1, ("10", "other"): 1}
    assert of("node_role") == {("9", "leader"): 1}
    assert of("election_state") == {("9", "closed"): 1}
    assert of("control_toggle") == {("9", "neutral"): 1}
    assert of("sessions") == {("9",): 2, ("10",): 0}
    assert of("commit_position_bytes") == {("9",): 4_096}
    assert of("leadership_term") == {("9",): 8}
    assert of("elections_total") == {("9",): 7}
    assert of("snapshots_total") == {("9",): 3}
    assert of("client_timeouts_total") == {("9",): 2}
    assert of("invalid_requests_total") == {("9",): 5}
    module, service = ("9", "consensus module"), ("9", "service 0")
    assert of("errors_total") == {module: 1, service: 11}
    assert of("cycle_time_max_seconds") == {module: 1, service: 3}
    assert of("cycle_time_exceeded_total") == {module: 4, service: 12}
    assert of("snapshot_time_max_seconds") == {module: 2, service: 4}
    assert of("snapshot_time_exceeded_total") == {module: 6, service: 13}
    assert of("missed_messages_total") == {service: 14}
    assert of("egress_wait_seconds_total") == {service: 5}


def test_more_clusters_than_labels_share_one(home: Path) -> None:
    driver = Driver(home / "aeron")
    for cluster_id in range(3):
        driver.counters.allocate(
            ClusterCounterType.MODULE_ERRORS,
            "Cluster Errors",
            struct.pack("<i", cluster_id),
            value=1,
        )

    with Exporter(MetricSources((str(home / "aeron"),), limit=1)) as exporter:
        found = collect(exporter)

    where = str(home / "aeron")
    assert found["cluster_errors_total"] == {
        (where, "0", "consensus module"): 1,
        (where, "other", "other"): 2,
    }
    assert found["exporter_overflowed_label_sets"][where, "cluster components"] == 2


def test_several_directories_in_one_process(home: Path, tmp_path: Path) -> None:
    drivers = [Driver(home / name) for name in ("a", "b")]
    for value, driver in enumerate(drivers, 1):
        driver.counters.allocate(CounterType.SYSTEM, "Bytes sent", b"", value=value)
    folders = [tmp_path / name for name in ("x", "y")]
    for count, folder in enumerate(folders, 1):
        folder.mkdir()
        for _ in range(count):
            builder = RecordingBuilder()
            builder.add(b"x" * 100)
            builder.write(folder)
    watched = MetricSources(
        tuple(str(home / name) for name in ("a", "b", "none", "a")), tuple(map(str, folders))
    )

    with Exporter(watched) as exporter:
        found = collect(exporter)

    assert found["driver_up"] == {
        (str(home / "a"),): 1, (str(home / "b"),): 1, (str(home / "none"),): 0
    }  # fmt: skip
    assert found["driver_sent_bytes_total"] == {(str(home / "a"),): 1, (str(home / "b"),): 2}
    assert {one: n for one, n in found["archive_recordings"].items() if n} == {
        (str(folders[0]), "stopped"): 1,
        (str(folders[1]), "stopped"): 2,
    }


def test_errors_and_loss_of_a_driver(home: Path) -> None:
    driver = Driver(home)
    where = str(home)
    log = driver.cnc.error_log(SystemClock())
    for _ in range(3):
        log.record("java.net.BindException: in use\n\tat x", "bind")
    log.record("io.aeron.AeronException: y", "other")
    mapped = MappedFile.create(str(home / FILE_NAME), 4096)
    report = LossReport(mapped)
    for session in (1, 2):
        report.create_entry(100, 5000 + session, session, 10, "aeron:udp?endpoint=h:1|mtu=8k", "s")

    with Exporter(MetricSources((where,))) as exporter:
        found = collect(exporter)

    assert found["driver_distinct_errors"] == {(where,): 2}
    assert found["driver_logged_errors_total"] == {
        (where, "BindException"): 3,
        (where, "AeronException"): 1,
    }
    assert found["driver_last_error_time_seconds"][where,] == pytest.approx(time.time(), abs=3600)
    labels = where, "10", "aeron:udp?endpoint=h:1"
    assert found["loss_bytes_total"] == {labels: 200}
    assert found["loss_observations_total"] == {labels: 2}
    assert found["loss_last_time_seconds"] == {labels: 5.002}


def test_a_folder_is_not_read_more_often_than_told(tmp_path: Path) -> None:
    RecordingBuilder().write(tmp_path)
    with Exporter(MetricSources((), (str(tmp_path),), interval_s=3600)) as exporter:
        first = collect(exporter)["archive_recordings"]
        RecordingBuilder().write(tmp_path)

        assert collect(exporter)["archive_recordings"] == first
    with Exporter(MetricSources((), (str(tmp_path),), interval_s=1e-9)) as exporter:
        assert collect(exporter)["archive_recordings"][str(tmp_path), "stopped"] == 2


@pytest.mark.parametrize(
    ("spoil", "state"),
    [
        (lambda folder: (folder / CATALOG_NAME).unlink(), "half-deleted"),
        (shutil.rmtree, "missing"),
        (lambda folder: (folder / CATALOG_NAME).write_bytes(b"\xff" * 4096), "version"),
        (lambda folder: (folder / CATALOG_NAME).write_bytes(b""), "damaged"),
    ],
)
def test_an_archive_that_is_spoiled_and_mended(tmp_path: Path, spoil: object, state: str) -> None:
    folder, copy = tmp_path / "archive", tmp_path / "copy"
    folder.mkdir()
    RecordingBuilder().write(folder)
    shutil.copytree(folder, copy)
    with Exporter(MetricSources((), (str(folder),), interval_s=1e-9)) as exporter:
        assert state_of(collect(exporter), "archive", folder) == (0, "closed")
        exporter.close()
        assert callable(spoil)
        spoil(folder)

        found = collect(exporter)
        assert state_of(found, "archive", folder) == (0, state)
        assert "archive_recordings" not in found

        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(copy, folder)
        assert collect(exporter)["archive_recordings"][str(folder), "stopped"] == 1


def test_a_recording_that_is_active_without_a_writer_is_counted(tmp_path: Path) -> None:
    RecordingBuilder().write(tmp_path, stopped=False)
    with Exporter(MetricSources((), (str(tmp_path),))) as exporter:
        found = collect(exporter)

    assert found["archive_recordings_without_writer"] == {(str(tmp_path),): 1}


def test_segments_that_are_missing_are_counted(tmp_path: Path) -> None:
    builder = RecordingBuilder()
    for _ in range(200):
        builder.add(b"x" * 1000)
    builder.write(tmp_path)
    next(tmp_path.glob("0-65536.rec")).unlink()
    with Exporter(MetricSources((), (str(tmp_path),))) as exporter:
        found = collect(exporter)

    assert found["archive_missing_segments"] == {(str(tmp_path),): 1}


def test_a_database_without_a_catalog_is_down_and_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "empty.db"
    path.touch()
    with Exporter(MetricSources((), (), (f"sqlite:///{path}",))) as exporter:
        found = collect(exporter)

    assert list(found["catalog_up"].values()) == [0]
    assert path.stat().st_size == 0
