"""Requests under way: unsent, sent, then done with a result or an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from aerolog.archive.client.request import Call
    from aerolog.archive.protocol import Message

T = TypeVar("T")


class Pending(Generic[T]):
    """One request.

    Attributes:
        call: what is asked.
        request: the message.
        correlation_id: of the request and its answer.
        tries: how often it was offered in vain.
        sent_ns: when it was sent, None before.
        deadline_ns: when it is late, once it was sent.
        done: whether there is a result or an error.
        found: descriptors of a listing.
    """

    def __init__(self, call: Call[T], request: bytes, correlation_id: int) -> None:
        self.call = call
        self.request = request
        self.correlation_id = correlation_id
        self.tries = 0
        self.sent_ns: int | None = None
        self.deadline_ns = 0
        self.done = False
        self.found: list[Message] = []
        self._result: T | None = None
        self._error: BaseException | None = None

    def mark_sent(self, now_ns: int, timeout_ns: int) -> None:
        """The archive has until now and the timeout."""
        self.sent_ns = now_ns
        self.deadline_ns = now_ns + timeout_ns

    def finish(self, answer: Any) -> None:
        """Turn an answer into the result."""
        self._result = self.call.result(answer)
        self.done = True

    def forgive(self) -> None:
        """The error that came is a result of this call."""
        self._result = self.call.forgiven_result
        self.done = True

    def fail(self, error: BaseException) -> None:
        """End with an error."""
        self._error = error
        self.done = True

    def result(self) -> T:
        """The result; raises what the request ended in."""
        if self._error is not None:
            raise self._error
        return self._result  # type: ignore[return-value]  # done without an error: set
