"""Plays scenarios of the simulation by seed: ``python -m aerolog.testing KIND SEED``."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from aerolog.testing.archive_scenario_run import run_scenario
from aerolog.testing.scenarios import Kind, make_scenario
from aerolog.testing.seeds import run_seed_ranges
from aerolog.transport.errors import AerologError

if TYPE_CHECKING:
    from collections.abc import Sequence

_EXIT_OK = 0
_EXIT_FAILED = 1


def main(argv: Sequence[str]) -> int:
    """Play what the arguments ask for.

    Returns:
        0 when everything held, 1 when a seed failed, 2 for unusable arguments.
    """
    options = _parser().parse_args(argv)
    kind = Kind(options.kind)
    if options.count == 1:
        return _play_one(kind, options.seed, trace=options.trace)
    return _play_range(kind, range(options.seed, options.seed + options.count), options.processes)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m aerolog.testing",
        description="Play scenarios of drivers, clients and archives in one thread under a seed.",
        epilog="The same seed of the same version gives the same run. Exit code 1: a seed failed.",
    )
    parser.add_argument("kind", choices=[kind.value for kind in Kind], help="what it is about")
    parser.add_argument("seed", type=int, help="which scenario; with --count the first of them")
    parser.add_argument("--count", type=int, default=1, metavar="N", help="play N seeds from here")
    parser.add_argument(
        "--trace", action="store_true", help="print everything that happens (of one seed)"
    )
    parser.add_argument(
        "--processes",
        type=int,
        default=os.cpu_count() or 1,
        metavar="P",
        help="workers for several seeds (default: one a core)",
    )
    return parser


def _play_one(kind: Kind, seed: int, *, trace: bool) -> int:
    scenario = make_scenario(kind, seed)
    _say(str(scenario))
    try:
        outcome = run_scenario(scenario, _say if trace else None)
    except (AerologError, AssertionError) as error:
        _say(f"FAILED: {type(error).__name__}: {error}")
        return _EXIT_FAILED
    _say(f"passed: {outcome}")
    return _EXIT_OK


def _play_range(kind: Kind, seeds: range, processes: int) -> int:
    failed = [played for played in run_seed_ranges([(kind, seeds)], processes) if played.failure]
    for played in failed:
        _say(str(played))
    _say(f"{len(seeds)} seeds of {kind.value}, {len(failed)} failed")
    return _EXIT_FAILED if failed else _EXIT_OK


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
