"""Runs the test suites that CI runs, each a pytest call of its own with a time budget.

Usage: suites.py [NAME ...], suites.py quick for what to run before a commit, or suites.py --long
[ARGUMENT ...] for the tests marked slow, with further arguments for pytest. At the end stand every
test that was skipped, with its reason, a table, and one line that says how the whole ended. The
exit code is 1 when a suite failed or collected nothing, and 3 when all that ran passed but suites
or peers were left out. With CI=true it is also 1 when a suite takes longer than its budget, or when
something was left out.
"""

import os
import re
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
INCOMPLETE = 3
PYTEST = [sys.executable, "-m", "pytest", "-q", "--durations=8"]
PEER = re.compile(r"no (C|reference) (peer|agent): ")
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
    without: tuple[str, ...] = ()


LOCAL = "not spark and not database"
SUITES = {
    "unit": Suite(
        ("tests/unit", "tests/property", "tests/golden", "tests/fuzz", "tests/tidy"),
        LOCAL,
        9,
        workers=2,
    ),
    # Commands that are given odd words, and files that are odd or change while they are read.
    "commands": Suite(("tests/commands",), LOCAL, 3, workers=2),
    "interop": Suite(("tests/interop",), LOCAL, 21.5, workers=3, needs=(*JDK, "maven")),
    # The samples of the documentation, run against live servers, wait as interop does.
    "samples": Suite(("tests/pages/test_samples.py",), LOCAL, 4, needs=(*JDK, "maven")),
    # What the site's first pages show, as a reader would do it.
    "stories": Suite(
        (
            "tests/pages/test_story.py",
            "tests/pages/test_start_programs.py",
            "tests/pages/test_time_pages.py",
        ),
        LOCAL,
        2,
        workers=2,
        in_order=True,
    ),
    "cluster": Suite(("tests/cluster",), LOCAL, 9, workers=2, needs=(*JDK, "maven")),
    # The same scripts on ours and on the reference's: what they leave and what tools say is equal.
    "differential": Suite(("tests/differential",), LOCAL, 2, workers=2, needs=(*JDK, "maven")),
    "simulation": Suite(("tests/sim",), LOCAL, 4),
    "crash": Suite(("tests/crash",), LOCAL, 9.5),
    # What deletes or rewrites, against a reader of its own: nothing else is lost.
    "preservation": Suite(("tests/preservation",), LOCAL, 1.5, workers=2),
    # What becomes of the others when one part fails, of ours and of the reference's.
    "fate": Suite(("tests/fate",), LOCAL, 4.5, workers=2, needs=(*JDK, "maven")),
    # Spark, SQL servers and object stores, wherever their tests are.
    "spark": Suite(("tests",), "(spark or database)", 8, needs=(*JDK, "postgresql")),
    # Wheels of three Pythons and the site are processes of their own, waited for.
    "docs-tools": Suite(
        ("tests/packaging", "tests/docs", "tests/typing"), LOCAL, 6, workers=2, in_order=True
    ),
}

# Not one of the suites: the part of unit that needs neither a minute of its own nor many processes.
QUICK = Suite(
    ("tests/tidy", "tests/golden", "tests/unit"),
    LOCAL,
    3,
    workers=2,
    without=(
        "tests/unit/catalog",
        "tests/unit/catalog_pipeline",
        "tests/unit/catalog_scan",
        "tests/unit/catalog_search",
        "tests/unit/catalog_spark",
        "tests/unit/catalog_sql",
        "tests/unit/examples",
        "tests/unit/shell",
        "tests/unit/teardown",
        "tests/unit/testing_plugin",
        "tests/unit/top",
    ),
)


@dataclass(frozen=True)
class Outcome:
    """How a suite ended, and the reasons of its skips with how many tests each of them skipped."""

    name: str
    seconds: float
    budget_seconds: float
    verdict: str
    skips: Counter[str] = field(default_factory=Counter)

    @property
    def is_good(self) -> bool:
        """Whether nothing failed."""
        return self.verdict in {"passed", "no tests yet"} or self.is_left_out

    @property
    def is_left_out(self) -> bool:
        """Whether none of its tests ran."""
        return self.verdict.startswith(LEFT_OUT)

    @property
    def without_peer(self) -> int:
        """How many tests were skipped for want of a peer."""
        return sum(count for reason, count in self.skips.items() if PEER.search(reason))


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
    command = [*PYTEST, f"--junitxml={report}", "-m", f"not slow and {suite.marks}", *paths]
    command += [f"--ignore={path}" for path in suite.without]
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


def run_long(arguments: list[str]) -> Outcome:
    """The tests marked slow, of all suites, without a time budget."""
    report = REPORTS / "long.xml"
    report.unlink(missing_ok=True)
    os.environ["AEROLOG_LONG"] = "1"
    begin = time.monotonic()
    code = call([*PYTEST, f"--junitxml={report}", "-m", "slow", *(arguments or ["tests"])], None)
    verdict = "passed" if code == 0 else f"failed ({code})"
    return Outcome("long", time.monotonic() - begin, 0, verdict, skips(report))


def missing_packages() -> set[str]:
    """The packages of the system that tests need and that are not there."""
    command = [Path(__file__).parent / "prerequisites", "--list", "test"]
    return set(subprocess.check_output(command, text=True).split())


def conclusion(outcomes: list[Outcome]) -> tuple[int, str]:
    """The exit code of the whole, and the line that says how it ended."""
    strict = os.environ.get("CI") == "true"
    bad = [outcome.name for outcome in outcomes if not outcome.is_good]
    gone = [outcome.name for outcome in outcomes if outcome.is_left_out]
    without_peer = sum(outcome.without_peer for outcome in outcomes)
    missing = [f"suites left out: {', '.join(gone)}"] if gone else []
    missing += [f"{without_peer} tests skipped for want of a peer"] if without_peer else []
    if bad:
        return 1, "; ".join([f"FAILED: {', '.join(bad)}", *missing])
    if missing:
        return 1 if strict else INCOMPLETE, f"INCOMPLETE: {'; '.join(missing)}"
    skipped = sum(outcome.skips.total() for outcome in outcomes)
    return 0, f"complete: all suites passed, {skipped} tests skipped"


def show(outcomes: list[Outcome]) -> None:
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
    if sys.argv[1:2] == ["--long"]:
        return finish([run_long(sys.argv[2:])])
    names = sys.argv[1:] or list(SUITES)
    known = {**SUITES, "quick": QUICK}
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"unknown suite {unknown[0]}: one of {', '.join(known)}", file=sys.stderr)
        return 2
    strict = os.environ.get("CI") == "true"
    missing = missing_packages()
    return finish([run(name, known[name], strict=strict, missing=missing) for name in names])


def finish(outcomes: list[Outcome]) -> int:
    """Prints what became of the suites; returns the exit code."""
    show(outcomes)
    code, line = conclusion(outcomes)
    print(f"\n{line}")
    return code


if __name__ == "__main__":
    sys.exit(main())
