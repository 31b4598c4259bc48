"""The package itself: how long it takes to build and to start, and what it weighs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

from benchmarks.folders import temporary_folder
from benchmarks.native_loops import CHECKOUT
from benchmarks.processes import AEROLOG, wall_ms
from benchmarks.result import BenchmarkFailedError, Result

BUILD_LIMIT_S = 150.0
ROUNDS = 11
_WHEEL = ("-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation")
_MIB = 1 << 20
_LIMIT = "the limit of {:.0f} s on two cores"
_EMPTY = "an interpreter that does nothing"


def build() -> list[Result]:
    """Seconds to build a wheel of the tracked files, nothing made before; its size in MiB."""
    with temporary_folder() as folder:
        source = Path(folder) / "source"
        _copy_tracked(source)
        begin = time.perf_counter()
        done = subprocess.run(
            [sys.executable, *_WHEEL, "-w", folder, str(source)],
            env={**os.environ, "CC": "gcc", "CCACHE_DISABLE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        seconds = time.perf_counter() - begin
        if done.returncode != 0:
            raise BenchmarkFailedError(f"the wheel does not build: {done.stderr[-2000:]}")
        (wheel,) = Path(folder).glob("*.whl")
        packed = wheel.stat().st_size
        installed = sum(one.file_size for one in zipfile.ZipFile(wheel).infolist())
    limit = _LIMIT.format(BUILD_LIMIT_S)
    return [
        Result("build-wheel", "s", seconds, BUILD_LIMIT_S, limit, smaller_is_better=True),
        Result("wheel-size", "MiB", packed / _MIB, None, "no peer", smaller_is_better=True),
        Result("wheel-installed", "MiB", installed / _MIB, None, "no peer", smaller_is_better=True),
    ]


def start() -> list[Result]:
    """Milliseconds of wall time of whole processes that import the client and print the help."""
    client = [sys.executable, "-c", "import aerolog.transport.client"]
    command = [*AEROLOG, "--help"]
    empty_ms = wall_ms([sys.executable, "-c", "pass"], ROUNDS)
    return [
        Result(name, "ms", wall_ms(one, ROUNDS), empty_ms, _EMPTY, smaller_is_better=True)
        for name, one in (("start-client", client), ("start-help", command))
    ]


def _copy_tracked(target: Path) -> None:
    listed = subprocess.check_output(["git", "ls-files", "-z"], cwd=CHECKOUT, text=True)
    for name in filter(None, listed.split("\0")):
        origin = CHECKOUT / name
        if origin.is_symlink() or origin.exists():
            copy = target / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(origin, copy, follow_symlinks=False)
