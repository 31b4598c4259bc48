"""The reference's own samples as peers."""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.building import CHECKOUT
from benchmarks.result import PeerUnavailableError

PEER_NAME = "Aeron 1.51.0 (Java) {}"
_OPENED = "--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED"
_RATE = re.compile(r"^Duration (\d+)ms - ([\d,]+) messages", re.MULTILINE)
_PERCENTILE = re.compile(r"^\s*([\d.]+)\s+([01]\.\d+)\s+\d+", re.MULTILINE)
WARM_UP_INTERVALS = 3


def _jar() -> tuple[str, Path]:
    """The launcher and the reference's jar, as the interop tests find them."""
    sys.path.insert(0, str(CHECKOUT / "tests" / "interop"))
    try:
        from peer.artifact import PeerUnavailable, fetch_jar, program

        try:
            return program("java", "openjdk-17-jdk-headless"), fetch_jar()
        except PeerUnavailable as reason:
            raise PeerUnavailableError(str(reason)) from None
    finally:
        sys.path.pop(0)


def run_sample(main_class: str, properties: dict[str, str], *, seconds: float | None = None) -> str:
    """What a sample prints, until it ends or for so many seconds.

    Raises:
        PeerUnavailableError: no Java, no jar, or the sample failed.
    """
    java, jar = _jar()
    with tempfile.TemporaryDirectory(prefix="aerolog-bench-", dir=_memory_folder()) as folder:
        defines = {"aeron.dir": f"{folder}/aeron", "aeron.archive.dir": f"{folder}/archive"}
        command = [java, _OPENED]
        command += [f"-D{name}={value}" for name, value in {**defines, **properties}.items()]
        command += ["-cp", str(jar), main_class]
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            out, _ = process.communicate("n\n", timeout=seconds or 300)
        except subprocess.TimeoutExpired:
            process.kill()
            out, _ = process.communicate()
    return out


def _memory_folder() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def throughput(main_class: str, properties: dict[str, str], seconds: float) -> float:
    """Messages a second of a sample that reports each second: the median after the warm-up.

    Raises:
        PeerUnavailableError: it cannot be run, or did not report long enough.
    """
    out = run_sample(main_class, properties, seconds=seconds)
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
    out = run_sample(main_class, properties)
    found = [(float(share) * 100, float(value)) for value, share in _PERCENTILE.findall(out)]
    if not found:
        raise PeerUnavailableError(f"{main_class} printed no histogram: {out[-500:]}")
    return {
        percentile: next((value for share, value in found if share >= percentile), found[-1][1])
        for percentile in wanted
    }
