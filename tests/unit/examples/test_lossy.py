"""The demo of a lossy UDP stream, run whole and small."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from prerequisites import skip_without

ROOT = Path(__file__).parents[3]
TIMEOUT_S = 90


def start(out: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "examples.lossy", "--out", str(out), *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def leftovers(pid: int) -> list[str]:
    """Namespaces and directories of a run that has ended."""
    namespaces = [
        path.name for path in Path("/run/netns").glob("aerolog-*") if path.name.endswith(f"-{pid}")
    ]
    return namespaces + [path.name for path in Path("/dev/shm").glob(f"aerolog-lossy-{pid}-*")]


def digests(output: str) -> set[str]:
    return set(re.findall(r"^(?:sent|on disk|replayed) +(.* sha256 \w{64})$", output, re.MULTILINE))


def counter(output: str, name: str) -> tuple[int, int]:
    """Its values near and far."""
    (found,) = re.findall(rf"^{name} +([\d,]+) +([\d,]+)$", output, re.MULTILINE)
    return int(found[0].replace(",", "")), int(found[1].replace(",", ""))


@pytest.mark.parametrize("network", ["namespaces", "loopback"])
def test_a_lossy_stream_is_recorded_and_replayed_byte_by_byte(network: str, tmp_path: Path) -> None:
    arguments = ["--messages", "4000", "--longest", "3000", "--loss", "0.05"]
    if network == "loopback":
        arguments.append("--loopback")
    demo = start(tmp_path / "out", *arguments)
    out, err = demo.communicate(timeout=TIMEOUT_S)
    assert demo.returncode == 0, out + err
    assert leftovers(demo.pid) == []
    (digest,) = digests(out)
    assert digest.startswith("4,000 messages, ")
    assert out.splitlines()[-1] == "byte-identical"
    for name in ("NAKs sent", "NAKs received", "Retransmits sent", "Retransmitted bytes"):
        assert min(counter(out, name)) > 0, name
    assert counter(out, "Loss gap fills") == (0, 0)
    assert len(list((tmp_path / "out" / "archive").glob("0-*.rec"))) == 1
    if network == "namespaces" and "veth" not in out.splitlines()[0]:
        skip_without(out.splitlines()[0])


def test_a_wire_that_loses_nothing_needs_no_retransmission(tmp_path: Path) -> None:
    demo = start(tmp_path / "out", "--messages", "200", "--loss", "0", "--loopback")
    out, err = demo.communicate(timeout=TIMEOUT_S)
    assert demo.returncode == 0, out + err
    assert len(digests(out)) == 1


def test_an_interrupted_run_leaves_nothing(tmp_path: Path) -> None:
    demo = start(tmp_path / "out", "--messages", "400000")
    assert demo.stdout is not None
    assert demo.stdout.readline().startswith("two ")
    demo.send_signal(signal.SIGTERM)
    _, err = demo.communicate(timeout=TIMEOUT_S)
    assert demo.returncode == 130
    # Not always the last line: a service on its way into a namespace may find it gone, and say so.
    assert "interrupted" in err.splitlines()
    assert leftovers(demo.pid) == []


def test_what_cannot_be_is_told_in_a_line(tmp_path: Path) -> None:
    demo = start(tmp_path / "out", "--messages", "10", "--loss", "7", "--loopback")
    _, err = demo.communicate(timeout=TIMEOUT_S)
    assert demo.returncode == 1
    assert err.splitlines()[-1].startswith("FAILED: ")
    assert "Traceback" not in err
    assert leftovers(demo.pid) == []
