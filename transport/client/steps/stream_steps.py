"""The steps of streams: wait for a condition, for messages and for events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.transport.concurrent.deadline import Deadline
from aerolog.transport.errors import AeronTimeoutError

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.transport.client.client_events import Event, EventStream
    from aerolog.transport.client.message import Message
    from aerolog.transport.client.steps.caller import Parts, Steps
    from aerolog.transport.client.subscription import Subscription
    from aerolog.transport.concurrent.clock import Clock


def until(
    is_met: Callable[[], bool], timeout: float | None, missing: Callable[[], str], clock: Clock
) -> Steps[None]:
    """Wait until a condition is met.

    Args:
        is_met: called at each step.
        timeout: seconds; None waits for ever.
        missing: says what there is not, for the error.
        clock: measures the timeout.

    Raises:
        AeronTimeoutError: it was not met in time.
    """
    deadline = Deadline(timeout, clock)
    while not is_met():
        if deadline.is_over:
            raise AeronTimeoutError(f"{missing()} within {timeout} s")
        yield 0


def message_parts(
    subscription: Subscription, timeout: float | None, *, until_eos: bool, limit: int
) -> Parts[Message]:
    """Give messages as they come; arguments and errors are those of ``Subscription.messages``."""
    silence = Deadline(timeout, subscription.conductor.options.clock)
    seen_image = False
    while not subscription.closed:
        # Looked at before the poll: what arrives in between is taken by the next one.
        ended = until_eos and _is_drained(subscription, seen_image)
        found = subscription.poll_messages(limit)
        seen_image = seen_image or bool(subscription.images) or bool(found)
        if found:
            yield found
            silence.restart()
        elif ended or silence.is_over:
            return
        else:
            yield 0
    subscription.conductor.raise_close_reason()


def _is_drained(subscription: Subscription, seen_image: bool) -> bool:
    images = subscription.images
    if not images:
        return seen_image
    return all(image.is_end_of_stream for image in images)


def event_parts(stream: EventStream) -> Parts[Event]:
    """Give events as they come, until the client is closed."""
    while not stream.ended:
        event = stream.poll()
        if event is None:
            yield 0
        else:
            yield [event]
