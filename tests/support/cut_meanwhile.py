"""Runs a command again and again, while a second process cuts a file that the command reads.

Started as a program of its own, which makes a process for each run. The run counts the calls of
aerolog's functions; at a chosen one it asks its parent to cut the file and waits until that has
happened. So each cut comes at the same point of the command, whatever the speed of the machine.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import shutil
import subprocess
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

if TYPE_CHECKING:
    from types import FrameType

_TIMEOUT_S: Final = 120
#: Cuts of each command, spread evenly over its steps.
_CUTS: Final = 6
_CUT: Final = b"cut\n"
_ESCAPED: Final = 99


@dataclass(frozen=True)
class Run:
    """How a run of the command ended.

    Attributes:
        cut: when the file was cut: "never", "before" the run, or at which call of how many.
        left: bytes that were left of the file.
        code: the exit code, -N for signal N.
        out: what it printed.
        err: what it said on stderr.
        folder: where it ran; what it wrote is there.
    """

    cut: str
    left: int
    code: int
    out: str
    err: str
    folder: Path


def runs(command: list[str], home: Path, file: str, scratch: Path) -> list[Run]:
    """Runs of a command in copies of a folder: undisturbed, cut before it, and cut meanwhile.

    A run that was cut before it comes after the undisturbed one.

    Args:
        command: arguments of ``aerolog``; ``HOME`` in them is the folder.
        home: the folder, which is copied for each run.
        file: the file that is cut, relative to the folder.
        scratch: an empty folder for the copies.
    """
    asked = {"command": command, "home": str(home), "file": file, "scratch": str(scratch)}
    done = subprocess.run(
        [sys.executable, __file__, json.dumps(asked)],
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [Run(**row | {"folder": Path(row["folder"])}) for row in json.loads(done.stdout)]


class _Server:
    """The parent: it forks the runs, and cuts the file when it is asked to."""

    def __init__(self, command: list[str], home: str, file: str, scratch: str) -> None:
        self._command, self._home, self._file = command, home, file
        self._scratch = Path(scratch)
        self._number = 0
        self._steps = 0

    def all(self) -> list[dict[str, Any]]:
        length = (Path(self._home) / self._file).stat().st_size
        self._run("never", length)  # says which modules are loaded, so that later runs load none
        found = [self._run("never", length)]
        found += [self._run("before", left) for left in (0, length // 2)]
        for index in range(_CUTS):
            at = self._steps * index // _CUTS
            found.append(self._run(f"{at} of {self._steps}", length // 2 if index % 2 else 0, at))
        return found

    def _run(self, cut: str, left: int, at: int = -1) -> dict[str, Any]:
        folder = self._scratch / f"{self._number:02}"
        self._number += 1
        shutil.copytree(self._home, folder)
        target = folder / self._file
        if cut == "before":
            os.truncate(target, left)
        asked, ask = os.pipe()
        wait, answer = os.pipe()
        pid = os.fork()
        if not pid:
            os.close(asked)
            os.close(answer)
            arguments = [part.replace("HOME", str(folder)) for part in self._command]
            _run_and_exit(arguments, folder, Steps(at, ask, wait))
        os.close(ask)
        os.close(wait)
        with os.fdopen(asked, "rb") as told:
            for line in told:
                if line == _CUT:
                    os.truncate(target, left)
                    os.write(answer, _CUT)
                elif cut == "never":
                    self._learn(json.loads(line))
        os.close(answer)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        texts = {
            name: Path(f"{folder}.{name}").read_text().replace(str(folder), "HOME")
            for name in ("out", "err")
        }
        return {"cut": cut, "left": left, "code": code, "folder": str(folder)} | texts

    def _learn(self, report: dict[str, Any]) -> None:
        self._steps = report["steps"]
        for name in report["modules"]:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)


class Steps:
    """Counts calls of aerolog's functions and what they call, and has the file cut at one of them.

    Attributes:
        count: how many there were.
    """

    def __init__(self, at: int, ask: int, wait: int) -> None:
        self._at, self._ask, self._wait = at, ask, wait
        self.count = 0

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        del event, argument
        name = frame.f_globals.get("__name__", "")
        if not name.startswith("aerolog.") or name.startswith("aerolog.tools.command_line"):
            return
        if self.count == self._at:
            os.write(self._ask, _CUT)
            os.read(self._wait, len(_CUT))
        self.count += 1

    def report(self, modules: list[str]) -> None:
        """Tell the parent how many there were, and which modules are loaded."""
        text = json.dumps({"steps": self.count, "modules": modules})
        with os.fdopen(self._ask, "wb") as told:
            told.write(text.encode() + b"\n")


def _run_and_exit(arguments: list[str], folder: Path, steps: Steps) -> NoReturn:
    from aerolog.tools.main import main

    code = _ESCAPED
    for name, stream in (("out", 1), ("err", 2)):
        fd = os.open(f"{folder}.{name}", os.O_WRONLY | os.O_CREAT, 0o644)
        os.dup2(fd, stream)
    try:
        sys.setprofile(steps)
        try:
            code = main(arguments)
        finally:
            sys.setprofile(None)
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    steps.report(sorted(sys.modules))
    os._exit(code)


if __name__ == "__main__":
    print(json.dumps(_Server(**json.loads(sys.argv[1])).all()))
