"""An archive crashed at each operation on its disk: a kill, a torn write, a loss of power."""

from __future__ import annotations

import subprocess
import sys

import archive_crashes
import pytest
from crash_scripts import SCRIPTS, Aftermath, Setting, fault_points
from crash_steps import TERM

from aerolog.testing.streams import StreamCheckError

PROCESSES = 2
KILLED = [f"{script}:0:-" for script in SCRIPTS] + ["record:0:CRC-32C"]
POWER_LOST = [f"{script}:{level}" for script in SCRIPTS for level in ("1:CRC-32", "2:-")]
EVERYTHING = [
    f"{script}:{level}:{checksum}"
    for script in SCRIPTS
    for level in (0, 1, 2)
    for checksum in ("-", "CRC-32C")
]


def crash_all(settings: list[str], *, thorough: bool = False) -> list[archive_crashes.Crash]:
    played = list(archive_crashes.crash_everywhere(settings, PROCESSES, thorough=thorough))
    failed = [str(crash) for crash in played if crash.failure]
    assert not failed, f"{len(failed)} of {len(played)} crashes\n" + "\n".join(failed[:20])
    return played


@pytest.mark.timeout(600)
def test_nothing_recorded_is_lost_wherever_the_archive_is_killed() -> None:
    played = crash_all(KILLED)
    for setting in KILLED:
        points = {crash.number for crash in played if crash.setting == setting}
        assert points == set(range(len(points)))
        assert len(points) > 100
    ways = {crash.way.partition("-")[0].partition("+")[0] for crash in played}
    assert ways == {"kill", "torn"}
    assert any("+" in crash.way for crash in played)
    steps = {crash.step.split(" ")[0] for crash in played}
    assert steps >= {"record", "grow", "stop", "extend", "truncate", "purge", "detach", "attach"}
    assert steps >= {"start", "delete", "migrate", "update", "replicate"}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("setting", ["moves:0:-", "meetings:0:-", "meetings:2:CRC-32"])
def test_times_move_with_their_segments_wherever_the_archive_is_killed(setting: str) -> None:
    """What is told of times is checked in each of these states; here all of them are known."""
    steps = set()
    for point in archive_crashes.points_of(setting):
        if not point.progress.step.startswith("migrate"):
            continue
        steps.add(point.operation.split(" ")[0])
        aftermath = Aftermath(Setting.parse(setting), point.progress, point.after_kill())
        aftermath.check()
        lost = 0
        for outcome in point.progress.allowed.get(2, ()) if "meetings" in setting else ():
            # This one goes on from there, and has notes that are not in its file yet.
            assert outcome is not None
            lost = sum(begin >= 3 * TERM for begin in outcome.log.begins)
        unknown = {i: count for i, count in aftermath.unknown.items() if count}
        assert unknown in ({}, {2: unknown.get(2, 0)}), (point.operation, unknown)
        assert unknown.get(2, 0) <= lost, (point.operation, unknown)
    assert steps >= {"create", "write", "rename", "link", "store_i64", "remove"}


@pytest.mark.timeout(600)
def test_nothing_synced_is_lost_wherever_power_is_lost() -> None:
    played = crash_all(POWER_LOST)
    assert {crash.way for crash in played} == {"power-0", "power-1"}


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("setting", EVERYTHING)
def test_nothing_is_lost_in_any_way_of_crashing(setting: str) -> None:
    assert len(crash_all([setting], thorough=True)) > 1000


def test_operations_are_of_every_kind() -> None:
    kinds = {
        point.operation.split(" ")[0]
        for script in SCRIPTS
        for point in fault_points(Setting(script, 1, "CRC-32C"))
    }
    assert kinds >= {"create", "write", "store", "store_i32", "store_i64", "set_length"}
    assert kinds >= {"allocate", "remove", "link", "sync", "sync_dir", "flush"}


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, archive_crashes.__file__, *arguments],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_a_crash_that_leaves_something_wrong_names_the_command_that_replays_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise StreamCheckError("recording 0 is lost")

    monkeypatch.setattr(archive_crashes.Aftermath, "check", fail)
    crash = archive_crashes.crash("record:0:-", 40, "kill")
    first, command = str(crash).splitlines()
    assert first.endswith("StreamCheckError: recording 0 is lost")
    assert (
        command == "    replay: python tests/support/archive_crashes.py record:0:- 40 kill --trace"
    )


def test_the_command_plays_one_crash_with_everything_that_happens() -> None:
    done = run("moves:1:CRC-32", "60", "power-1", "--trace")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert any("has an archive" in line for line in lines)
    assert lines[-2].startswith("moves:1:CRC-32 power-1 before operation 60 (")
    assert lines[-2].endswith("passed")


def test_the_command_lists_the_operations() -> None:
    done = run("record:0:-", "--list")
    assert done.returncode == 0, done.stderr
    assert "set_length 0-0.rec at 65536" in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [(), ("record",), ("dance:0:-",), ("record:0:-", "99999"), ("record:0:-", "30", "by-flood")],
)
def test_unusable_arguments_are_refused(arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert "usage: python tests/support/archive_crashes.py" in done.stderr
