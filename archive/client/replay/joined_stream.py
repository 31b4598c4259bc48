"""The base of streams that deliver a replay and then the live stream.

A `ReplayMerge` has the driver make one image of both; a `PersistentSubscription` goes from one
image to the other. Each poll does a turn of the join and then takes messages from an image.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, TypeVar

from aerolog.archive.client.replay.message_source import MessageSource

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.transport.client import ArrowBatch, Image
    from aerolog.transport.client.message import Action, Header, Message

T = TypeVar("T")


class JoinedStream(MessageSource):
    """Messages of a replay, and then those of the live stream."""

    @abstractmethod
    def deliver(self, take: Callable[[Image, int | None], T], nothing: T) -> T:
        """Do a turn of the join and take messages from the image that delivers.

        Args:
            take: takes messages from the given image, up to the given position.
            nothing: the result when there is no image.
        """

    def poll(self, handler: Callable[[memoryview, Header], object], limit: int = 10) -> int:
        """Do a turn of the join and hand messages to a handler, as ``Image.poll``.

        Raises:
            AerologError: the join has failed for good.
        """

        def take(image: Image, until: int | None) -> int:
            return image.poll(handler, limit, until=until)

        return self.deliver(take, 0)

    def poll_controlled(
        self, handler: Callable[[memoryview, Header], Action | None], limit: int = 10
    ) -> int:
        """Hand messages to a handler that steers the poll, as ``Image.poll_controlled``."""

        def take(image: Image, until: int | None) -> int:
            return image.poll_controlled(handler, limit, until=until)

        return self.deliver(take, 0)

    def poll_messages(self, limit: int = 64) -> list[Message]:
        """Take at most ``limit`` messages, copied."""

        def take(image: Image, until: int | None) -> list[Message]:
            return image.poll_messages(limit, until=until)

        nothing: list[Message] = []
        return self.deliver(take, nothing)

    # Batches cannot stop at a position, so near the live stream they hold one message each.

    def poll_into(self, buffer: Any, offsets: Any, *, limit: int | None = None, **more: Any) -> int:
        """Copy whole messages into memory of the caller, as ``Image.poll_into``."""

        def take(image: Image, until: int | None) -> int:
            most = limit if until is None else 1 if limit is None else min(limit, 1)
            return image.poll_into(buffer, offsets, limit=most, **more)

        return self.deliver(take, 0)

    def poll_array(self, dtype: Any = None, out: Any = None, *, limit: int = 4096) -> Any:
        """Take messages as rows of a NumPy array, as ``Image.poll_array``; None without any."""

        def take(image: Image, until: int | None) -> Any:
            return image.poll_array(dtype, out, limit=limit if until is None else min(limit, 1))

        return self.deliver(take, None)

    def poll_arrow(self, limit: int = 4096) -> ArrowBatch | None:
        """Take messages as an Arrow record batch, as ``Image.poll_arrow``; None without any."""

        def take(image: Image, until: int | None) -> ArrowBatch | None:
            return image.poll_arrow(limit if until is None else min(limit, 1))

        return self.deliver(take, None)
