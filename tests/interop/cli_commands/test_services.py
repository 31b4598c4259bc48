"""``aerolog driver``, ``archiving-driver`` and ``archive`` as processes."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.interop


def services(aeron_dir: Path, tmp_path: Path) -> dict[str, list[object]]:
    return {
        "driver": ["driver", f"-Daeron.dir={aeron_dir}", "-Daeron.threading.mode=SHARED"],
        "archiving-driver": [
            "archiving-driver",
            f"-Daeron.dir={aeron_dir}",
            "-Daeron.threading.mode=SHARED",
            "-Daeron.archive.threading.mode=SHARED",
            f"-Daeron.archive.dir={tmp_path / 'archive'}",
        ],
    }


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("name", ["driver", "archiving-driver"])
def test_a_service_says_that_it_is_ready_and_ends_with_0(
    aerolog: Any, aeron_dir: Path, tmp_path: Path, name: str, number: signal.Signals
) -> None:
    service = aerolog(*services(aeron_dir, tmp_path)[name])
    assert str(aeron_dir) in service.next_line()

    service.signal(number)

    assert service.wait() == 0
    assert service.stdout.count(b"\n") == 1
    assert service.stderr == b""


def test_an_archive_runs_beside_a_driver(aerolog: Any, our_driver: Any, tmp_path: Path) -> None:
    archive = aerolog("archive", "--archive-dir", tmp_path / "archive", on=our_driver)
    assert "ready" in archive.next_line()

    listed = aerolog("recordings", "list", "--json", on=our_driver).json()

    assert listed == []
    archive.signal(signal.SIGTERM)
    assert archive.wait() == 0


def test_a_service_starts_with_an_empty_environment_from_anywhere(
    aeron_dir: Path, tmp_path: Path
) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "aerolog.tools.main", "driver", f"-Daeron.dir={aeron_dir}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={},
        cwd=tmp_path,
    ) as driver:
        assert driver.stdout is not None
        assert driver.stderr is not None
        ready = driver.stdout.readline()
        driver.send_signal(signal.SIGINT)
        assert driver.wait(30) == 0
        assert str(aeron_dir).encode() in ready
        assert driver.stderr.read() == b""


def test_the_environment_is_weaker_than_options_and_files_in_their_order(
    aerolog: Any, aeron_dir: Path, tmp_path: Path
) -> None:
    file = tmp_path / "driver.properties"
    file.write_text("aeron.ipc.term.buffer.length = 128k\naeron.timer.interval: 2s\n")

    driver = aerolog(
        "driver",
        "-Daeron.print.configuration=true",
        "-Daeron.ipc.term.buffer.length=64k",
        file,
        "-Daeron.timer.interval=3s",
        AERON_DIR=str(aeron_dir),
        AERON_IPC_TERM_BUFFER_LENGTH="256k",
        AERON_TERM_BUFFER_SPARSE_FILE="0",
    )
    printed = [driver.next_line().strip()]
    while not printed[-1].startswith("aerolog driver ready: "):
        printed.append(driver.next_line().strip())
    assert str(aeron_dir) in printed[-1]
    driver.signal(signal.SIGINT)
    assert driver.wait() == 0

    assert printed[0] == "MediaDriver.Context"
    assert f"ipcTermBufferLength={128 * 1024}" in printed
    assert f"timerIntervalNs={3 * 10**9}" in printed
    assert "termBufferSparseFile=false" in printed


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["-Daeron.threading.mode=shared"], b"aeron.threading.mode"),
        (["-Daeron.conductor.idle.strategy=com.example.Mine"], b"com.example.Mine"),
        (["-Daeron.term.buffer.length=64q"], b"64q should end with: k, m, or g."),
        (["no-such.properties"], b"no-such.properties"),
        (["-Dfoo"], b"malformed define: foo"),
    ],
)
def test_unusable_configuration_is_named_and_exits_2(
    aerolog: Any, aeron_dir: Path, arguments: list[str], named: bytes
) -> None:
    driver = aerolog("driver", f"-Daeron.dir={aeron_dir}", *arguments)

    assert driver.wait() == 2
    assert named in driver.stderr
    assert driver.stderr.count(b"\n") == 1
    assert driver.stdout == b""
    assert not aeron_dir.exists()


def test_a_second_driver_refuses_the_directory_of_a_live_one(aerolog: Any, our_driver: Any) -> None:
    second = aerolog("driver", f"-Daeron.dir={our_driver.aeron_dir}")

    assert second.wait() == 1
    assert b"ctive" in second.stderr
    assert second.stdout == b""
