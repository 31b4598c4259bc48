"""Reads a subscription until something says that it is enough."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

from aerolog.tools.connection.idle import sleeping_idle

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.tools.messages.message_output import MessageWriter
    from aerolog.transport.client import Subscription

_BATCH = 256

#: The payload of a received message, and that of one with a time or of a folder.
payload_of: Callable[[Any], bytes] = attrgetter("data")
recorded_payload_of: Callable[[Any], bytes] = attrgetter("payload")


def follow(
    subscription: Subscription,
    writer: MessageWriter,
    *,
    count: int | None = None,
    until_position: int | None = None,
    until_end: bool = False,
    on_batch: Callable[[], object] | None = None,
    watch: Callable[[], None],
) -> int:
    """Prints messages as they come.

    Args:
        subscription: the subscription whose messages are printed.
        writer: prints them; its totals tell how many.
        count: return after so many.
        until_position: return when an image has reached this position.
        until_end: return when every publisher that was there has ended its stream.
        on_batch: called after every poll.
        watch: raises when there is nothing to wait for any more.

    Returns:
        The position up to which the stream was read, 0 without an image.
    """
    idle = sleeping_idle()
    seen_image = False
    reached = 0
    while count is None or writer.written.messages < count:
        limit = _BATCH if count is None else min(_BATCH, count - writer.written.messages)
        # Looked at before the poll: an image that has ended now has nothing more to come.
        images = subscription.images
        ended = seen_image and all(image.is_end_of_stream or image.closed for image in images)
        seen_image = seen_image or bool(images)
        batch = subscription.poll_messages(limit)
        writer.write(batch, payload_of)
        if on_batch is not None:
            on_batch()
        reached = max([reached, *(image.position for image in images)])
        if until_position is not None and images and reached >= until_position:
            return reached
        watch()
        if until_end and ended and not batch:
            return reached
        idle(len(batch))
    return reached
