"""Scenarios by the thousand: what arrives is what was sent, or the stream ended with a reason."""

import os
import subprocess
import sys

import pytest

from aerolog.testing.archive_scenario_run import run_scenario
from aerolog.testing.scenarios import Kind, make_scenario
from aerolog.testing.seeds import run_seed_ranges

PROCESSES = 2
SHORT = [(Kind.UDP, range(700)), (Kind.IPC, range(200)), (Kind.ARCHIVE, range(150))]
LONG = [(kind, range(1_000_000, 1_003_000)) for kind in Kind]


def play_all(wanted):
    played = list(run_seed_ranges(wanted, PROCESSES))
    failed = [str(one) for one in played if one.failure]
    assert not failed, f"{len(failed)} of {len(played)} seeds failed\n" + "\n".join(failed[:20])
    return [one.outcome for one in played]


@pytest.mark.timeout(600)
def test_short_seeds_hold():
    outcomes = play_all(SHORT)
    assert sum(outcome.received for outcome in outcomes) > 100 * len(outcomes)
    assert any(outcome.ended for outcome in outcomes)  # kills and long stalls do end streams


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_many_more_seeds_hold():
    assert len(play_all(LONG)) == sum(len(seeds) for _, seeds in LONG)


@pytest.mark.parametrize("kind", Kind)
def test_a_seed_gives_the_same_run_in_another_process(kind):
    seeds = range(40, 52)
    here = [run_scenario(make_scenario(kind, seed)).fingerprint for seed in seeds]
    program = (
        "import sys\n"
        "from aerolog.testing.archive_scenario_run import run_scenario\n"
        "from aerolog.testing.scenarios import make_scenario\n"
        "for seed in sys.argv[2:]:\n"
        "    print(run_scenario(make_scenario(sys.argv[1], int(seed))).fingerprint)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, kind.value, *map(str, seeds)],
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "12345", "AERON_TERM_BUFFER_LENGTH": "1m"},
    )
    assert done.stdout.split() == here
    assert len(set(here)) == len(here)
