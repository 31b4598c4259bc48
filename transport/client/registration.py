"""Commands that wait for their answer, and the futures that stand for them (spec client 6)."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.transport.client.client_conductor import ClientConductor
    from aerolog.transport.client.options import ClientOptions

T = TypeVar("T")


class ResourceKind(Enum):
    """The kind of object that a command asks for and that its answer becomes."""

    PUBLICATION = auto()
    EXCLUSIVE_PUBLICATION = auto()
    SUBSCRIPTION = auto()
    COUNTER = auto()
    STATIC_COUNTER = auto()
    DESTINATION = auto()
    SESSION_ID = auto()
    OPERATION = auto()


class RegistrationFuture(Future[T], Generic[T]):
    """The result of a command that was sent without waiting.

    ``result()`` gives the resource or raises RegistrationError. Cancelling takes the command back:
    when the driver has carried it out after all, its resource is removed again. In a client without
    a thread, ``result`` and ``done`` turn the client.

    Attributes:
        registration_id: the id of the resource, which is the correlation id of the command.
    """

    def __init__(
        self, registration_id: int, conductor: ClientConductor, client: object = None
    ) -> None:
        super().__init__()
        self.registration_id = registration_id
        self._conductor = conductor
        self._client = client  # stays open while its answer is wanted

    @property
    def options(self) -> ClientOptions:
        """The options of the client that sent the command."""
        return self._conductor.options

    def done(self) -> bool:
        """Whether the answer has arrived."""
        if not super().done():
            self._conductor.turn_without_thread()
        return super().done()

    def result(self, timeout: float | None = None) -> T:
        """Wait for the answer.

        Args:
            timeout: seconds; None waits for as long as the driver lives.

        Raises:
            RegistrationError: the driver refused the command.
            TimeoutError: no answer in that time; the command stays under way.
        """
        try:
            self._conductor.wait_for(self, timeout)
            return super().result(0)
        finally:
            del self  # the error's traceback would hold this future, which holds the error

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Wait for the answer and return the error, None when there is none."""
        self._conductor.wait_for(self, timeout)
        return super().exception(0)

    def cancel(self) -> bool:
        """Cancel the command; return False when the answer has arrived already."""
        return self._conductor.cancel(self)

    def cancel_now(self) -> bool:
        """Mark as cancelled; called by the conductor, which sees to the resource."""
        return super().cancel()

    def is_settled(self) -> bool:
        """Whether the answer has arrived; unlike ``done`` this never does the client's work."""
        return super().done()


def is_settled(future: RegistrationFuture[Any] | None) -> bool:
    """Return whether a command's answer has arrived, without doing the client's work.

    Args:
        future: the command; None for one that was not needed.
    """
    return future is None or future.is_settled()


@dataclass(slots=True)
class Pending:
    """A command that waits for its answer.

    Attributes:
        complete: makes the result out of the driver's answer; runs under the client's lock.
        abandoned: whether the command was cancelled, so that its resource is to be removed.
    """

    kind: ResourceKind
    future: RegistrationFuture[Any]
    complete: Callable[[Any], Any]
    abandoned: bool = field(default=False)

    @property
    def correlation_id(self) -> int:
        """The id of the command."""
        return self.future.registration_id

    def settle(self, answer: Any) -> None:
        """Turn the answer into the result, or into the error that this ended in."""
        try:
            result = self.complete(answer)
        except Exception as error:  # noqa: BLE001 - whatever it was belongs to the one who waits
            self.fail(error)
            return
        self.future.set_result(result)

    def fail(self, error: BaseException) -> None:
        """Give the error to the callers that wait."""
        if not self.future.is_settled():
            self.future.set_exception(error)
