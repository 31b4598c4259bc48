"""The command that plays a seed again, and what a failing seed says."""

import subprocess
import sys

import pytest

from aerolog.testing import seeds
from aerolog.testing.scenarios import Kind


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "aerolog.testing", *arguments],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_a_seed_is_played_with_its_scenario_and_outcome():
    done = run("ipc", "3")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("ipc seed 3, ")
    assert lines[-1].startswith("passed: Outcome(fingerprint=")


def test_the_trace_has_turns_and_datagrams():
    done = run("udp", "3", "--trace")
    assert done.returncode == 0, done.stderr
    assert "has a driver" in done.stdout
    assert "SetupFrame(" in done.stdout
    assert "driver sender did" in done.stdout


def test_several_seeds_are_counted():
    done = run("ipc", "0", "--count", "4", "--processes", "2")
    assert (done.returncode, done.stdout) == (0, "4 seeds of ipc, 0 failed\n"), done.stderr


@pytest.mark.parametrize("arguments", [(), ("ipc",), ("carrier-pigeon", "1"), ("ipc", "one")])
def test_unusable_arguments_are_refused(arguments):
    done = run(*arguments)
    assert done.returncode == 2
    assert "usage: python -m aerolog.testing" in done.stderr


def test_help_names_everything():
    done = run("--help")
    assert done.returncode == 0
    for word in ("ipc", "udp", "archive", "--trace", "--count", "--processes", "Exit code 1"):
        assert word in done.stdout


def test_a_failing_seed_names_the_command_that_replays_it(monkeypatch):
    def fail(_scenario):
        raise AssertionError("it broke")

    monkeypatch.setattr(seeds, "run_scenario", fail)
    played = seeds.run_seed(Kind.UDP, 7)
    assert str(played) == (
        "udp seed 7: AssertionError: it broke\n    replay: python -m aerolog.testing udp 7 --trace"
    )
