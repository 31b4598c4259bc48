"""What holds for every test: nothing that a run started or made outlives it."""

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from shared_memory import SHARED_MEMORY, left, prefix

#: How temporary folders of the product and of tests begin; other programs clear their own.
OURS = ("aerolog", "aeron", "pg-test")

# How long an example takes depends on what else the machine does.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

# Run from a script in the background, a process has the interrupt signal ignored, and so has every
# child: none of those that the tests interrupt would notice. A handler is not inherited.
signal.signal(signal.SIGINT, signal.default_int_handler)


def children() -> dict[int, str]:
    """Command lines of this process's children."""
    found = {}
    for task in Path("/proc/self/task").iterdir():
        try:
            pids = (task / "children").read_text().split()
        except FileNotFoundError:  # a thread that was joined goes a moment later
            continue
        for pid in pids:
            try:
                line = Path("/proc", pid, "cmdline").read_bytes().replace(b"\0", b" ")
            except FileNotFoundError:  # has just ended
                continue
            found[int(pid)] = line.decode(errors="replace")
    return found


@pytest.fixture(scope="session", autouse=True)
def nothing_outlives_the_run() -> Iterator[None]:
    """Fails the run when a driver, an archive, a peer or an Aeron directory of it is left."""
    yield
    # Modules of ours, the reference's jar and its programs in C; Spark ends at exit.
    ours = ("aerolog.", "aeron-all", "/c-peer/")
    processes = [line for line in children().values() if any(part in line for part in ours)]
    assert not processes, f"processes left running: {processes}"
    folders = left()
    assert not folders, f"directories left in {SHARED_MEMORY}: {folders}"


@pytest.fixture(scope="session", autouse=True)
def temporary_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Fails the run when a temporary folder is left that it or a process of it has made."""
    tmp_path_factory.getbasetemp()  # pytest's own folders stay where they are
    with pytest.MonkeyPatch.context() as patch:
        home = tempfile.mkdtemp(prefix=prefix())
        Path(home).chmod(0o755)  # a database server runs as a user of its own
        patch.setenv("TMPDIR", home)
        patch.setattr(tempfile, "tempdir", None)
        yield
        found = sorted(
            path.name
            for path in Path(home).iterdir()
            if path.is_dir() and path.name.startswith(OURS)
        )
        shutil.rmtree(home)
    assert not found, f"folders left in TMPDIR: {found}"


def declarations(item: pytest.Item, *, may_be_absent: bool = True) -> set[str]:
    """What a test declares of its processes: parts of error log entries, and that they end."""
    marks = [*item.iter_markers("error_log"), *item.iter_markers("processes_end")]
    return {
        part
        for mark in marks
        if may_be_absent or not mark.kwargs.get("at_times")
        for part in (mark.args if mark.name == "error_log" else (mark.name,))
    }


class Declarations:
    """What the tests of each file have declared, and which of it happened."""

    def __init__(self) -> None:
        self.tests: dict[tuple[Path, str], set[str]] = {}
        self.happened: set[tuple[Path, str]] = set()
        self.called: set[str] = set()

    def stale(self) -> list[str]:
        """Declarations all of whose tests ran, and of which nothing happened."""
        return sorted(
            f"{path.relative_to(Path(__file__).parent)} declares {part!r}"
            for (path, part), tests in self.tests.items()
            if tests <= self.called and (path, part) not in self.happened
        )


DECLARED = pytest.StashKey[Declarations]()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Notes who declares what, before tests are left out."""
    found = config.stash[DECLARED] = Declarations()
    for item in items:
        for part in declarations(item, may_be_absent=False):
            found.tests.setdefault((item.path, part), set()).add(item.nodeid)


def pytest_runtest_call(item: pytest.Item) -> None:
    """Notes that a test was not left out."""
    item.config.stash[DECLARED].called.add(item.nodeid)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Fails a test when a process died, ended badly or reported an error that is not declared.

    That is seen after all fixtures that end with the test, those of its module and of the session
    too, so that what happens between two tests belongs to the first of them.
    """
    try:
        yield
    finally:
        processes = sys.modules.get("peer.process")
        if processes is not None:
            declared = declarations(item)
            found = processes.complaints(declared, may_end="processes_end" in declared)
            noted = item.config.stash[DECLARED]
            noted.happened |= {(item.path, part) for part in processes.matched}
            processes.matched.clear()
            assert not found, "undeclared: " + "; ".join(found)
            is_whole = not any("::" in word for word in item.config.args)
            if nextitem is None and is_whole and os.environ.get("AEROLOG_LONG"):
                assert not noted.stale(), "no longer true: " + "; ".join(noted.stale())
