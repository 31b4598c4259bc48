"""What both print and answer where something is missing, saved, or to be stopped."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from peer.artifact import toolchain
from peer.process import ServerProcess
from peer.raw_client import RawClient
from peer.servers import ServerSpec, start
from peer.tools import java_tool

from aerolog.tools.main import main
from aerolog.tools.stat.error_forms import parse_saved
from aerolog.tools.views.driver_view import DriverView
from aerolog.transport.client import Aeron
from aerolog.transport.protocol import commands

from .conftest import DEADLINE_S, LOSSY, SAMPLES, UNKNOWN_PUBLICATION, wait_until

pytestmark = [pytest.mark.interop, pytest.mark.error_log("unknown publication")]

TOOLS = {
    "stat": ("AeronStat", ["watch=false"]),
    "errors": ("ErrorStat", []),
    "loss": ("LossStat", []),
    "streams": ("StreamStat", []),
    "backlog": ("BacklogStat", []),
    "driver-tool": ("DriverTool", []),
}


def first_line(text: str) -> str:
    return text.split("\n", 1)[0]


@pytest.mark.parametrize("command", TOOLS)
def test_a_directory_that_is_missing_ends_both_alike(
    point, java_tools, our_tools, tmp_path, command
):
    point(tmp_path / "nix")
    tool, arguments = TOOLS[command]

    theirs, ours = java_tools(tool, *arguments), our_tools(command, "--classic", *arguments)

    assert theirs.code == ours.code == 1
    assert ours.out == theirs.out
    assert first_line(ours.err) == first_line(theirs.err)


@pytest.mark.parametrize("command", sorted(TOOLS.keys() - {"loss"}))
@pytest.mark.parametrize("content", [bytes(100), (1 << 16).to_bytes(4, "little") + bytes(5000)])
def test_a_file_that_is_short_or_of_another_version_ends_both_alike(
    point, java_tools, our_tools, tmp_path, command, content
):
    (point(tmp_path) / "cnc.dat").write_bytes(content)
    tool, arguments = TOOLS[command]

    theirs, ours = java_tools(tool, *arguments), our_tools(command, "--classic", *arguments)

    assert theirs.code == ours.code == 1
    assert ours.out == theirs.out
    assert first_line(ours.err) == first_line(theirs.err)


@pytest.mark.parametrize("content", [b"", bytes(4096), b"\xff" * 4096])
def test_any_loss_report_reads_alike(point, java_tools, our_tools, tmp_path, content):
    (point(tmp_path) / "loss-report.dat").write_bytes(content)

    theirs, ours = java_tools("LossStat"), our_tools("loss", "--classic")

    assert (ours.code, ours.out) == (theirs.code, theirs.out)


def test_a_delay_that_is_no_number_ends_both_alike(busy, point, java_tools, our_tools):
    point(busy.copy)

    theirs = java_tools("AeronStat", "watch=false", "delay=x")
    ours = our_tools("stat", "--classic", "watch=false", "delay=x")

    assert theirs.code == ours.code == 1
    assert first_line(ours.err) == first_line(theirs.err)


def test_errors_of_a_file_read_alike(busy, point, our_tools, tmp_path):
    """The section of the error log in a file of its own, and behind other bytes."""
    lengths = DriverView.open(busy.copy).lengths
    section = (busy.copy / "cnc.dat").read_bytes()[lengths.total - lengths.error_log :]
    file = tmp_path / "section"
    file.write_bytes(bytes(64) + section)
    point(busy.copy)
    properties = {
        "aeron.samples.error.file.name": str(file),
        "aeron.samples.error.file.offset": "64",
    }

    theirs = java_tool(f"{SAMPLES}ErrorStat", properties=properties)
    ours = our_tools("errors", "--classic", "--file", str(file), "--offset", "64")

    assert f"unknown publication: {UNKNOWN_PUBLICATION}" in theirs
    assert (ours.code, ours.out) == (0, theirs)


@pytest.mark.parametrize("kind", ["ours", "reference"])
def test_errors_that_a_starting_driver_saved_are_read(start_server, aeron_dir, capfd, kind):
    """A driver that dies leaves errors; the next one there saves them beside its directory."""
    first = start_server(kind, "driver", aeron_dir=aeron_dir)
    raw = RawClient(str(aeron_dir))
    raw.do(lambda i, n: commands.RemovePublication(i, n, UNKNOWN_PUBLICATION))
    view = DriverView.open(aeron_dir)
    wait_until(view.errors, "an error")
    expected = view.errors()
    first.process.kill()
    # Dead for long, so that the next one need not wait for the heartbeat to get old.
    raw.cnc.to_driver.consumer_heartbeat_ms = 1
    start_server(kind, "driver", aeron_dir=aeron_dir)
    (saved,) = aeron_dir.parent.glob(f"{aeron_dir.name}-*-error.log")
    try:
        assert parse_saved(saved.read_text()) == expected
        capfd.readouterr()
        assert main(["errors", "--file", str(saved)]) == 0
        assert f"unknown publication: {UNKNOWN_PUBLICATION}" in capfd.readouterr().out
    finally:
        saved.unlink()


@pytest.fixture(params=["ours", "reference"])
def stoppable(request, reference, aeron_dir):
    """A driver that stops when asked: as a process of its own, the reference's main class."""
    if request.param == "ours":
        process = start("ours", ServerSpec("driver", aeron_dir, properties=LOSSY)).process
    else:
        properties = ServerSpec("driver", aeron_dir, properties=LOSSY).all_properties()
        command = toolchain().command("io.aeron.driver.MediaDriver", properties=properties)
        process = ServerProcess("java-media-driver", command)
    with Aeron(str(aeron_dir), driver_timeout=60):
        pass  # a client that connects shows that the driver is up
    yield process
    process.kill()  # and wait, also for one that has ended


@pytest.mark.parametrize("form", [("--classic",), ("--yes",)])
def test_either_driver_stops_when_asked(stoppable, aeron_dir, capfd, form):
    capfd.readouterr()

    code = main(["driver-tool", "terminate", *form, "--aeron-dir", str(aeron_dir)])

    out, err = capfd.readouterr()
    assert (code, out) == (0, "")
    assert ("has stopped" in err) == (form == ("--yes",))
    wait_until(lambda: not stoppable.running, "the process's end")


def test_a_driver_of_ours_stops_when_the_reference_asks(start_server, aeron_dir):
    server = start_server("ours", "driver", aeron_dir=aeron_dir, properties=LOSSY)

    said = java_tool(f"{SAMPLES}DriverTool", "terminate", properties={"aeron.dir": str(aeron_dir)})

    assert said == ""
    assert server.process.wait() == 0


@pytest.mark.parametrize("implementation", ["ours", "reference"])
def test_watching_begins_each_look_with_a_clean_screen(busy, implementation):
    environ = {**os.environ, "AERON_DIR": str(busy.copy)}
    if implementation == "ours":
        command = [sys.executable, "-m", "aerolog.tools.main", "stat", "--classic", "delay=0"]
    else:
        properties = {"aeron.dir": str(busy.copy)}
        command = toolchain().command(f"{SAMPLES}AeronStat", "delay=0", properties=properties)
    child = subprocess.Popen(command, stdout=subprocess.PIPE, env=environ)
    assert child.stdout is not None
    seen = b""
    deadline = time.monotonic() + DEADLINE_S
    while seen.count(b"\x1b[2J\x1b[H") < 3:
        assert time.monotonic() < deadline
        seen += os.read(child.stdout.fileno(), 65_536)
    child.send_signal(signal.SIGTERM)
    child.communicate(timeout=DEADLINE_S)

    assert seen.startswith(b"\x1b[2J\x1b[H")
    assert b"--\n\x1b[2J\x1b[H" in seen
    assert child.returncode == 143


def test_a_copy_is_left_as_it_is(busy, point, our_tools, tmp_path):
    before = tmp_path / "before"
    shutil.copytree(busy.copy, before)
    point(busy.copy)

    for command, (_, arguments) in TOOLS.items():
        assert our_tools(command, "--classic", *arguments).code == 0
        assert our_tools(command, "--json").code == 0

    assert contents(busy.copy) == contents(before)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}
