"""Retries of ``send``: which refusals are tried again, and which errors the others raise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from aerolog.transport.client.status import OfferStatus
from aerolog.transport.client.steps.caller import waiting_caller
from aerolog.transport.concurrent.deadline import Deadline
from aerolog.transport.errors import (
    BackPressuredError,
    MaxPositionExceededError,
    NotConnectedError,
    PublicationClosedError,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.transport.client.publication import BasePublication
    from aerolog.transport.client.steps.caller import Steps

NotConnected = Literal["wait", "drop", "raise"]
_POLICIES = ("wait", "drop", "raise")


def is_worth_waiting(
    publication: BasePublication, result: int | OfferStatus, on_not_connected: NotConnected
) -> bool:
    """Whether a refused offer should be tried again; False when the message is to be dropped.

    Raises:
        PublicationClosedError: closed, also by the end of the client, which is its cause.
        MaxPositionExceededError: the stream is full.
        NotConnectedError: no subscriber, and that shall be an error.
        ValueError: an unknown policy.
    """
    if on_not_connected not in _POLICIES:
        raise ValueError(f"on_not_connected is one of {_POLICIES}, not {on_not_connected!r}")
    if result == OfferStatus.CLOSED:
        raise_closed(publication)
    if result == OfferStatus.MAX_POSITION_EXCEEDED:
        raise MaxPositionExceededError(
            f"{publication!r} has reached its last position: close it and add a new one, "
            f"with a larger term-length"
        )
    if result != OfferStatus.NOT_CONNECTED or on_not_connected == "wait":
        return True
    if on_not_connected == "raise":
        raise NotConnectedError(f"no subscriber of {publication!r}")
    return False


def raise_closed(publication: BasePublication) -> None:
    """Raise PublicationClosedError, with what ended the client as its cause."""
    raise PublicationClosedError(
        f"{publication!r} is closed"
    ) from publication.conductor.close_reason


def raise_timeout(
    publication: BasePublication, result: int | OfferStatus, timeout: float | None
) -> None:
    """Raise the error of a wait that was too long.

    Raises:
        NotConnectedError: it waited for a subscriber.
        BackPressuredError: it waited for subscribers to make room.
    """
    if result == OfferStatus.NOT_CONNECTED:
        raise NotConnectedError(f"no subscriber of {publication!r} within {timeout} s")
    raise BackPressuredError(
        f"no room in {publication!r} within {timeout} s: position={publication.position}, "
        f"limit={publication.position_limit}; a subscriber is slow or has stopped polling"
    )


def sending(
    publication: BasePublication,
    data: Any,
    *,
    timeout: float | None,
    on_not_connected: NotConnected,
    reserved_value: Any = None,
    result: int | OfferStatus = OfferStatus.ADMIN_ACTION,
) -> Steps[int | OfferStatus]:
    """Offer a message until it is taken; arguments and errors are those of ``Publication.send``.

    Args:
        publication: where to offer it.
        data: the message.
        timeout: seconds; None waits for ever.
        on_not_connected: what to do without a subscriber.
        reserved_value: the same as for ``offer``.
        result: what an offer that was made before has returned.
    """
    deadline = Deadline(timeout, publication.conductor.options.clock)
    while result <= 0:
        if not is_worth_waiting(publication, result, on_not_connected):
            return result
        if result != OfferStatus.ADMIN_ACTION:
            if deadline.is_over:
                raise_timeout(publication, result, timeout)
            yield 0
        result = publication.offer(data, reserved_value=reserved_value)
    return result


def send_waiting(
    publication: BasePublication,
    data: Any,
    result: int | OfferStatus,
    *,
    timeout: float | None,
    on_not_connected: NotConnected,
    idle: Callable[[int], object] | str | None,
    reserved_value: Any,
) -> int | OfferStatus:
    """Continue ``BasePublication.send`` with a message that was refused with ``result``."""
    steps = sending(
        publication,
        data,
        timeout=timeout,
        on_not_connected=on_not_connected,
        reserved_value=reserved_value,
        result=result,
    )
    return waiting_caller(publication.conductor, idle).carry_out(steps)
