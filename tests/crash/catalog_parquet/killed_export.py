"""Exports in forked children that are killed, each gone on with, each compared. Run as a program.

``killed_export.py ARCHIVE WORK KIND at FIRST STEP`` kills at every STEP-th place from FIRST on, a
place being a write (before it, in its middle) or a change of a folder. ``... KIND after SEED
ROUNDS`` kills by the clock, several times in a row. Prints the number of rounds.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

# What exports import when they are first used, so that each child has it.
import numpy as np  # noqa: F401
import pandas as pd  # noqa: F401
import pyarrow.parquet as pq  # noqa: F401

from aerolog.catalog.decoders import make_decoder
from aerolog.catalog.export import check_export, export_parquet, store

KINDS = {
    "parts": {"partition_by": ("recording_id", "date")},
    "decoded": {"partition_by": ("recording_id",), "decoder": make_decoder("text")},
    "whole": {"partition_by": ()},
    "replaced": {"partition_by": ()},
}
SIZES = {"file_length": 128 * 1024, "row_group_length": 64 * 1024}
CHANGES = {"open", "os.rename", "os.mkdir", "os.rmdir", "os.remove", "shutil.rmtree"}
PATIENCE_S = 60.0


class Places:
    """Counts the places at which a process may be killed, and kills it at one."""

    def __init__(self, target: Path, fatal: int) -> None:
        self._target = str(target)
        self._fatal = fatal
        self.passed = 0
        sys.addaudithook(self._hear)
        write = store.UnbufferedFile.write

        def torn(self_: object, view: memoryview) -> None:
            self.step()
            half = view.nbytes // 2
            write(self_, view[:half])
            self.step()
            write(self_, view[half:])

        store.UnbufferedFile.write = torn

    def step(self) -> None:
        """Passes a place."""
        self.passed += 1
        if self.passed == self._fatal:
            os.kill(os.getpid(), signal.SIGKILL)

    def _hear(self, event: str, arguments: tuple[object, ...]) -> None:
        if event in CHANGES and self._target in str(arguments[0]):
            self.step()


def begin(archive: Path, target: Path) -> None:
    """Exports the beginning of each recording, whose file the next export replaces."""
    ends = dict.fromkeys(range(3), 64 * 1024)
    export_parquet(archive, None, target, until_positions=ends, **KINDS["replaced"], **SIZES)


def run(archive: Path, target: Path, kind: str) -> None:
    if kind == "replaced" and not target.exists():
        begin(archive, target)
    export_parquet(archive, None, target, **KINDS[kind], **SIZES)


def content(target: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {
        str(path.relative_to(target)): path.read_bytes()
        for path in target.rglob("*")
        if path.is_file()
    }


def forked(work: object) -> int:
    """Runs a function in a child; its pid."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return pid


def ended(pid: int) -> int:
    """Waits for a child; the signal that killed it, or 0.

    Raises:
        AssertionError: it failed by itself, or does not end.
    """
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            if os.WIFSIGNALED(status):
                assert os.WTERMSIG(status) == signal.SIGKILL
                return signal.SIGKILL
            assert os.WEXITSTATUS(status) == 0, "the export failed"
            return 0
        time.sleep(0.002)
    os.kill(pid, signal.SIGKILL)
    raise AssertionError("the export does not end")


def go_on_and_compare(archive: Path, target: Path, kind: str, right: dict[str, bytes]) -> None:
    """Runs the export to its end; there must be what an export has that nobody killed."""
    assert ended(forked(lambda: run(archive, target, kind))) == 0
    found = content(target)
    assert found.keys() == right.keys(), sorted(found.keys() ^ right.keys())
    for path, data in right.items():
        assert found[path] == data, path
    assert check_export(target).sound


def visible_rows(target: Path, right: dict[str, bytes], before: dict[str, bytes]) -> None:
    """Whatever a reader sees of a killed export is a file of the whole one, or of one before."""
    for path, data in content(target).items():
        if path.endswith(".parquet") and not path.startswith("_"):
            assert data in {right[path], before.get(path)}, path


def kill_at_places(
    archive: Path, work: Path, kind: str, right: dict[str, bytes], first: int, step: int
) -> int:
    fatal, rounds, before = first, 0, {}
    if kind == "replaced":
        begun = work / "begun"
        assert ended(forked(lambda: begin(archive, begun))) == 0
        before = content(begun)
    while True:
        target = work / f"at-{fatal}"

        def killed(target: Path = target, fatal: int = fatal) -> None:
            Places(target, fatal)
            run(archive, target, kind)

        signalled = ended(forked(killed))
        if target.exists():
            visible_rows(target, right, before)
        go_on_and_compare(archive, target, kind, right)
        shutil.rmtree(target)
        if not signalled:
            return rounds
        rounds += 1
        fatal += step


def kill_by_the_clock(
    archive: Path, work: Path, kind: str, right: dict[str, bytes], seed: int, rounds: int
) -> int:
    chance = random.Random(seed)
    begun = time.monotonic()
    assert ended(forked(lambda: run(archive, work / "timed", kind))) == 0
    whole_s = time.monotonic() - begun
    killed = 0
    for number in range(rounds):
        target = work / f"after-{number}"
        for _ in range(chance.randrange(1, 5)):
            pid = forked(lambda target=target: run(archive, target, kind))
            time.sleep(chance.random() * whole_s)
            os.kill(pid, signal.SIGKILL)
            _, status = os.waitpid(pid, 0)
            killed += os.WIFSIGNALED(status)
            if target.exists():
                visible_rows(target, right, {})
        go_on_and_compare(archive, target, kind, right)
        shutil.rmtree(target)
    return killed


def main() -> None:
    archive, work, kind, how, first, second = sys.argv[1:]
    folder = Path(work)
    right_folder = folder / "right"
    assert ended(forked(lambda: run(Path(archive), right_folder, kind))) == 0
    right = content(right_folder)
    kill = kill_at_places if how == "at" else kill_by_the_clock
    print(kill(Path(archive), folder, kind, right, int(first), int(second)))


if __name__ == "__main__":
    main()
