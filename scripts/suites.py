"""Runs the test suites that CI runs, each a pytest call of its own with a time budget.

Usage: suites.py [NAME ...]. At the end stand every test that was skipped, with its reason, the
suites that were left out for want of a package of the system, and a table. Exit code 1 when a
suite fails or collects nothing; with CI=true also when one takes longer than its budget or is
left out. Tests marked slow are left to ``make test-long``.
"""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree as ET

PATIENCE = 1.2  # of a budget: what is over that hangs
REPORTS = Path("build/reports")
LEFT_OUT = "left out"
JDK = ("openjdk-17-jdk-headless", "default-jdk-headless")


@dataclass(frozen=True)
class Suite:
    """What one pytest call runs, how long it may take, and in how many processes.

    More than one is for tests that wait for others most of the time; files stay whole. They begin
    with those of the most tests; ``in_order`` keeps the order of the paths, what takes long first.
    Without one of the packages of .ci/packages that it ``needs``, none of its tests is run.
    """

    paths: tuple[str, ...]
    marks: str
    budget_minutes: float
    workers: int = 1
    in_order: bool = False
    needs: tuple[str, ...] = ()


LOCAL = "not spark and not database"
SUITES = {
    "unit": Suite(
        ("tests/unit", "tests/property", "tests/golden", "tests/fuzz", "tests/tidy"),
        LOCAL,
        6,
        workers=2,
    ),
    # Commands that are given odd words, and files that are odd or change while they are read.
    "commands": Suite(("tests/commands",), LOCAL, 4, workers=2),
    "interop": Suite(("tests/interop",), LOCAL, 20, workers=3, needs=(*JDK, "maven")),
    # The samples of the documentation, run against live servers, wait as interop does.
    "samples": Suite(("tests/pages/test_samples.py",), LOCAL, 5, needs=(*JDK, "maven")),
    # What the site's first pages show, as a reader would do it.
    "stories": Suite(
        (
            "tests/pages/test_story.py",
            "tests/pages/test_start_programs.py",
            "tests/pages/test_time_pages.py",
        ),
        LOCAL,
        3,
        workers=2,
        in_order=True,
    ),
    "cluster": Suite(("tests/cluster",), LOCAL, 12, workers=2, needs=(*JDK, "maven")),
    "simulation": Suite(("tests/sim",), LOCAL, 8),
    "crash": Suite(("tests/crash",), LOCAL, 6),
    # Spark, SQL servers and object stores, wherever their tests are.
    "spark": Suite(("tests",), "(spark or database)", 12, needs=(*JDK, "postgresql")),
    # Wheels of three Pythons and the site are processes of their own, waited for.
    "docs-tools": Suite(
        ("tests/packaging", "tests/docs", "tests/typing"), LOCAL, 6, workers=2, in_order=True
    ),
}


@dataclass(frozen=True)
class Outcome:
    """How a suite ended, and the reasons of its skips with how many tests each of them skipped."""

    name: str
    seconds: float
    budget_seconds: float
    verdict: str
    skips: Counter[str] = field(default_factory=Counter)


def has_tests(path: str) -> bool:
    """Whether a folder holds any test module yet."""
    return Path(path).is_file() or any(Path(path).rglob("test_*.py"))


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


def skips(report: Path) -> Counter[str]:
    """The tests that were skipped, each with its reason, in pytest's report of a run."""
    if not report.exists():  # pytest was ended
        return Counter()
    found: Counter[str] = Counter()
    for case in ET.parse(report).iter("testcase"):
        for skip in case.iter("skipped"):
            if skip.get("type") == "pytest.skip":
                home = case.get("classname") or case.get("name")
                found[f"{home}: {skip.get('message')}"] += 1
    return found


def run(name: str, suite: Suite, *, strict: bool, missing: set[str]) -> Outcome:
    """One pytest call, measured; none without tests or what they need."""
    budget = suite.budget_minutes * 60
    paths = [path for path in suite.paths if has_tests(path)]
    if not paths:
        return Outcome(name, 0.0, budget, "no tests yet")
    if lacks := missing.intersection(suite.needs):
        return Outcome(name, 0.0, budget, f"{LEFT_OUT}, it needs {' and '.join(sorted(lacks))}")
    print(
        f"\n=== suite {name}: {' '.join(paths)} (budget {suite.budget_minutes:g} min)", flush=True
    )
    report = REPORTS / f"{name}.xml"
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "--durations=8", f"--junitxml={report}", "-m"]
    command += [f"not slow and {suite.marks}", *paths]
    if suite.workers > 1:
        command += ["-n", str(suite.workers), "--dist", "loadfile"]
    if suite.in_order:
        command.append("--no-loadscope-reorder")
    begin = time.monotonic()
    code = call(command, budget * PATIENCE if strict else None)
    seconds = time.monotonic() - begin
    if code == 5:  # pytest collected nothing
        verdict = "collected nothing"
    elif code != 0:
        verdict = f"failed ({code})"
    elif strict and seconds > budget:
        verdict = "over its time budget"
    else:
        verdict = "passed"
    return Outcome(name, seconds, budget, verdict, skips(report))


def missing_packages() -> set[str]:
    """The packages of the system that tests need and that are not there."""
    command = [Path(__file__).parent / "prerequisites", "--list", "test"]
    return set(subprocess.check_output(command, text=True).split())


def tell(outcomes: list[Outcome]) -> None:
    """Prints what was skipped, and a table."""
    skipped = Counter[str]()
    for outcome in outcomes:
        skipped.update(outcome.skips)
    if skipped:
        print(f"\nskipped: {skipped.total()} tests")
        for reason, count in sorted(skipped.items()):
            print(f"  {count:>4}  {reason}")
    print("\nsuite         seconds   budget  verdict")
    for outcome in outcomes:
        print(
            f"{outcome.name:<12} {outcome.seconds:8.1f} {outcome.budget_seconds:8.0f}"
            f"  {outcome.verdict}"
        )


def main() -> int:
    """Runs the named suites, or all, and prints what became of them."""
    names = sys.argv[1:] or list(SUITES)
    unknown = [name for name in names if name not in SUITES]
    if unknown:
        print(f"unknown suite {unknown[0]}: one of {', '.join(SUITES)}", file=sys.stderr)
        return 2
    strict = os.environ.get("CI") == "true"
    missing = missing_packages()
    outcomes = [run(name, SUITES[name], strict=strict, missing=missing) for name in names]
    tell(outcomes)
    left_out = sum(outcome.verdict.startswith(LEFT_OUT) for outcome in outcomes)
    good = sum(outcome.verdict in {"passed", "no tests yet"} for outcome in outcomes)
    if left_out:
        print(f"\n{left_out} of {len(outcomes)} suites were left out, nothing is known of them")
    return 0 if good + (0 if strict else left_out) == len(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
