"""The base of streams that deliver a replay and then the live stream.

A `ReplayMerge` has the driver make one image of both; a `PersistentSubscription` goes from one
image to the other. Each poll does a turn of the join and then takes messages from an image.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from aerolog.archive.client.replay.message_source import MessageSource
from aerolog.transport.errors import AerologError

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.archive.client.replay.join_engine import JoinEngine
    from aerolog.transport.client import ArrowBatch, Image
    from aerolog.transport.client.message import Action, Header, Message
    from aerolog.transport.client.steps.caller import Steps

T = TypeVar("T")
EngineT = TypeVar("EngineT", bound="JoinEngine[Any]")


class JoinedStream(MessageSource, Generic[EngineT]):
    """Messages of a replay, and then those of the live stream."""

    def __init__(self, engine: EngineT) -> None:
        self._engine = engine
        self._steps: Steps[None] = engine.run()
        self._failure: AerologError | None = None
        self._closed = False

    @property
    def image(self) -> Image | None:
        """The image that messages come from now, None without one."""
        return self._engine.source

    @property
    def has_failed(self) -> bool:
        """Whether it has failed for good; polls raise why."""
        return self._engine.state is self._engine.FAILED

    @property
    def failure(self) -> AerologError | None:
        """The error that it failed with, None while it has not failed."""
        return self._failure

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._closed

    def do_work(self) -> int:
        """One turn of the join without taking messages; how much was done.

        Raises:
            AerologError: the join has failed for good, see `failure`.
        """
        if self._failure is not None:
            raise self._failure
        if self._closed:
            return 0
        try:
            return self._turn()
        except AerologError as error:
            self._fail(error)
            raise

    @abstractmethod
    def _turn(self) -> int:
        """Take the next step; how much was done."""

    def _fail(self, failure: AerologError) -> None:
        """End the join with an error that all later polls raise."""
        self._failure = failure
        self._engine.go(self._engine.FAILED)

    def deliver(self, take: Callable[[Image, int | None], T], nothing: T) -> T:
        """Do a turn of the join and take messages from the image that delivers.

        Args:
            take: takes messages from the given image, up to the given position.
            nothing: the result when there is no image.
        """
        self.do_work()
        source = self._engine.source
        return nothing if source is None else take(source, None)

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
