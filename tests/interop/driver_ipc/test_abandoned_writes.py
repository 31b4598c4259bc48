"""A client that dies in the middle of a write stops nobody for longer than the timeouts say."""

import pytest

from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.logbuffer.descriptor import LOG_META_LENGTH
from aerolog.transport.memory.mapped_file import MappedFile
from aerolog.transport.memory.ring_buffer import HEADER_LENGTH
from aerolog.transport.protocol import commands as c
from aerolog.transport.protocol import responses as r

pytestmark = pytest.mark.interop

PROPERTIES = {
    "aeron.timer.interval": "100ms",
    "aeron.client.liveness.timeout": "4s",
    "aeron.publication.unblock.timeout": "4500ms",
}
UNBLOCKED_PUBLICATIONS, UNBLOCKED_COMMANDS = (
    SystemCounter.UNBLOCKED_PUBLICATIONS,
    SystemCounter.UNBLOCKED_COMMANDS,
)


@pytest.fixture(params=["ours", "reference"])
def driver(request, start_server):
    return start_server(request.param, "driver", properties=PROPERTIES)


class Abandoned:
    """A publication's log, into which somebody writes half a message and dies."""

    def __init__(self, log_file: str, term_length: int = 65_536) -> None:
        self.log = MappedFile.open(log_file)
        self.term_length = term_length

    def move_tail(self, length: int) -> int:
        """Claims space; returns the offset in the first term."""
        tail = self.log.get_and_add_i64(self.log.length - LOG_META_LENGTH, length)
        return tail & 0xFFFFFFFF

    def mark_claimed(self, offset: int, length: int) -> None:
        """Writes the header's length as a writer does before the message is there."""
        self.log.store_i32(offset, -length)


def claimed_not_committed(abandoned):
    abandoned.mark_claimed(abandoned.move_tail(544), 532)


def moved_tail_only(abandoned):
    abandoned.move_tail(544)


def tripped_the_end_of_the_term(abandoned):
    abandoned.move_tail(abandoned.term_length)


@pytest.mark.parametrize(
    "die", [claimed_not_committed, moved_tail_only, tripped_the_end_of_the_term]
)
def test_messages_behind_an_abandoned_claim_are_delivered(driver, raw_client, java_client, die):
    client = java_client(driver.aeron_dir)
    subscription = client.add_subscription("aeron:ipc", 7)
    publication = client.add_publication("aeron:ipc", 7)
    sending = publication.start_offer_numbered(50, 1000)
    assert subscription.poll_numbered(50, 1000)["first_wrong"] is None
    sending.result(60)
    doomed = raw_client(driver.aeron_dir)
    ready = doomed.do(lambda i, n: c.AddPublication(i, n, 7, "aeron:ipc"))[-1]
    assert isinstance(ready, r.PublicationReady)
    die(Abandoned(ready.log_file))
    publication.offer(b"after")
    assert [m["data"] for m in subscription.poll(1)] == [b"after"]
    # A driver counts when it has unblocked.
    doomed.wait_for(lambda: doomed.cnc.counters.counter_value(UNBLOCKED_PUBLICATIONS) == 1)


def test_a_command_that_is_never_committed_is_skipped(driver, raw_client):
    client = raw_client(driver.aeron_dir)
    ring = client.cnc.to_driver
    ring.try_claim(c.ClientKeepalive.TYPE_ID, 32 - HEADER_LENGTH)
    sent = client.send(lambda i, n: c.GetNextAvailableSessionId(i, n, 7))
    answer = client.until(lambda m: getattr(m, "correlation_id", None) == sent)[-1]
    assert isinstance(answer, r.NextAvailableSessionId)
    client.wait_for(lambda: client.cnc.counters.counter_value(UNBLOCKED_COMMANDS) == 1)
