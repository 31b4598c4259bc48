"""A node with the auction house, in one process.

``python -m examples.auction.node FOLDER PORT AERON_DIR`` runs it until its input ends; PORT and the
four behind it are the node's.
"""

from __future__ import annotations

import sys
from pathlib import Path

from examples.auction.service import AuctionHouse

from aerolog.cluster.module import ClusteredMediaDriver
from aerolog.cluster.service import ServiceContainer

PLACES = 5


def run(folder: Path, port: int, aeron_dir: str) -> None:
    """Start driver, archive, consensus module and service, and wait for the input's end."""
    places = [f"localhost:{port + index}" for index in range(PLACES)]
    with (
        ClusteredMediaDriver(
            aeron_dir,
            folder / "archive",
            folder / "cluster",
            driver_options={"threading_mode": "SHARED"},
            archive_options={
                "threading_mode": "SHARED",
                "control_channel": f"aeron:udp?endpoint={places[4]}",
                "replication_channel": "aeron:udp?endpoint=localhost:0",
                "segment_file_length": "16m",
            },
            module_options={
                "members": "0," + ",".join(places),
                "ingress_channel": "aeron:udp?term-length=64k",
                "log_channel": "aeron:udp?term-length=64k",
                "replication_channel": "aeron:udp?endpoint=localhost:0",
                "authorisation_service_supplier": "ALLOW_ALL",
            },
        ) as node,
        ServiceContainer(
            AuctionHouse(), aeron_dir=node.aeron_dir, cluster_dir=str(folder / "cluster")
        ),
    ):
        sys.stdout.write("auction house ready\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    run(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
