"""Who owns a driver's directory: a live driver keeps it, a killed one leaves it at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from prerequisites import PROCESS_NAMESPACE, needs_process_namespace
from waits import wait_until

from aerolog.transport.client import Aeron
from aerolog.transport.concurrent.clock import SystemClock
from aerolog.transport.memory.cnc import CncFile
from aerolog.transport.memory.filesystem import RealFileSystem

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.interop
OWNERS = pytest.mark.parametrize("owner", ["ours", "reference"])


def start_another(aeron_dir: Path, prefix: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    """Our driver on a directory that another one may own."""
    return subprocess.Popen(
        [*prefix, sys.executable, "-m", "aerolog.tools.main", "driver", f"-Daeron.dir={aeron_dir}",
         "-Daeron.threading.mode=SHARED"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def heartbeat_age_ms(aeron_dir: Path) -> int:
    """How long ago the driver of a directory showed that it runs."""
    cnc = CncFile.open(RealFileSystem(), str(aeron_dir))
    return SystemClock().now_epoch_ms() - cnc.heartbeat_ms


@needs_process_namespace
@OWNERS
def test_a_driver_of_another_container_that_stands_still_keeps_its_directory(
    start_server, owner: str
) -> None:
    server = start_server(owner, "driver")
    with Aeron(server.aeron_dir, driver_timeout=30) as client:
        os.kill(server.process.pid, signal.SIGSTOP)
        try:
            # Longer than a heartbeat takes, less than the driver timeout.
            wait_until(lambda: heartbeat_age_ms(server.aeron_dir) > 3_000, "it to be silent")
            other = start_another(server.aeron_dir, PROCESS_NAMESPACE)
            _, errors = other.communicate(timeout=30)
        finally:
            os.kill(server.process.pid, signal.SIGCONT)
        assert other.returncode == 1
        assert "Active media driver detected" in errors
        assert not client.closed


@OWNERS
def test_a_killed_driver_leaves_its_directory_at_once_though_clients_are_there(
    start_server, owner: str
) -> None:
    server = start_server(owner, "driver")
    with Aeron(server.aeron_dir, driver_timeout=30):
        server.process.kill()
        begin = time.monotonic()
        other = start_another(server.aeron_dir)
        try:
            assert other.stdout is not None
            assert "ready" in other.stdout.readline()
            assert time.monotonic() - begin < 8.0  # the reference would wait for ten seconds
        finally:
            other.kill()
            other.communicate()
