"""Reads a subscription until something says that it is enough."""

from __future__ import annotations

import time
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.tools.messages.message_output import MessageWriter
    from aerolog.transport.client import Subscription

_BATCH = 256
_FIRST_IDLE_S = 0.000_05
_LAST_IDLE_S = 0.002

payload_of: Callable[[Any], bytes] = attrgetter("data")


class Idle:
    """Sleeps, longer the longer there is nothing to do."""

    def __init__(self) -> None:
        self._sleep_s = _FIRST_IDLE_S

    def __call__(self, work_count: int) -> None:
        """Sleeps when there was no work; the next sleep is twice as long, up to 2 ms."""
        if work_count > 0:
            self._sleep_s = _FIRST_IDLE_S
            return
        time.sleep(self._sleep_s)
        self._sleep_s = min(2 * self._sleep_s, _LAST_IDLE_S)


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
        subscription: where they come from.
        writer: prints them; its totals tell how many.
        count: return after so many.
        until_position: return when an image has reached this position.
        until_end: return when every publisher that was there has ended its stream.
        on_batch: called after every poll.
        watch: raises when there is nothing to wait for any more.

    Returns:
        The position up to which the stream was read, 0 without an image.
    """
    idle = Idle()
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
