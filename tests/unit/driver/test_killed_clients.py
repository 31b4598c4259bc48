"""Client processes that are killed in the middle of what they do; everybody else goes on."""

import os
import signal
import subprocess
import sys
import time

import pytest

from aerolog.transport.client import Aeron
from aerolog.transport.counters.system_counters import SystemCounter

pytest_plugins = ["aerolog.testing.pytest_plugin"]

DEADLINE_S = 60

CLAIM_AND_DIE = """
import os, signal, sys
from aerolog.transport.client import Aeron
aeron = Aeron(sys.argv[1])
publication = aeron.add_publication("aeron:ipc", 7).wait_connected(30, writable=True)
publication.send(b"last words")
claim = publication.try_claim(500)
os.kill(os.getpid(), signal.SIGKILL)
"""

WRITE_UNTIL_KILLED = """
import sys
from aerolog.transport.client import Aeron
aeron = Aeron(sys.argv[1])
publication = aeron.add_publication("aeron:ipc", 7).wait_connected(30)
print("writing", flush=True)
message = bytes(range(256)) * 11
while True:
    publication.offer(message)
"""


@pytest.fixture
def driver(media_driver_factory):
    return media_driver_factory(
        timer_interval=0.05, client_liveness_timeout=4, publication_unblock_timeout=4.1
    )


def start(script, driver):
    return subprocess.Popen(
        [sys.executable, "-c", script, driver.aeron_dir], stdout=subprocess.PIPE, text=True
    )


def read(subscription, wanted):
    """Messages up to one that is wanted."""
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        for message in subscription.poll_messages(100):
            yield message.data
            if message.data == wanted:
                return
    raise AssertionError(f"{wanted!r} never came")


def test_a_claim_of_a_killed_process_is_released(driver):
    with Aeron(driver.aeron_dir) as aeron:
        subscription = aeron.add_subscription("aeron:ipc", 7)
        publication = aeron.add_publication("aeron:ipc", 7)
        assert start(CLAIM_AND_DIE, driver).wait(DEADLINE_S) == -signal.SIGKILL
        publication.send(b"life goes on")
        assert list(read(subscription, b"life goes on")) == [b"last words", b"life goes on"]
    counters = driver.context.counters
    assert counters.counter_value(SystemCounter.UNBLOCKED_PUBLICATIONS) == 1


def test_writers_killed_at_any_point_lose_nothing_but_their_last_message(driver):
    message = bytes(range(256)) * 11
    with Aeron(driver.aeron_dir) as aeron:
        subscription = aeron.add_subscription("aeron:ipc", 7)
        publication = aeron.add_publication("aeron:ipc", 7)
        for round_number in range(2):
            writers = [start(WRITE_UNTIL_KILLED, driver) for _ in range(2)]
            for writer in writers:
                assert writer.stdout.readline() == "writing\n"
            received = 0
            while received < 200 * (round_number + 1):
                for found in subscription.poll_messages(50):
                    assert found.data == message
                    received += 1
            for writer in writers:
                os.kill(writer.pid, signal.SIGKILL)
                writer.wait(DEADLINE_S)
                writer.stdout.close()
            mark = b"round %d" % round_number
            deadline = time.monotonic() + DEADLINE_S
            others = []
            while not (publication.offer(mark) > 0):
                others += [m.data for m in subscription.poll_messages(50)]
                assert time.monotonic() < deadline
            others += read(subscription, mark)
            assert set(others) <= {message, mark}
    counters = driver.context.counters
    # The last message may be through before the driver has given the dead up.
    deadline = time.monotonic() + DEADLINE_S
    while not counters.counter_value(SystemCounter.CLIENT_TIMEOUTS) > 0:
        assert time.monotonic() < deadline, "no writer that was killed timed out"
