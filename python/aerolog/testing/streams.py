"""Streams that are checked: what arrives is what was sent, in order, each message once.

Writers note in a ``Ledger`` what a publication's log took, and at which position. Readers compare:
every message that arrives stands at its position with its bytes, and none before it was left out
since the image was joined, unless the stream is an unreliable one. An image that goes is a reported
end; what was read up to then is checked like everything else.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aerolog.transport.client.status import OfferStatus
from aerolog.transport.errors import AerologError, ResourceClosedError
from aerolog.transport.protocol.fixed_layout import align
from aerolog.transport.protocol.frames import DATA_HEADER_LENGTH, FRAME_ALIGNMENT

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from aerolog.transport.client import Aeron
    from aerolog.transport.client.destination import Destination
    from aerolog.transport.client.image import Image
    from aerolog.transport.client.message import Header
    from aerolog.transport.client.publication import ExclusivePublication, Publication
    from aerolog.transport.client.registration import RegistrationFuture
    from aerolog.transport.client.subscription import Subscription


class StreamCheckError(AerologError, AssertionError):
    """Something arrived that was not sent, not in order, or not at its place."""


def framed_length(length: int, mtu: int) -> int:
    """Bytes of the log that a message takes, fragments and alignment included."""
    most = mtu - DATA_HEADER_LENGTH
    whole, rest = divmod(length, most)
    framed = whole * _aligned(mtu)
    return framed + _aligned(rest + DATA_HEADER_LENGTH) if rest or not whole else framed


def _aligned(length: int) -> int:
    return align(length, FRAME_ALIGNMENT)


@dataclass(slots=True)
class SentStream:
    """What one publication's log holds.

    Attributes:
        session_id: the session id of the publication.
        stream_id: the stream id of the publication.
        mtu: the MTU of the log.
        messages: payloads in order.
        starts: position of each message's first byte.
        positions: position behind each message.
        reserved_values: the value in each message's header.
    """

    session_id: int
    stream_id: int
    mtu: int
    messages: list[bytes] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    reserved_values: list[int] = field(default_factory=list)
    index_at: dict[int, int] = field(default_factory=dict)

    def add(self, position: int, message: bytes, reserved_value: int) -> None:
        """Note what was accepted, and the position that the offer returned."""
        self.index_at[position] = len(self.messages)
        self.messages.append(message)
        self.starts.append(position - framed_length(len(message), self.mtu))
        self.positions.append(position)
        self.reserved_values.append(reserved_value)

    @property
    def position(self) -> int:
        """The position behind the last message."""
        return self.positions[-1] if self.positions else 0

    def first_from(self, position: int) -> int:
        """Index of the first message that begins at a position or behind it."""
        return bisect_left(self.starts, position)

    def __repr__(self) -> str:
        return (
            f"<SentStream {self.session_id}:{self.stream_id} {len(self.messages)} messages"
            f" to {self.position}>"
        )


class Ledger:
    """All streams of a simulation, by session and stream id."""

    def __init__(self) -> None:
        self.streams: dict[tuple[int, int], SentStream] = {}

    def of(self, source: Publication | ExclusivePublication | Image) -> SentStream:
        """The stream of a publication or an image; whoever asks first makes it."""
        key = (source.session_id, source.stream_id)
        if key not in self.streams:
            self.streams[key] = SentStream(*key, source.mtu)
        return self.streams[key]


class CheckedWriter:
    """Sends messages of random lengths and contents; ``turn`` is its part of a party.

    Args:
        ledger: told of every message accepted.
        aeron: the client.
        channel: the channel to publish on.
        stream_id: the stream to publish on.
        random: decides lengths, contents, and how a message is sent.
        count: messages to send.
        exclusive: whether the publication has a log of its own.
        destinations: added as soon as there is a publication, for ``control-mode=manual``.
        max_length: bytes of the longest message; at most what the publication takes.
        burst: messages in a turn at most.

    Attributes:
        publication: None until the driver has answered.
        stream: what was sent on the publication by everybody; None until then.
        sent: how many messages were accepted.
        error: what the publication, or its client, ended in.
    """

    def __init__(
        self,
        ledger: Ledger,
        aeron: Aeron,
        channel: str,
        stream_id: int,
        random: Random,
        count: int,
        *,
        exclusive: bool = False,
        destinations: tuple[str, ...] = (),
        max_length: int = 2000,
        burst: int = 8,
    ) -> None:
        self.publication: Publication | ExclusivePublication | None = None
        self.stream: SentStream | None = None
        self.count = count
        self.sent = 0
        self.error: BaseException | None = None
        self.destinations: list[Destination] = []
        self._ledger = ledger
        self._random = random
        self._channels = destinations
        self._max_length = max_length
        self._burst = burst
        self._refused: bytes | None = None
        add = aeron.add_exclusive_publication_async if exclusive else aeron.add_publication_async
        self._future: RegistrationFuture[Any] = add(channel, stream_id)

    @property
    def done(self) -> bool:
        """Whether nothing more will be sent."""
        return self.error is not None or self.sent == self.count

    def turn(self) -> int:
        """Send some messages, as far as the window allows; how many."""
        if self.done:
            return 0
        try:
            if self.publication is None or self.stream is None:
                return self._await_answer()
            return self._send_some(self.publication, self.stream)
        except AerologError as error:
            self.error = error
            return 1

    def _await_answer(self) -> int:
        if not self._future.is_settled():
            return 0
        self.publication = self._future.result(0)
        self.stream = self._ledger.of(self.publication)
        self._max_length = min(self._max_length, self.publication.max_message_length)
        for channel in self._channels:
            self.destinations.append(self.publication.add_destination(channel, wait=False))
        return 1

    def _send_some(
        self, publication: Publication | ExclusivePublication, stream: SentStream
    ) -> int:
        work = 0
        for _ in range(1 + int(self._random.random() * self._burst)):
            message = self._refused or self._message()
            result = self._send(publication, stream, message)
            if result <= 0:
                self._refused = message
                if result in {OfferStatus.CLOSED, OfferStatus.MAX_POSITION_EXCEEDED}:
                    raise ResourceClosedError(f"the publication ended: {OfferStatus(result).name}")
                break
            self._refused = None
            self.sent += 1
            work += 1
            if self.sent == self.count:
                break
        return work

    def _message(self) -> bytes:
        draw = self._random.random()
        length = int(draw * draw * (self._max_length + 1))
        return self._random.randbytes(length)

    def _send(
        self, publication: Publication | ExclusivePublication, stream: SentStream, message: bytes
    ) -> int:
        reserved_value = self.sent << 8 | 1
        way = self._random.random()
        if way < 0.2 and len(message) <= publication.max_payload_length:
            claim = publication.try_claim(len(message))
            if not claim:
                return claim.position
            if self._random.random() < 0.1:
                claim.abort()
                return OfferStatus.ADMIN_ACTION  # as when it has to be tried again
            result = claim.position
            claim.buffer[:] = message
            claim.reserved_value = reserved_value
            claim.commit()
        elif way < 0.4:
            at = int(self._random.random() * len(message))
            parts = (message[:at], message[at:])
            result = publication.offer_parts(parts, reserved_value=reserved_value)
        else:
            result = publication.offer(message, reserved_value=reserved_value)
        if result > 0:
            stream.add(result, message, reserved_value)
        return result

    def close(self) -> None:
        """Close the publication; nothing more is sent."""
        self.error = self.error or ResourceClosedError("the writer was closed")
        if self.publication is not None:
            self.publication.close()
        else:
            self._future.cancel()


@dataclass(slots=True)
class Reading:
    """An image, as far as it was read.

    Attributes:
        image: the client's image.
        stream: what is sent on it.
        index: the index of the next message; None before the first.
        count: messages read.
        gone: the image was taken away.
    """

    image: Image
    stream: SentStream
    index: int | None = None
    count: int = 0
    gone: bool = False

    @property
    def first_index(self) -> int:
        """The index of the first message that a reader of this image sees."""
        return self.stream.first_from(self.image.join_position)

    @property
    def is_complete(self) -> bool:
        """Whether everything was read that was sent so far."""
        index = self.first_index if self.index is None else self.index
        return index == len(self.stream.messages)

    def __repr__(self) -> str:
        state = " gone" if self.gone else ""
        return (
            f"<Reading {self.stream!r} from {self.image.join_position}: {self.count} messages"
            f" to {self.image.position}{state}>"
        )


class CheckedReader:
    """Reads a subscription and checks all that comes; ``turn`` is its part of a party.

    Args:
        ledger: what was sent.
        aeron: the client.
        channel: the channel of the subscription.
        stream_id: the stream id of the subscription.
        random: decides how much is read at a time.
        reliable: False where messages may be missing.
        note: told of images that come and go.

    Attributes:
        readings: one for each image so far, those that are gone included.
        subscription: None until the driver has answered.
        error: what the subscription, or its client, ended in.
    """

    def __init__(
        self,
        ledger: Ledger,
        aeron: Aeron,
        channel: str,
        stream_id: int,
        random: Random,
        *,
        reliable: bool = True,
        note: Callable[[str], object] | None = None,
    ) -> None:
        self.readings: list[Reading] = []
        self.subscription: Subscription | None = None
        self.error: BaseException | None = None
        self.reliable = reliable
        self.count = 0
        self._ledger = ledger
        self._aeron = aeron
        self._random = random
        self._note = note or (lambda _event: None)
        self._open: dict[int, Reading] = {}
        self._future: RegistrationFuture[Subscription] = aeron.add_subscription_async(
            channel, stream_id, on_image=self._on_image, on_image_gone=self._on_image_gone
        )

    @property
    def open_readings(self) -> list[Reading]:
        """The readings of the images that are there."""
        return list(self._open.values())

    def turn(self) -> int:
        """Read some messages; how many."""
        if self.error is not None:
            return 0
        if self.subscription is None:
            return self._await_answer()
        try:
            return self._read(self.subscription)
        except ResourceClosedError as error:
            self.error = error
            return 1
        except AerologError as error:
            if error.__cause__ is None or error.__cause__ is not self._aeron.close_reason:
                raise
            self.error = error  # what ended the client, as its polls say it
            return 1

    def _await_answer(self) -> int:
        if not self._future.is_settled():
            return 0
        try:
            self.subscription = self._future.result(0)
        except AerologError as error:
            self.error = error
        return 1

    def _read(self, subscription: Subscription) -> int:
        limit = 1 + int(self._random.random() * 20)
        way = self._random.random()
        if way < 0.7:
            return subscription.poll(self._check, limit)
        if way < 0.9:
            found = subscription.poll_messages(limit)
            for message in found:
                self._check_at(
                    message.session_id, message.position, message.data, message.reserved_value
                )
            return len(found)
        images = subscription.images
        return images[int(self._random.random() * len(images))].poll(self._check) if images else 0

    def _check(self, data: memoryview, header: Header) -> None:
        self._check_at(header.session_id, header.position, bytes(data), header.reserved_value)

    def _check_at(self, session_id: int, position: int, data: bytes, reserved_value: int) -> None:
        reading = self._open[session_id]
        stream = reading.stream
        index = stream.index_at.get(position)
        if index is None:
            raise StreamCheckError(f"{len(data)} bytes at {position}, where none end: {reading}")
        if data != stream.messages[index]:
            raise StreamCheckError(
                f"message {index} at {position} has changed: {len(data)} bytes came, "
                f"{len(stream.messages[index])} were sent: {reading}"
            )
        if reserved_value != stream.reserved_values[index]:
            raise StreamCheckError(f"message {index} has another reserved value: {reading}")
        expected = reading.first_index if reading.index is None else reading.index
        if index < expected or (self.reliable and index > expected):
            raise StreamCheckError(f"message {index} came where {expected} was next: {reading}")
        reading.index = index + 1
        reading.count += 1
        self.count += 1

    def _on_image(self, image: Image) -> None:
        stream = self._ledger.of(image)
        if image.session_id in self._open:
            raise StreamCheckError(f"a second image of {stream} while the first is there")
        reading = Reading(image, stream)
        self._open[image.session_id] = reading
        self.readings.append(reading)
        self._note(f"image {reading}")

    def _on_image_gone(self, image: Image) -> None:
        reading = self._open.pop(image.session_id, None)
        if reading is not None:  # of a reader that was not closed
            reading.gone = True
            self._note(f"image gone {reading}")

    def close(self) -> None:
        """Close the subscription; images end with it."""
        self.error = ResourceClosedError("the reader was closed")
        self._open.clear()
        if self.subscription is not None:
            self.subscription.close()
        else:
            self._future.cancel()
