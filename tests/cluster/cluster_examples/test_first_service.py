"""The page first-service.md: its files are written and its commands run, ``kill -9`` included."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from page_samples import ROOT, samples
from peer.cluster_node import free_ports
from peer.process import ServerProcess
from shared_memory import memory_path

PAGE = ROOT / "docs" / "cluster" / "first-service.md"
FILE = re.compile(r"`([\w.]+)`:\n\n```(?:python|properties)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INTERRUPT = "press Ctrl-C in the second terminal"
pytestmark = pytest.mark.timeout(100)


class Reader:
    """Does what the page says, in a folder of its own, with ports that are free here."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.aeron_dir = memory_path("first-service")
        self.node: ServerProcess | None = None
        self.service: ServerProcess | None = None
        self._ports = free_ports(5)
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self._environment = {**os.environ, "PATH": path}

    def here(self, text: str) -> str:
        """What the page shows, with the directory and the ports of this run."""
        text = text.replace("/dev/shm/aeron-node0", str(self.aeron_dir))
        return re.sub(r"localhost:900(\d)", lambda at: f"localhost:{self._port(at[1])}", text)

    def _port(self, digit: str) -> int:
        return self._ports[int(digit) - 1]

    def write_files(self) -> None:
        found = dict(FILE.findall(PAGE.read_text(encoding="utf-8")))
        assert found.keys() == {"counters.py", "node.properties", "count.py"}
        for name, text in found.items():
            (self.folder / name).write_text(self.here(text), encoding="utf-8")

    def start(self, name: str, command: str) -> ServerProcess:
        process = ServerProcess(
            name, shlex.split(command), env=self._environment, cwd=self.folder, stop_by_signal=True
        )
        process.wait_line("ready")
        return process

    def run(self, command: str) -> str:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, ""), f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    def do(self, command: str) -> str:
        """Type a command into the terminal where it belongs; gives what it printed."""
        if command.startswith("aerolog clustered-driver "):
            self.node = self.start("first-node", command)
            return ""
        if command.startswith("aerolog service-container "):
            self.service = self.start("first-service", command)
            return ""
        said = self.run(command)
        if command.startswith("kill -9 "):
            assert self.node is not None
            assert self.node.wait() == -signal.SIGKILL
            self.interrupt_service()
        return said

    def interrupt_service(self) -> None:
        """Press Ctrl-C in the service's terminal."""
        assert self.service is not None
        self.service.process.send_signal(signal.SIGINT)
        self.service.wait()

    def close(self) -> None:
        for process in (self.service, self.node):
            if process is not None and process.running:
                process.stop()
        shutil.rmtree(self.aeron_dir, ignore_errors=True)


def test_nothing_is_lost_when_the_node_is_killed(tmp_path: Path) -> None:
    commands = [sample for sample in samples(PAGE) if sample.kind == "sh"]
    kills = [sample for sample in commands if sample.body.startswith("kill -9 ")]
    assert len(kills) == 1
    told = PAGE.read_text(encoding="utf-8").split(kills[0].body)[1]
    assert INTERRUPT in told.split("```sh")[0]
    reader = Reader(tmp_path)
    with ExitStack() as after:
        after.callback(reader.close)
        reader.write_files()
        for sample in commands:
            said = reader.do(sample.body.strip())
            assert said == (sample.expected or ""), f"line {sample.line}"
        assert reader.service is not None
        assert reader.node is not None
        reader.node.process.send_signal(signal.SIGINT)
        assert reader.node.wait() == 0
        reader.interrupt_service()
