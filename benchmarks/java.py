"""The reference's own samples as peers."""

from __future__ import annotations

import re
import statistics
import subprocess
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from benchmarks.folders import archive_folder, memory_folder, temporary_folder
from benchmarks.reference import harness
from benchmarks.result import PeerUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PEER_NAME = "Aeron 1.51.0 (Java) {}"
# What the reference's own scripts for performance tests set.
FAST_OPTIONS = ("-XX:+UseParallelGC", "-Dagrona.disable.bounds.checks=true")
WARM_UP_INTERVALS = 3
_OPENED = "--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED"
_RATE = re.compile(r"^Duration (\d+)ms - ([\d,]+) messages", re.MULTILINE)
_PERCENTILE = re.compile(r"^\s*([\d.]+)\s+([01]\.\d+)\s+\d+", re.MULTILINE)
_BANDWIDTH = re.compile(r"@ ([\d.]+) MB/s")
_PATIENCE_S = 120.0


def _jar() -> tuple[str, Path]:
    """The launcher and the reference's jar, as the interop tests find them."""
    artifact = harness("artifact")
    try:
        return artifact.program("java", "openjdk-17-jdk-headless"), artifact.fetch_jar()
    except artifact.PeerUnavailable as reason:
        raise PeerUnavailableError(str(reason)) from None


def java_command(options: list[str], main_class: str) -> list[str]:
    """The command line of one of the reference's programs.

    Raises:
        PeerUnavailableError: it cannot be run.
    """
    java, jar = _jar()
    return [java, _OPENED, *options, "-cp", str(jar), main_class]


@contextmanager
def _sample(
    main_class: str, properties: dict[str, str], seconds: float
) -> Iterator[subprocess.Popen[str]]:
    """A running sample, which is killed at the end or after so many seconds.

    Its driver lives in shared memory and its archive where ours does.
    """
    with (
        temporary_folder(memory_folder()) as memory,
        temporary_folder(archive_folder()) as disk,
    ):
        places = {"aeron.dir": f"{memory}/aeron", "java.io.tmpdir": disk}
        defines = [f"-D{name}={value}" for name, value in {**places, **properties}.items()]
        process = subprocess.Popen(
            java_command(defines, main_class),
            cwd=disk,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        killer = threading.Timer(seconds, process.kill)
        killer.start()
        try:
            yield process
        finally:
            killer.cancel()
            process.kill()
            process.communicate()


def throughput(main_class: str, properties: dict[str, str], seconds: float) -> float:
    """Messages a second of a sample that reports each second: the median after the warm-up.

    Raises:
        PeerUnavailableError: it cannot be run, or did not report long enough.
    """
    with _sample(main_class, properties, seconds) as process:
        out = process.stdout.read() if process.stdout else ""
    rates = [
        int(count.replace(",", "")) * 1000 / int(milliseconds)
        for milliseconds, count in _RATE.findall(out)
    ][WARM_UP_INTERVALS:]
    if not rates:
        raise PeerUnavailableError(f"{main_class} reported nothing: {out[-500:]}")
    return statistics.median(rates)


def percentiles(
    main_class: str, properties: dict[str, str], wanted: tuple[float, ...]
) -> dict[float, float]:
    """Values of a sample's HdrHistogram, in its unit, at or next above the wanted percentiles.

    Raises:
        PeerUnavailableError: it cannot be run, or printed no histogram.
    """
    with _sample(main_class, properties, _PATIENCE_S) as process:
        out, _ = process.communicate("n\n")
    found = [(float(share) * 100, float(value)) for value, share in _PERCENTILE.findall(out)]
    if not found:
        raise PeerUnavailableError(f"{main_class} printed no histogram: {out[-500:]}")
    return {
        percentile: next((value for share, value in found if share >= percentile), found[-1][1])
        for percentile in wanted
    }


def bandwidths(main_class: str, properties: dict[str, str], rounds: int) -> list[float]:
    """MB/s of the rounds of a sample that asks whether to go on, until it ends or so many.

    The recording sample often ends between two rounds: on a busy machine it truncates a recording
    that the archive has not stopped yet.

    Raises:
        PeerUnavailableError: it cannot be run, or ended without a figure.
    """
    found: list[float] = []
    said: list[str] = []
    with _sample(main_class, properties, _PATIENCE_S) as process:
        for line in process.stdout or ():
            said.append(line)
            found += map(float, _BANDWIDTH.findall(line))
            if len(found) >= rounds:
                break
            if "@" in line and process.stdin:
                # One answer at a time: the sample drops what it has read ahead.
                process.stdin.write("y\n")
                process.stdin.flush()
    if not found:
        raise PeerUnavailableError(f"{main_class} ended early: {''.join(said)[-500:]}")
    return found
