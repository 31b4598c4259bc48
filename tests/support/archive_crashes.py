"""Crashes an archive at each operation on its disk: ``archive_crashes.py SETTING`` runs one.

A setting is a script, a sync level and a checksum: ``ends:1:CRC-32C``, ``moves:0:-``. See
`crash_scripts` for the scripts.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stderr
from dataclasses import dataclass
from functools import cache
from io import StringIO
from multiprocessing import get_context
from typing import TYPE_CHECKING, Final

from crash_scripts import (
    SCRIPTS,
    Aftermath,
    Setting,
    fault_points,
    power_loss,
    restart_points,
    states_of,
)

from aerolog.transport.errors import AerologError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from crash_disk import FaultPoint, State

_EXIT_OK: Final = 0
_EXIT_FAILED: Final = 1
_STRIPES: Final = 8
_COLLECT_EVERY: Final = 20  # a simulation keeps the garbage collector from its work
_REPLAY_EVERY: Final = 3
_GO_ON_EVERY: Final = 5
_CRASH_AGAIN_EVERY: Final = 13


@dataclass(frozen=True, slots=True)
class Crash:
    """One crash, and what came of it.

    Attributes:
        setting: of the archive.
        number: of the operation before which it crashed.
        way: ``kill``, ``torn-N`` (a part of a write or store was done) or ``power-N`` (power was
            lost); with ``+M`` the start after it was killed too, before its operation M.
        operation: the operation.
        step: what was under way.
        failure: what is wrong afterwards, empty when nothing is.
    """

    setting: str
    number: int
    way: str
    operation: str
    step: str
    failure: str = ""

    def __str__(self) -> str:
        return (
            f"{self.setting} {self.way} before operation {self.number} ({self.operation}) in"
            f" '{self.step}': {self.failure or 'passed'}\n"
            f"    replay: {replay_command(self.setting, self.number, self.way)}"
        )


def replay_command(setting: str, number: int, way: str) -> str:
    """The command that shows one crash again, with everything that happens."""
    return f"python tests/support/archive_crashes.py {setting} {number} {way} --trace"


@cache
def points_of(setting: str) -> list[FaultPoint]:
    """The operations of a setting's scenario; run once in a process."""
    with redirect_stderr(StringIO()):
        return fault_points(Setting.parse(setting))


def state_at(setting: str, number: int, way: str) -> State:
    """What one crash leaves.

    Args:
        setting: of the archive.
        number: of the operation.
        way: as of ``Crash``.

    Raises:
        ValueError: there is no such operation, or it cannot be crashed that way.
    """
    points = points_of(setting)
    if not 0 <= number < len(points):
        raise ValueError(f"{setting} has operations 0 to {len(points) - 1}, not {number}")
    first, again, second = way.partition("+")
    state = _state_of(setting, points[number], first)
    if not again:
        return state
    restart = restart_points(Setting.parse(setting), points[number].progress, state)
    if not second.isdigit() or int(second) >= len(restart):
        raise ValueError(f"the start after {first} has {len(restart)} operations: no {second}")
    return restart[int(second)].after_kill()


def _state_of(setting: str, point: FaultPoint, way: str) -> State:
    kind, _, seed = way.partition("-")
    if kind == "power" and seed.isdigit():
        return power_loss(point, int(seed))
    states = dict(states_of(Setting.parse(setting), point))
    if way not in states:
        raise ValueError(f"operation {point.number} is crashed by {', '.join(states)}, not {way}")
    return states[way]


def crash(
    setting: str,
    number: int,
    way: str,
    *,
    replay: bool = True,
    go_on: bool = True,
    trace: Callable[[str], object] | None = None,
) -> Crash:
    """Crash once, start again, and look; see ``Aftermath.check``."""
    state = state_at(setting, number, way)
    point = points_of(setting)[number]
    result = Crash(setting, number, way, point.operation, point.progress.step)
    aftermath = Aftermath(
        Setting.parse(setting), point.progress, state, trace, power_lost=way.startswith("power")
    )
    try:
        aftermath.check(replay=replay, go_on=go_on)
    except (AerologError, AssertionError) as error:
        return _failed(result, f"{type(error).__name__}: {error}")
    except Exception as error:
        return _failed(result, f"unexpected {type(error).__name__}: {error}")
    return result


def _failed(crash: Crash, failure: str) -> Crash:
    return Crash(crash.setting, crash.number, crash.way, crash.operation, crash.step, failure)


def ways_of(setting: str, point: FaultPoint, *, thorough: bool) -> Iterator[str]:
    """How to crash at an operation.

    Without syncs by a kill and within a write, now and then in the start that follows, too; with
    syncs, which those do not depend on, by a loss of power. If thorough by all of them.
    """
    parsed = Setting.parse(setting)
    for way, state in states_of(parsed, point):
        if parsed.sync_level > 0 and not thorough and not way.startswith("power"):
            continue
        yield way
        now_and_then = way == "kill" and point.number % _CRASH_AGAIN_EVERY == 0
        if now_and_then or (thorough and way in {"kill", "power-0"}):
            restart = restart_points(parsed, point.progress, state)
            yield from (f"{way}+{second.number}" for second in restart)


def crash_stripe(setting: str, stripe: int, thorough: bool) -> list[Crash]:
    """Crash at a part of the operations, in every way."""
    found: list[Crash] = []
    try:
        points = points_of(setting)
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        return [Crash(setting, 0, "kill", "the scenario itself", "start", text)]
    with redirect_stderr(StringIO()):  # warnings of restarts
        for point in points[stripe::_STRIPES]:
            for way in ways_of(setting, point, thorough=thorough):
                turn = len(found)
                if turn % _COLLECT_EVERY == 0:
                    gc.collect()
                replay, go_on = turn % _REPLAY_EVERY == 0, turn % _GO_ON_EVERY == 0
                found.append(crash(setting, point.number, way, replay=replay, go_on=go_on))
    return found


def crash_everywhere(
    settings: Iterable[str], processes: int, *, thorough: bool = False
) -> Iterator[Crash]:
    """Crash at every operation of several settings, in worker processes.

    Every state is compared with what may be left. Of some the recordings are replayed as well, and
    extended and compared again.

    Args:
        settings: of the archive.
        processes: how many workers.
        thorough: see ``ways_of``.
    """
    parts = [(setting, stripe, thorough) for setting in settings for stripe in range(_STRIPES)]
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        for crashes in pool.map(crash_stripe, *zip(*parts, strict=True)):
            yield from crashes


def main(argv: Sequence[str]) -> int:
    """Crash as the arguments say.

    Returns:
        0 when everything was as it must be, 1 when not, 2 for unusable arguments.
    """
    parser = _parser()
    options = parser.parse_args(argv)
    try:
        Setting.parse(options.setting)
        if options.number is not None:
            state_at(options.setting, options.number, options.way)
    except ValueError as error:
        parser.error(str(error))
    if options.list:
        for point in points_of(options.setting):
            _say(f"{point.number:4} {point.operation}  [{point.progress.step}]")
        return _EXIT_OK
    if options.number is not None:
        trace = _say if options.trace else None
        result = crash(options.setting, options.number, options.way, trace=trace)
        _say(str(result))
        return _EXIT_FAILED if result.failure else _EXIT_OK
    crashes = list(
        crash_everywhere([options.setting], options.processes, thorough=options.thorough)
    )
    failed = [crash for crash in crashes if crash.failure]
    for one in failed:
        _say(str(one))
    _say(f"{len(crashes)} crashes of {options.setting}, {len(failed)} failed")
    return _EXIT_FAILED if failed else _EXIT_OK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python tests/support/archive_crashes.py",
        description="Crash an archive at each operation on its disk, start it again, and compare.",
        epilog="The same operation gives the same crash. Exit code 1: something was lost or wrong.",
    )
    scripts = ", ".join(SCRIPTS)
    parser.add_argument("setting", help=f"SCRIPT:SYNC_LEVEL:CHECKSUM; scripts: {scripts}")
    parser.add_argument("number", type=int, nargs="?", help="of the operation; default: all")
    parser.add_argument(
        "way",
        nargs="?",
        default="kill",
        help="kill, torn-N (a part of a write) or power-N; +M kills the start after it as well",
    )
    parser.add_argument("--list", action="store_true", help="only list the operations")
    parser.add_argument("--thorough", action="store_true", help="in every way at every operation")
    parser.add_argument("--trace", action="store_true", help="print everything that happens")
    parser.add_argument(
        "--processes",
        type=int,
        default=os.cpu_count() or 1,
        metavar="P",
        help="workers (default: one a core)",
    )
    return parser


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
