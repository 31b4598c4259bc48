"""What holds for every test: nothing that a run started or made outlives it."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

SHARED_MEMORY = Path("/dev/shm")

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
    folders = [path.name for path in SHARED_MEMORY.glob(f"aerolog-test-{os.getpid()}-*")]
    assert not folders, f"directories left in {SHARED_MEMORY}: {folders}"
