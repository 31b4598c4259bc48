"""Reading a subscription until there is enough."""

import io
from dataclasses import dataclass, field

import pytest

from aerolog.tools.messages.message_output import MessageFormat, MessageWriter
from aerolog.tools.messages.subscription_output import follow


@dataclass
class FakeMessage:
    data: bytes
    position: int


@dataclass
class FakeImage:
    position: int = 0
    is_end_of_stream: bool = False
    closed: bool = False


@dataclass
class FakeSubscription:
    """Gives what a script says, poll by poll; a script that ends too early fails."""

    script: list[tuple[list[FakeImage], list[FakeMessage]]]
    limits: list[int] = field(default_factory=list)

    @property
    def images(self) -> tuple[FakeImage, ...]:
        return tuple(self.script[0][0])

    def poll_messages(self, limit: int) -> list[FakeMessage]:
        self.limits.append(limit)
        _, messages = self.script.pop(0)
        assert len(messages) <= limit
        return messages


@pytest.fixture
def writer() -> MessageWriter:
    return MessageWriter(MessageFormat.RAW, out=io.BytesIO())


def nothing() -> None:
    """All is well."""


A, B, C = (FakeMessage(data, position) for data, position in ((b"a", 64), (b"b", 128), (b"c", 192)))


def test_a_count_is_never_exceeded(writer: MessageWriter) -> None:
    subscription = FakeSubscription([([], []), ([FakeImage()], [A, B]), ([FakeImage()], [C])])

    follow(subscription, writer, count=3, watch=nothing)  # type: ignore[arg-type]

    assert writer.written.messages == 3
    assert subscription.limits == [3, 3, 1]


def test_a_position_ends_it_when_every_image_is_there(writer: MessageWriter) -> None:
    subscription = FakeSubscription([([FakeImage(64)], [A]), ([FakeImage(128)], [B])])

    follow(subscription, writer, until_position=128, watch=nothing)  # type: ignore[arg-type]

    assert writer.written.position == 128


def test_the_end_is_when_images_had_ended_before_a_poll_found_nothing(
    writer: MessageWriter,
) -> None:
    live, ended = FakeImage(), FakeImage(is_end_of_stream=True)
    subscription = FakeSubscription(
        [([], []), ([live], [A]), ([ended], [B]), ([ended], [C]), ([ended], [])]
    )

    follow(subscription, writer, until_end=True, watch=nothing)  # type: ignore[arg-type]

    assert writer.written.messages == 3


def test_images_that_are_gone_are_an_end_too(writer: MessageWriter) -> None:
    subscription = FakeSubscription([([], []), ([FakeImage()], [A]), ([], [])])

    follow(subscription, writer, until_end=True, watch=nothing)  # type: ignore[arg-type]

    assert writer.written.messages == 1


def test_each_poll_is_told(writer: MessageWriter) -> None:
    told: list[int] = []
    subscription = FakeSubscription([([FakeImage()], [A]), ([FakeImage()], [B])])

    follow(
        subscription,  # type: ignore[arg-type]
        writer,
        count=2,
        watch=nothing,
        on_batch=lambda: told.append(writer.written.messages),
    )

    assert told == [1, 2]
