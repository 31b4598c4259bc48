"""Runs the test suites that CI runs, each a pytest call of its own with a time budget.

Usage: suites.py [NAME ...]. Exit code 1 when a suite fails, collects nothing or, with CI=true,
takes longer than its budget. Tests marked slow are left to ``make test-long``.
"""

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 1.2  # of a budget: what is over that hangs


@dataclass(frozen=True)
class Suite:
    """What one pytest call runs, how long it may take, and in how many processes.

    More than one is for tests that wait for others most of the time; files stay whole. They begin
    with those of the most tests; ``in_order`` keeps the order of the paths, what takes long first.
    """

    paths: tuple[str, ...]
    marks: str
    budget_minutes: float
    workers: int = 1
    in_order: bool = False


LOCAL = "not spark and not database"
SUITES = {
    "unit": Suite(
        ("tests/unit", "tests/property", "tests/golden", "tests/fuzz"), LOCAL, 8, workers=2
    ),
    # What the pages of the documentation show, run against live servers, waits as interop does.
    "interop": Suite(("tests/interop", "tests/pages"), LOCAL, 25, workers=2),
    "simulation": Suite(("tests/sim",), LOCAL, 8),
    "crash": Suite(("tests/crash",), LOCAL, 8),
    "spark": Suite(("tests",), "(spark or database)", 12),
    # Linters, wheels of three Pythons and the site are processes of their own, waited for.
    "docs-tools": Suite(
        ("tests/packaging", "tests/docs", "tests/typing", "tests/tidy"),
        LOCAL,
        7,
        workers=2,
        in_order=True,
    ),
}


@dataclass(frozen=True)
class Outcome:
    """How a suite ended."""

    name: str
    seconds: float
    budget_seconds: float
    verdict: str


def has_tests(path: str) -> bool:
    """Whether a folder holds any test module yet."""
    return any(Path(path).rglob("test_*.py"))


def call(command: list[str], limit: float | None) -> int:
    """Runs pytest; one that hangs is interrupted first, so that it ends what it started."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    try:
        return process.wait(limit)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        try:
            return process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


def run(name: str, suite: Suite, *, strict: bool) -> Outcome:
    """One pytest call, measured."""
    budget = suite.budget_minutes * 60
    paths = [path for path in suite.paths if has_tests(path)]
    if not paths:
        return Outcome(name, 0.0, budget, "no tests yet")
    print(
        f"\n=== suite {name}: {' '.join(paths)} (budget {suite.budget_minutes:g} min)", flush=True
    )
    command = [sys.executable, "-m", "pytest", "-q", "--durations=8", "-m"]
    command += [f"not slow and {suite.marks}", *paths]
    if suite.workers > 1:
        command += ["-n", str(suite.workers), "--dist", "loadfile"]
    if suite.in_order:
        command.append("--no-loadscope-reorder")
    begin = time.monotonic()
    code = call(command, budget * PATIENCE if strict else None)
    seconds = time.monotonic() - begin
    if code == 5:  # pytest collected nothing
        verdict = "no tests yet" if name == "spark" else "collected nothing"
    elif code != 0:
        verdict = f"failed ({code})"
    elif strict and seconds > budget:
        verdict = "over its time budget"
    else:
        verdict = "passed"
    return Outcome(name, seconds, budget, verdict)


def main() -> int:
    """Runs the named suites, or all, and prints a table at the end."""
    names = sys.argv[1:] or list(SUITES)
    unknown = [name for name in names if name not in SUITES]
    if unknown:
        print(f"unknown suite {unknown[0]}: one of {', '.join(SUITES)}", file=sys.stderr)
        return 2
    strict = os.environ.get("CI") == "true"
    outcomes = [run(name, SUITES[name], strict=strict) for name in names]
    print("\nsuite         seconds   budget  verdict")
    for outcome in outcomes:
        print(
            f"{outcome.name:<12} {outcome.seconds:8.1f} {outcome.budget_seconds:8.0f}"
            f"  {outcome.verdict}"
        )
    good = {"passed", "no tests yet"}
    return 0 if all(outcome.verdict in good for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
