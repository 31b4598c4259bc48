"""What a client refers to goes with it, without Python's garbage collector."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from aerolog.archive.client import AeronArchive
from aerolog.transport.client import Aeron
from aerolog.transport.errors import AeronTimeoutError, ArchiveError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NOWHERE = "aeron:ipc?alias=nobody"


@pytest.fixture(scope="module")
def aeron_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of an archive in a process of its own, so that only the clients' logs are mapped here."""
    home = tmp_path_factory.mktemp("served")
    command = [sys.executable, "-m", "aerolog", "archiving-driver"]
    command += ["--aeron-dir", str(home / "aeron"), "--archive-dir", str(home / "archive")]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as server:
        yield str(home / "aeron")
        server.terminate()


@pytest.fixture
def _no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def mapped_logs() -> int:
    return sum(".logbuffer" in line for line in Path("/proc/self/maps").read_text().splitlines())


def refused(aeron: Aeron) -> None:
    with AeronArchive(aeron) as archive, pytest.raises(ArchiveError):
        archive.start_position(77)


def refused_replay(aeron: Aeron) -> None:
    with AeronArchive(aeron) as archive, pytest.raises(ArchiveError):
        archive.replay(77, 0, 64, channel="aeron:ipc", stream_id=9)


def unanswered(aeron: Aeron) -> None:
    with pytest.raises(AeronTimeoutError):
        AeronArchive(aeron, request_channel=NOWHERE, request_stream_id=99, message_timeout=0.2)


@pytest.mark.usefixtures("_no_collector")
@pytest.mark.parametrize("fail", [refused, refused_replay, unanswered])
def test_what_fails_keeps_no_log_mapped(aeron_dir: str, fail: Callable[[Aeron], None]) -> None:
    before = mapped_logs()
    for _ in range(3):
        with Aeron(aeron_dir) as aeron:
            fail(aeron)
    assert mapped_logs() == before
