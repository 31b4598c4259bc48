"""Scenarios by the thousand: seeds run in worker processes, failures with how to repeat them."""

from __future__ import annotations

import gc
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stderr
from dataclasses import dataclass
from io import StringIO
from multiprocessing import get_context
from typing import TYPE_CHECKING, Final

from aerolog.testing.archive_scenario_run import run_scenario
from aerolog.testing.scenarios import Kind, make_scenario
from aerolog.transport.errors import AerologError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from aerolog.testing.scenario_run import Outcome

_CHUNK: Final = 20
_COLLECT_EVERY: Final = 10  # a simulation keeps the garbage collector from its work


@dataclass(frozen=True, slots=True)
class SeedResult:
    """The outcome of the scenario that one seed makes.

    Attributes:
        kind: the kind of the scenario.
        seed: the seed of the scenario.
        outcome: None when it failed.
        failure: what it failed of, empty when it did not.
    """

    kind: Kind
    seed: int
    outcome: Outcome | None
    failure: str

    @property
    def command(self) -> str:
        """What replays it, with everything that happens."""
        return replay_command(self.kind, self.seed)

    def __str__(self) -> str:
        return f"{self.failure or 'passed'}\n    replay: {self.command}"


def replay_command(kind: Kind, seed: int) -> str:
    """The command that plays one seed again, with a trace."""
    return f"python -m aerolog.testing {kind.value} {seed} --trace"


def run_seed(kind: Kind, seed: int) -> SeedResult:
    """Run one seed; what it raises becomes its failure."""
    try:
        outcome = run_scenario(make_scenario(kind, seed))
    except (AerologError, AssertionError) as error:
        return SeedResult(kind, seed, None, f"{kind.value} seed {seed}: {_text(error)}")
    except Exception as error:  # noqa: BLE001 -- a defect of any sort is what seeds are for
        return SeedResult(kind, seed, None, f"{kind.value} seed {seed}: unexpected {_text(error)}")
    return SeedResult(kind, seed, outcome, "")


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def run_seeds(kind: Kind, seeds: Sequence[int]) -> list[SeedResult]:
    """Run several seeds in this process."""
    found = []
    for number, seed in enumerate(seeds):
        if number % _COLLECT_EVERY == 0:
            gc.collect()
        with redirect_stderr(StringIO()):  # warnings of restarts
            found.append(run_seed(kind, seed))
    return found


def run_seed_ranges(wanted: Iterable[tuple[Kind, range]], processes: int) -> Iterator[SeedResult]:
    """Run seeds of several kinds in worker processes.

    Args:
        wanted: seeds by kind.
        processes: how many workers.

    Yields:
        Every seed, in order.
    """
    chunks = [
        (kind, seeds[at : at + _CHUNK])
        for kind, seeds in wanted
        for at in range(0, len(seeds), _CHUNK)
    ]
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        for results in pool.map(run_seeds, *zip(*chunks, strict=True)):
            yield from results
