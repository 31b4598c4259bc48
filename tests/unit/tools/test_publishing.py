"""Sending batches: order, rate, back pressure, and giving up."""

import itertools
import time

import pytest

from aerolog.tools.messages.publisher import MessagePublisher
from aerolog.transport.errors import MessageTooLargeError, NotConnectedError


class FakePublication:
    """Takes messages as a script of acceptances says, then all of them."""

    channel = "aeron:ipc"
    stream_id = 7
    max_message_length = 100

    def __init__(self, *script: int) -> None:
        self.script = list(script)
        self.sent: list[bytes] = []
        self.is_connected = True

    def offer_many(self, messages: list[bytes]) -> int:
        accepted = min(self.script.pop(0) if self.script else len(messages), len(messages))
        self.sent += messages[: max(accepted, 0)]
        return accepted


def nothing() -> None:
    """All is well."""


def numbered(count: int) -> list[bytes]:
    return [b"%d" % number for number in range(count)]


def test_messages_keep_their_order_through_back_pressure() -> None:
    publication = FakePublication(2, 0, -2, 1, -3, 0)
    publisher = MessagePublisher(publication, watch=nothing)  # type: ignore[arg-type]

    publisher.send(iter([numbered(5), [b"x", b"y"]]))

    assert publication.sent == [*numbered(5), b"x", b"y"]
    assert (publisher.published.messages, publisher.published.payload_bytes) == (7, 7)


def test_progress_is_told_after_each_batch() -> None:
    told: list[int] = []
    publisher = MessagePublisher(
        FakePublication(),  # type: ignore[arg-type]
        on_progress=lambda published: told.append(published.messages),
        watch=nothing,
    )

    publisher.send(iter([[b"a"], [b"b", b"c"]]))

    assert told == [1, 3]


def test_a_publisher_without_subscriber_gives_up_after_its_time() -> None:
    publication = FakePublication(*itertools.repeat(0, 10_000))
    publication.is_connected = False
    publisher = MessagePublisher(publication, reconnect_timeout=0.05, watch=nothing)  # type: ignore[arg-type]
    begun = time.monotonic()

    with pytest.raises(NotConnectedError, match="aeron:ipc stream 7 for 0.05 s, after 0 messages"):
        publisher.send(iter([[b"a"]]))

    assert time.monotonic() - begun >= 0.05


def test_a_subscriber_that_comes_back_is_served() -> None:
    publication = FakePublication(0, 0)
    publication.is_connected = False
    publisher = MessagePublisher(publication, reconnect_timeout=30, watch=nothing)  # type: ignore[arg-type]

    publisher.send(iter([[b"a"]]))

    assert publication.sent == [b"a"]


def test_a_message_too_long_stops_before_its_batch() -> None:
    publication = FakePublication()
    publisher = MessagePublisher(publication, watch=nothing)  # type: ignore[arg-type]

    with pytest.raises(MessageTooLargeError, match="message 3 has 101 bytes"):
        publisher.send(iter([[b"a", b"b"], [b"c", b"x" * 101]]))

    assert publication.sent == [b"a", b"b"]


def test_a_rate_spreads_messages_over_time() -> None:
    publisher = MessagePublisher(FakePublication(), rate=1000, watch=nothing)  # type: ignore[arg-type]
    begun = time.monotonic()

    publisher.send(iter([numbered(101)]))

    # The last batch of ten is due when a hundred messages have had their millisecond.
    assert time.monotonic() - begun >= 0.1
