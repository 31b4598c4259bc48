"""A driver on a small memory file system that fills up, with reference clients on it."""

import os
import subprocess
import sys
from pathlib import Path

import peer
import pytest
from prerequisites import needs_mounts, small_disk
from waits import wait_until

pytestmark = [pytest.mark.interop, needs_mounts]

SIZE = 16 << 20
PROPERTIES = {
    "aeron.counters.buffer.length": "1m",
    "aeron.ipc.term.buffer.length": "256k",
    "aeron.timer.interval": "100ms",
    "aeron.low.file.store.warning.threshold": "0",
}


@pytest.fixture
def small_tmpfs(tmp_path) -> Path:
    """A memory file system of 16 MiB of this test's own."""
    with small_disk(tmp_path / "small", SIZE, lazy=True) as path:
        yield path


class Filler:
    """A file that takes all the room there is, but for some."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "filler"

    def fill(self, leave: int = 0) -> None:
        found = os.statvfs(self.path.parent)
        with self.path.open("ab") as file:
            os.posix_fallocate(file.fileno(), file.tell(), found.f_bavail * found.f_frsize - leave)

    def release(self) -> None:
        self.path.unlink()


@pytest.fixture
def filler(small_tmpfs):
    return Filler(small_tmpfs)


@pytest.fixture
def driver(small_tmpfs, start_server):
    return start_server("ours", "driver", aeron_dir=small_tmpfs / "aeron", properties=PROPERTIES)


def counter(client, counter_id):
    return next(k["value"] for k in client.counters() if k["id"] == counter_id)


@pytest.mark.error_log("no room for the next term")
def test_a_publisher_is_held_back_until_there_is_room_for_its_next_term(
    driver, java_client, filler
):
    client = java_client(driver.aeron_dir)
    subscription = client.add_subscription("aeron:ipc", 7)
    publication = client.add_exclusive_publication("aeron:ipc", 7)
    wait_until(lambda: publication.positionLimit() > 0, "a subscriber")
    filler.fill()
    sending = publication.start_offer_numbered(2_000, 1000, timeout=60)
    receiving = subscription.start_poll_numbered(2_000, 1000, timeout=60)
    wait_until(lambda: publication.positionLimit() == 256 * 1024, "the limit of four terms")
    errors = counter(client, 15)
    wait_until(lambda: counter(client, 15) > errors, "an error to be counted")
    stat = peer.java_tool("io.aeron.samples.ErrorStat", properties={"aeron.dir": driver.aeron_dir})
    assert "no room for the next term" in stat
    filler.release()
    assert receiving.result(60)["first_wrong"] is None
    assert sending.result(60)["position"] > 3 * 256 * 1024


def test_a_publication_that_does_not_fit_is_refused_and_fits_later(driver, java_client, filler):
    client = java_client(driver.aeron_dir)
    filler.fill(leave=700 * 1024)
    with pytest.raises(peer.JavaError, match="insufficient usable storage"):
        client.add_publication("aeron:ipc", 7)
    filler.release()
    client.add_publication("aeron:ipc", 7)


def test_a_log_that_is_not_sparse_needs_no_more_room_while_it_is_used(driver, java_client, filler):
    client = java_client(driver.aeron_dir)
    subscription = client.add_subscription("aeron:ipc", 7)
    publication = client.add_exclusive_publication("aeron:ipc?sparse=false", 7)
    filler.fill()
    sending = publication.start_offer_numbered(2_000, 1000, timeout=60)
    assert subscription.poll_numbered(2_000, 1000, timeout=60)["first_wrong"] is None
    sending.result(60)


def test_a_driver_whose_files_do_not_fit_says_so_and_leaves_with_1(small_tmpfs):
    done = subprocess.run(
        [sys.executable, "-m", "aerolog.transport.driver", f"-Daeron.dir={small_tmpfs}/aeron"],
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "insufficient usable storage" in done.stderr
