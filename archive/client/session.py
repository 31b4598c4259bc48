"""A control session: requests under way, their answers, and what comes unasked.

Time is read from the clock given; nothing here waits, so blocking and asyncio clients share it
(spec archive-protocol 21.3 and 21.4).
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from aerolog.archive.protocol import (
    CloseSessionRequest,
    ControlResponse,
    ControlResponseCode,
    RecordingDescriptor,
    RecordingSignalEvent,
    RecordingSubscriptionDescriptor,
)
from aerolog.transport.errors import (
    AerologError,
    AeronTimeoutError,
    ArchiveError,
    NotConnectedError,
    ResourceClosedError,
)

if TYPE_CHECKING:
    from aerolog.archive.client.calls import Call
    from aerolog.archive.client.options import ArchiveClientOptions
    from aerolog.archive.client.stream import ControlStream
    from aerolog.archive.protocol import Message

T = TypeVar("T")
SIGNAL_LIMIT: Final = 65_536  # signals nobody asks for are forgotten, oldest first
ERROR_LIMIT: Final = 64
ENDS_OF_LISTING: Final = frozenset(
    {ControlResponseCode.RECORDING_UNKNOWN, ControlResponseCode.SUBSCRIPTION_UNKNOWN}
)


class Pending(Generic[T]):
    """A request under way: first unsent, then sent, then done with a result or an error."""

    def __init__(
        self, call: Call[T], request: bytes, correlation_id: int, deadline_ns: int
    ) -> None:
        self.call = call
        self.request = request
        self.correlation_id = correlation_id
        self.deadline_ns = deadline_ns
        self.sent = False
        self.done = False
        self.found: list[Message] = []
        self._result: T | None = None
        self._error: BaseException | None = None

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


class ControlSession:
    """One client's session with an archive.

    Attributes:
        control_session_id: the archive's id of it.
        archive_id: of the archive, -1 when it is too old to tell.
        disconnected: the archive's responses stopped coming; the session will not recover.
        closed: this side has ended it.
    """

    def __init__(
        self,
        stream: ControlStream,
        options: ArchiveClientOptions,
        control_session_id: int,
        archive_id: int,
    ) -> None:
        self.stream = stream
        self.options = options
        self.control_session_id = control_session_id
        self.archive_id = archive_id
        self.disconnected = False
        self.closed = False
        self.last_correlation_id = -1
        self._clock = options.clock
        self._pending: dict[int, Pending[Any]] = {}
        self._signals: deque[RecordingSignalEvent] = deque(maxlen=SIGNAL_LIMIT)
        self._errors: deque[ArchiveError] = deque(maxlen=ERROR_LIMIT)
        self._in_callback = False

    def begin(self, call: Call[T], correlation_id: int) -> Pending[T]:
        """Note a request; `pump` sends it and finds its answer.

        Raises:
            ResourceClosedError: the session is closed, or was found to be disconnected.
            AerologError: called from a signal handler.
        """
        if self._in_callback:
            raise AerologError("reentrant calls not permitted during callbacks")
        if self.closed:
            raise ResourceClosedError("client is closed")
        if self.disconnected:
            raise ResourceClosedError("client is closed: the archive has disconnected")
        request = call.request(self.control_session_id, correlation_id).encode()
        deadline_ns = self._clock.now_ns() + self.options.message_timeout_ns
        pending = Pending(call, request, correlation_id, deadline_ns)
        self._pending[correlation_id] = pending
        self.last_correlation_id = correlation_id
        return pending

    def forget(self, pending: Pending[Any]) -> None:
        """Nobody waits for this request any more; its answer will be ignored."""
        self._pending.pop(pending.correlation_id, None)

    def pump(self) -> int:
        """Send what is unsent, take in what has come, end what is overdue; the work done."""
        work = 0
        for pending in list(self._pending.values()):
            if not pending.sent:
                work += self._send(pending)
        messages = self.stream.poll()
        for message in messages:
            self._dispatch(message)
        if not messages and not self.stream.is_connected:
            self._disconnect()
        elif self._pending:
            self._expire()
        return work + len(messages)

    def take_signals(self) -> list[RecordingSignalEvent]:
        """The signals since the last call, oldest first."""
        taken = list(self._signals)
        self._signals.clear()
        return taken

    def next_signal(self) -> RecordingSignalEvent | None:
        """The oldest signal that nobody has taken."""
        return self._signals.popleft() if self._signals else None

    def take_error(self, correlation_id: int | None = None) -> ArchiveError | None:
        """The oldest error response that came when no request waited for it.

        Args:
            correlation_id: only of this request, answered before: a replay may fail later on.
        """
        for error in self._errors:
            if correlation_id in {None, error.correlation_id}:
                self._errors.remove(error)
                return error
        return None

    def close(self) -> None:
        """Tell the archive, without waiting, and close the streams; idempotent."""
        if self.closed:
            return
        self.closed = True
        self._fail_all(ResourceClosedError("client is closed"))
        publication = self.stream.publication
        if not publication.closed and publication.is_connected:
            publication.offer(
                CloseSessionRequest(control_session_id=self.control_session_id).encode()
            )
        self.stream.close()

    def _send(self, pending: Pending[Any]) -> int:
        try:
            pending.sent = self.stream.offer(pending.request)
        except AerologError as error:
            self._end(pending, error)
            return 1
        return int(pending.sent)

    def _dispatch(self, message: Message) -> None:
        if getattr(message, "control_session_id", None) != self.control_session_id:
            return
        if isinstance(message, ControlResponse):
            self._on_response(message)
        elif isinstance(message, RecordingSignalEvent):
            self._on_signal(message)
        elif isinstance(message, RecordingDescriptor | RecordingSubscriptionDescriptor):
            self._on_descriptor(message)

    def _on_response(self, response: ControlResponse) -> None:
        pending = self._pending.get(response.correlation_id)
        if pending is None:
            if response.code == ControlResponseCode.ERROR:
                self._on_stray_error(response)
        elif response.code == ControlResponseCode.ERROR:
            self._on_error(pending, response)
        elif pending.call.listing is not None and response.code in ENDS_OF_LISTING:
            self._finish(pending, pending.found)
        elif response.code == ControlResponseCode.OK and pending.call.listing is None:
            self._finish(pending, response.relevant_id)
        else:
            self._end(
                pending,
                ArchiveError(
                    0, f"unexpected response code: {response.code.name}", response.correlation_id
                ),
            )

    def _on_error(self, pending: Pending[Any], response: ControlResponse) -> None:
        if pending.call.forgiven is not None and response.relevant_id == pending.call.forgiven:
            self.forget(pending)
            pending.forgive()
            return
        text = (
            f"response for correlationId={response.correlation_id}, error: {response.error_message}"
        )
        self._end(pending, ArchiveError(response.relevant_id, text, response.correlation_id))

    def _on_stray_error(self, response: ControlResponse) -> None:
        error = ArchiveError(response.relevant_id, response.error_message, response.correlation_id)
        if self.options.on_error is not None:
            self.stream.report(error)
        else:
            self._errors.append(error)

    def _on_descriptor(
        self, message: RecordingDescriptor | RecordingSubscriptionDescriptor
    ) -> None:
        pending = self._pending.get(message.correlation_id)
        if pending is None or pending.call.listing is None:
            return
        pending.found.append(message)
        pending.deadline_ns = self._clock.now_ns() + self.options.message_timeout_ns
        if len(pending.found) == pending.call.listing:
            self._finish(pending, pending.found)

    def _on_signal(self, signal: RecordingSignalEvent) -> None:
        self._signals.append(signal)
        if self.options.on_signal is not None:
            self._in_callback = True
            try:
                self.options.on_signal(signal)
            except Exception as error:  # noqa: BLE001 - a handler's defect ends no request
                self.stream.report(error)
            finally:
                self._in_callback = False

    def _finish(self, pending: Pending[Any], answer: Any) -> None:
        self.forget(pending)
        pending.finish(answer)

    def _end(self, pending: Pending[Any], error: BaseException) -> None:
        self.forget(pending)
        pending.fail(error)

    def _expire(self) -> None:
        now_ns = self._clock.now_ns()
        for pending in list(self._pending.values()):
            if now_ns - pending.deadline_ns > 0:
                state = "awaiting response" if pending.sent else "failed to send request"
                self._end(
                    pending,
                    AeronTimeoutError(
                        f"{state} - {pending.call.what}, correlationId={pending.correlation_id} "
                        f"messageTimeout={self.options.message_timeout:g}s"
                    ),
                )

    def _disconnect(self) -> None:
        if self.closed or self.disconnected:
            return
        self.disconnected = True
        subscription = self.stream.subscription
        self._fail_all(
            NotConnectedError(
                "response channel from archive is not connected, "
                f"channel={subscription.channel}, streamId={subscription.stream_id}, "
                f"imageCount={0 if subscription.closed else len(subscription.images)}"
            )
        )

    def _fail_all(self, error: BaseException) -> None:
        for pending in list(self._pending.values()):
            self._end(pending, error)
