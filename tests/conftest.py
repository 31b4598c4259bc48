"""What holds for every test: nothing that a run started or made outlives it."""

import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from shared_memory import SHARED_MEMORY, left, prefix

#: How temporary folders of the product and of tests begin; other programs clear their own.
OURS = ("aerolog", "aeron", "pg-test")

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


@pytest.fixture(autouse=True)
def processes_do_as_declared(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test when a process died, ended badly or reported an error that is not declared."""
    yield
    processes = sys.modules.get("peer.process")
    if processes is not None:
        marks = request.node.iter_markers("error_log")
        found = processes.complaints(
            (part for mark in marks for part in mark.args),
            may_end=request.node.get_closest_marker("processes_end") is not None,
        )
        assert not found, "undeclared: " + "; ".join(found)
