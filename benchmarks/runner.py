"""Runs benchmarks by name and prints their figures."""

from __future__ import annotations

import json
import sys
from functools import partial
from typing import TYPE_CHECKING

from benchmarks import (
    archive,
    catalog_million,
    catalog_search,
    churn,
    cluster,
    describe_catalog,
    export_parquet,
    find_position,
    ipc_processes,
    ipc_threads,
    package,
    pipeline_rerun,
    record_indexed,
    record_streams,
    replay_merged,
    replay_paced,
    replay_start,
    retention_crowd,
    scan,
    spark_scan,
    stat_once,
    top_cpu,
    udp,
    udp_streams,
    verify_continuous,
    verify_folder,
)
from benchmarks.result import BenchmarkFailedError, Result

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

BENCHMARKS: dict[str, Callable[[], list[Result]]] = {
    "ipc-32": partial(ipc_threads.ipc_throughput, 32),
    "ipc-1024": partial(ipc_threads.ipc_throughput, 1024),
    "ipc-32-offer": ipc_processes.ipc_offer,
    "ipc-32-batch": ipc_processes.ipc_batch,
    "ipc-rtt": ipc_threads.ipc_rtt,
    "churn-rtt": churn.round_trips,
    "record-1024": partial(archive.record, 1024),
    "record-64": partial(archive.record, 64),
    "record-indexed": record_indexed.indexed,
    "record-streams": record_streams.streams,
    "find-position": find_position.find,
    "replay-1024": partial(archive.replay, 1024),
    "replay-64": partial(archive.replay, 64),
    "replay-start": replay_start.start,
    "replay-merged": partial(replay_merged.merged, 1024),
    "replay-merged-64": partial(replay_merged.merged, 64),
    "replay-paced": replay_paced.paced,
    "retention-100k": retention_crowd.crowd,
    "catalog-1m": catalog_million.million,
    "catalog-search-1m": catalog_search.million,
    "scan-1024": partial(scan.scan, 1024),
    "scan-64": partial(scan.scan, 64),
    "export-parquet": export_parquet.export,
    "spark-scan": spark_scan.query,
    "pipeline-rerun": pipeline_rerun.rerun,
    "stat": stat_once.once,
    "describe": describe_catalog.describe,
    "verify": verify_folder.verify,
    "verify-continuous": verify_continuous.verify_continuous,
    "udp-32": partial(udp.throughput, 32),
    "udp-1024": partial(udp.throughput, 1024),
    "udp-1024-no-offload": partial(udp.throughput_without_offload, 1024),
    "udp-rtt": udp.round_trips,
    "udp-loss-1024": udp.goodput_with_loss,
    "udp-streams": udp_streams.streams,
    "cluster-echo-64": partial(cluster.echoes, 64),
    "cluster-echo-1024": partial(cluster.echoes, 1024),
    "cluster-rtt": cluster.round_trips,
    "cluster-recovery": cluster.recovery,
    "cluster-idle": cluster.idle,
    "top": top_cpu.watch,
    "build": package.build,
    "start": package.start,
}


def main(names: Sequence[str] = (), *, as_json: bool = False) -> int:
    """Measure and print; returns an exit code: 0, 1 when something failed, 2 for a wrong name."""
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        sys.stderr.write(
            f"benchmarks: no such benchmark: {', '.join(unknown)}; there are"
            f" {', '.join(BENCHMARKS)}\n"
        )
        return 2
    results: list[Result] = []
    failed = False
    for name in names or BENCHMARKS:
        sys.stderr.write(f"{name} …\n")
        try:
            measured = BENCHMARKS[name]()
        except BenchmarkFailedError as error:
            sys.stderr.write(f"{name} failed: {error}\n")
            failed = True
            continue
        results += measured
        if not as_json:
            for result in measured:
                print(_lines(result), flush=True)
    if as_json:
        print(json.dumps([result.as_dict() for result in results], indent=2))
    return 1 if failed else 0


def _lines(result: Result) -> str:
    """A line for each peer."""
    digits = 2 if result.smaller_is_better else 0
    head = f"{result.name:<20} {result.unit:<11} ours {result.ours:>14,.{digits}f}"
    lines = []
    for peer in result.peers:
        figure = "-" if peer.figure is None else f"{peer.figure:,.{digits}f}"
        found = result.ratio_to(peer.figure)
        ratio = "-" if found is None else f"{found:.2f}"
        lines.append(f"{head}   peer {figure:>14}   ratio {ratio:>6}   {peer.name}")
    return "\n".join(lines)
