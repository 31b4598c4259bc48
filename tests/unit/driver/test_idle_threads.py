"""The threads of a driver without work rest: one thread looks for work in place of all."""

import re
import time
from pathlib import Path

import pytest

from aerolog.transport.client import Aeron
from aerolog.transport.driver import MediaDriver

CHANNEL, STREAM = "aeron:udp?endpoint=localhost:{port}", 1001
#: A thread that parks for a millisecond at a time does so about 900 times a second.
AWAKE = 400


def parks() -> dict[str, int]:
    """How often each thread of this process has waited, by its number."""
    found = {}
    for task in Path("/proc/self/task").iterdir():
        status = (task / "status").read_text()
        switches = re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status, re.MULTILINE)
        assert switches is not None, status
        found[task.name] = int(switches[1])
    return found


def awake_within_a_second(driver_threads: set[str]) -> int:
    """How many of the threads waited again and again within a second."""
    before, end = parks(), time.monotonic() + 1
    while time.monotonic() < end:
        time.sleep(0.05)
    after = parks()
    return sum(after[task] - before[task] > AWAKE for task in driver_threads)


@pytest.fixture
def driver(tmp_path):
    before = set(parks())
    with MediaDriver(tmp_path / "driver", threading_mode="DEDICATED") as driver:
        yield driver, set(parks()) - before


def wait_for_rest(threads):
    deadline = time.monotonic() + 20
    while (awake := awake_within_a_second(threads)) > 1:
        assert time.monotonic() < deadline, f"{awake} threads of an idle driver do not rest"


def test_threads_without_work_rest(driver):
    _, threads = driver
    assert len(threads) >= 3
    wait_for_rest(threads)


def test_commands_and_messages_are_served_after_a_rest(driver, unused_udp_port):
    served, threads = driver
    channel = CHANNEL.format(port=unused_udp_port)
    wait_for_rest(threads)
    with Aeron(served.aeron_dir) as aeron:
        subscription = aeron.add_subscription(channel, STREAM)
        publication = aeron.add_publication(channel, STREAM)
        deadline = time.monotonic() + 20
        while not (publication.is_connected and subscription.images):
            assert time.monotonic() < deadline, "no stream within 20 s"
            time.sleep(0.001)
        for number in range(5):
            message = b"message %d" % number
            while publication.offer(message) < 0:
                assert time.monotonic() < deadline, f"{message!r} was not taken within 20 s"
                time.sleep(0.001)
            got = []
            while not got:
                assert time.monotonic() < deadline, f"{message!r} did not come within 20 s"
                got = [each.data for each in subscription.poll_messages(10)]
            assert got == [message]
            wait_for_rest(threads)


def test_a_driver_ends_at_any_moment_of_its_rest(tmp_path):
    for number in range(40):
        with MediaDriver(tmp_path / "driver", threading_mode="DEDICATED"):
            end = time.monotonic() + 0.08 + number * 0.0013
            while time.monotonic() < end:
                time.sleep(0.0005)
        assert time.monotonic() - end < 5, f"a driver took so long to end after {number} others"
