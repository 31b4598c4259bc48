"""Run the whole: ``python -m examples.lossy [--loss 0.05] [--messages N] [--loopback]``.

Exit codes: 0 when what was sent, what is on the disk and what was replayed are the same and the
wire was lossy, 1 when anything differs or fails, 130 when interrupted. The recording stays in the
output folder until the next run; all else goes.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from examples.driver_process import ServiceError
from examples.lossy import stages, stream
from examples.lossy.services import driver_at
from examples.lossy.wire import joined
from examples.recorded_stream import CheckError, timed

from aerolog.archive.client import AeronArchive
from aerolog.transport.client import Aeron, CountersReader
from aerolog.transport.errors import AerologError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from examples.lossy.wire import Wire

OUT = Path(".cache") / "demo-udp"
COUNTERS = (
    "NAKs sent",
    "NAKs received",
    "Retransmits sent",
    "Retransmitted bytes",
    "Status Messages sent",
    "Flow control under runs",
    "Flow control over runs",
    "Loss gap fills",
    "Bytes sent",
    "Bytes received",
)


stage = partial(timed, width=44)


def run(options: argparse.Namespace) -> int:
    """All stages; 0 when everything is equal."""
    messages = stream.messages(options.messages, options.longest, options.seed)
    sent = stream.Digest.of(messages)
    shutil.rmtree(options.out, ignore_errors=True)
    archive_dir = options.out / "archive"
    archive_dir.mkdir(parents=True)
    with joined(loopback=options.loopback) as wire:
        print(wire.description)
        print(f"each side loses {options.loss:.1%} of the data that arrives, seed {options.seed}")
        rehearsal = f"rate={options.loss}|seed={options.seed}" if options.loss else ""
        replayed, recording_id, counters = across(wire, archive_dir, rehearsal, messages, sent)
    on_disk = stage(
        "read from the archive's folder",
        lambda: stages.on_disk(archive_dir, recording_id),
        sent.count,
        sent.size,
    )
    print_counters(counters)
    print()
    for name, digest in (("sent", sent), ("on disk", on_disk), ("replayed", replayed)):
        print(f"{name:<9}{digest}")
    print(f"recording: {archive_dir.resolve()} (id {recording_id})")
    if not sent == on_disk == replayed:
        print("FAILED: they differ", file=sys.stderr)
        return 1
    if options.loss and not all(side["Retransmits sent"] for side in counters.values()):
        print("FAILED: nothing was lost", file=sys.stderr)
        return 1
    print("byte-identical")
    return 0


def across(
    wire: Wire, archive_dir: Path, rehearsal: str, messages: Sequence[bytes], sent: stream.Digest
) -> tuple[stream.Digest, int, dict[str, dict[str, int]]]:
    """Record over the wire and replay back; what came, the recording, both drivers' counters."""
    lossy = {"aeron.rehearse.receive.data": rehearsal}
    control = f"aeron:udp?endpoint={wire.far.endpoint()}"
    channel = f"aeron:udp?endpoint={wire.far.endpoint()}|term-length=1m"
    archive_properties = {
        "aeron.archive.dir": str(archive_dir.resolve()),
        "aeron.archive.control.channel": control,
        "aeron.archive.segment.file.length": "16m",
    }
    with (
        driver_at(wire.near, "driver", lossy) as near,
        driver_at(wire.far, "archiving-driver", lossy | archive_properties) as far,
        Aeron(near.aeron_dir) as aeron,
        AeronArchive(
            aeron,
            request_channel=control,
            response_channel=f"aeron:udp?endpoint={wire.near.address}:0",
        ) as archive,
    ):
        recording_id = stage(
            "publish near, record far",
            lambda: stages.record(aeron, archive, channel, messages),
            sent.count,
            sent.size,
        )
        replayed = stage(
            f"replay recording {recording_id} from far to near",
            lambda: stages.replayed(archive, recording_id),
            sent.count,
            sent.size,
        )
        counters = {
            "near": read_counters(near.aeron_dir),
            "far": read_counters(far.aeron_dir),
        }
    return replayed, recording_id, counters


def read_counters(aeron_dir: Path) -> dict[str, int]:
    """The counters of a driver that tell of loss, by their labels."""
    return {
        counter.label: counter.value
        for counter in CountersReader(aeron_dir).infos()
        if counter.label in COUNTERS
    }


def print_counters(counters: dict[str, dict[str, int]]) -> None:
    """A line a counter, a column a driver."""
    print(f"\n{'driver':<26}" + "".join(f"{side:>16}" for side in counters))
    for name in COUNTERS:
        values = "".join(f"{side.get(name, 0):>16,}" for side in counters.values())
        print(f"{name:<26}{values}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m examples.lossy", description=__doc__)
    parser.add_argument("--messages", type=int, default=40_000, help="how many (40000)")
    parser.add_argument("--longest", type=int, default=2_000, help="bytes a message (2000)")
    parser.add_argument("--loss", type=float, default=0.05, help="share of datagrams lost (0.05)")
    parser.add_argument("--seed", type=int, default=7, help="of messages and losses (7)")
    parser.add_argument("--loopback", action="store_true", help="make no network namespaces")
    parser.add_argument("--out", type=Path, default=OUT, help=f"output folder ({OUT})")
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        return run(parser.parse_args(arguments))
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except (AerologError, OSError, ServiceError, CheckError) as error:
        print(f"FAILED: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
